import {
  endedLine,
  errorLine,
  idOf,
  isObject,
  type JsonObject,
  lineOf,
  mayBeCall,
  memberOf,
  methodOf,
  parseLine,
  type RequestId,
  rpcCodes,
} from "./json-rpc.js";
import { readToolPage, type ToolKnowledge } from "./tool-list.js";

/*
 * What to do with each line, from either side. Nothing is read, written or waited for here. Whatever is not a `tools/call`
 * goes on as the same bytes; a `tools/call` is handed out, since it depends on the tool what becomes of it. What cannot be
 * read, but might be a call for a reader who is not so strict, does not go on.
 */

/** A `tools/call`, as it came. */
export interface CallMessage {
  /** undefined: a notification, to which there is no answer. */
  readonly id: RequestId | undefined;
  readonly tool: string;
  readonly args: unknown;
  /** The `_meta` of the request, if it has one. */
  readonly meta: unknown;
  /** The client wants a task for an answer, and comes for the result later. */
  readonly asTask: boolean;
  /** For the server, with its end. */
  readonly line: Buffer;
}

/** What to do with what the client sent. */
export type ClientStep =
  | { readonly step: "pass"; readonly line: Buffer }
  /** To be passed on or guarded; `passing` or `ended` is called for it in the end. */
  | { readonly step: "call"; readonly call: CallMessage }
  /** The client gives up a call that is guarded. */
  | { readonly step: "cancel"; readonly id: RequestId }
  /** For the client itself. */
  | { readonly step: "answer"; readonly line: Buffer };

/** What to do with what the server sent. */
export type ServerStep =
  | { readonly step: "pass"; readonly line: Buffer }
  /** The answer to a guarded call. */
  | { readonly step: "reply"; readonly id: RequestId; readonly message: JsonObject }
  /** The answer to a request of this program's own. */
  | { readonly step: "own"; readonly id: RequestId; readonly message: JsonObject };

/** The state of one connection: which requests are open, and whose they are. */
export class Routing {
  readonly #knowledge: ToolKnowledge;
  readonly #isOwn: (id: RequestId) => boolean;
  /** Requests of the client that were passed on, with their methods, until they are answered. */
  readonly #passed = new Map<RequestId, string>();
  /** Calls that were handed out and are not passed on, until the client has its answer and the server, if it was asked, has given its own. */
  readonly #guarded = new Set<RequestId>();

  /** @param isOwn whether an id is one under which this program asks the server itself */
  constructor(knowledge: ToolKnowledge, isOwn: (id: RequestId) => boolean) {
    this.#knowledge = knowledge;
    this.#isOwn = isOwn;
  }

  fromClient(line: Buffer): readonly ClientStep[] {
    const message = parseLine(line);
    if (message === undefined && mayBeCall(line)) {
      const text = "this is no JSON and might be a call of a tool, so it was not passed on";
      return [{ step: "answer", line: errorLine(null, rpcCodes.parseError, text) }];
    }
    if (Array.isArray(message)) return this.#clientBatch(message, line);
    return [this.#clientMessage(message, line)];
  }

  /** Notes that a call is passed on, unguarded. */
  passing({ id }: CallMessage): void {
    if (id === undefined) return;
    this.#guarded.delete(id);
    this.#passed.set(id, "tools/call");
  }

  /** The guarded call with that id is over, on both sides. */
  ended(id: RequestId): void {
    this.#guarded.delete(id);
  }

  fromServer(line: Buffer): readonly ServerStep[] {
    const message = parseLine(line);
    if (!Array.isArray(message)) return [this.#serverMessage(message, line)];
    const steps = message.map((each: unknown) => this.#serverMessage(each, lineOf(each)));
    if (steps.every(({ step }) => step === "pass")) return [{ step: "pass", line }];
    // What is for this program is taken out of the batch.
    const rest = message.filter((_, place) => steps[place]?.step === "pass");
    const kept = steps.filter(({ step }) => step !== "pass");
    return rest.length === 0 ? kept : [...kept, { step: "pass", line: lineOf(rest) }];
  }

  /** The requests of the client that wait for an answer of the server and will not get one. */
  takePassed(): readonly RequestId[] {
    const ids = [...this.#passed.keys()];
    this.#passed.clear();
    return ids;
  }

  /** One of them: whether it was waiting. */
  takeOne(id: RequestId): boolean {
    return this.#passed.delete(id);
  }

  #clientBatch(messages: readonly unknown[], line: Buffer): readonly ClientStep[] {
    const steps = messages.map((each) => this.#clientMessage(each, lineOf(each)));
    if (steps.every(({ step }) => step === "pass")) return [{ step: "pass", line }];
    // Calls leave the batch and go their own ways; whoever reads answers by their ids finds them.
    const rest = messages.filter((_, place) => steps[place]?.step === "pass");
    const others = steps.filter(({ step }) => step !== "pass");
    return rest.length === 0 ? others : [{ step: "pass", line: lineOf(rest) }, ...others];
  }

  #clientMessage(message: unknown, line: Buffer): ClientStep {
    const method = methodOf(message);
    if (method === undefined) return { step: "pass", line };
    const id = idOf(message);
    if (id !== undefined && (this.#guarded.has(id) || this.#isOwn(id))) return idTaken(id);
    if (method === "notifications/cancelled") return this.#cancelled(message, line);
    if (method !== "tools/call") {
      if (id !== undefined) this.#passed.set(id, method);
      return { step: "pass", line };
    }
    const params = memberOf(message, "params");
    const tool = memberOf(params, "name");
    // No server has a tool without a name, and this one says so in its own words.
    if (typeof tool !== "string" || tool === "") {
      if (id !== undefined) this.#passed.set(id, method);
      return { step: "pass", line };
    }
    if (id !== undefined && this.#passed.has(id)) return idTaken(id);
    // From here on the answers under that id are the guard's, also for the rest of the same batch.
    if (id !== undefined) this.#guarded.add(id);
    const call: CallMessage = {
      id,
      tool,
      args: memberOf(params, "arguments"),
      meta: memberOf(params, "_meta"),
      asTask: memberOf(params, "task") !== undefined,
      line: endedLine(line),
    };
    return { step: "call", call };
  }

  #cancelled(message: unknown, line: Buffer): ClientStep {
    const id = memberOf(memberOf(message, "params"), "requestId");
    if (typeof id !== "number" && typeof id !== "string") return { step: "pass", line };
    if (this.#guarded.has(id)) return { step: "cancel", id };
    this.#passed.delete(id);
    return { step: "pass", line };
  }

  #serverMessage(message: unknown, line: Buffer): ServerStep {
    const method = methodOf(message);
    if (method === "notifications/tools/list_changed") this.#knowledge.change();
    const id = idOf(message);
    if (method !== undefined || id === undefined || !isObject(message)) return { step: "pass", line };
    if (this.#guarded.has(id)) return { step: "reply", id, message };
    if (this.#isOwn(id)) return { step: "own", id, message };
    if (this.#passed.get(id) === "tools/list") this.#learn(message["result"]);
    this.#passed.delete(id);
    return { step: "pass", line };
  }

  /** An error is no list without tools. */
  #learn(result: unknown): void {
    if (isObject(result)) this.#knowledge.learn(readToolPage(result));
  }
}

/** Two answers under one id could not be told apart. */
function idTaken(id: RequestId): ClientStep {
  const text = `the id ${JSON.stringify(id)} is that of a request that is not answered yet`;
  return { step: "answer", line: errorLine(id, rpcCodes.invalidRequest, text) };
}
