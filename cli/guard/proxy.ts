import type { Readable, Writable } from "node:stream";
import type { Clock } from "../../src/base/clock.js";
import { notBegun } from "../../src/tools/model-text.js";
import { exitCodes } from "../exit-codes.js";
import { shownId } from "../terminal.js";
import { answerGuarded, type CallGuard } from "./guarded-call.js";
import { errorLine, type RequestId, rpcCodes } from "./json-rpc.js";
import { LineSplitter } from "./line-splitter.js";
import { OwnRequests } from "./own-requests.js";
import { type CallMessage, type ClientStep, Routing, type ServerStep } from "./routing.js";
import type { LinkFailure, ServerEvent, ServerLink } from "./server-link.js";
import type { ServerReply } from "./server-reply.js";
import { Sink } from "./sink.js";
import {
  errorMeaningOf,
  judgeKnown,
  judgeUnlisted,
  misnamed,
  type ToolJudgement,
  type ToolRules,
} from "./tool-judgement.js";
import { type ListedTool, ToolKnowledge } from "./tool-list.js";

/** How long a server may take to tell its tools to this program, in milliseconds. Then the last list counts. */
const listPatienceMs = 10_000;

/** How long calls that are under way may take to end once the client has gone. */
const finishMs = 10_000;

/** The same once this program was told to end: clients kill what is not gone two seconds after that. */
const hurryMs = 800;

/** How many calls may be under the guard at once. Each holds its arguments, and then its result. */
const guardedMax = 1024;

/** What a proxy stands between, and how it guards. */
export interface ProxyParts {
  readonly client: { readonly input: Readable; readonly output: Writable };
  readonly server: ServerLink;
  readonly guard: CallGuard;
  readonly rules: ToolRules;
  readonly clock: Clock;
  /** Tells the operator of a fault. */
  readonly note: (text: string) => void;
  /** Resolves when the operating system asks this program to end. */
  readonly stopped: Promise<unknown>;
}

/** A call that was handed to the guard. */
interface Guarded {
  readonly giveUp: AbortController;
  /** Nobody waits for its answer. */
  dropped: boolean;
  /** Hands over what came back from the server; undefined: it was not asked yet. */
  reply: ((reply: ServerReply) => void) | undefined;
}

/** Passes messages between a client and a server until one of them goes. @returns the exit code for this program */
export async function runProxy(parts: ProxyParts): Promise<number> {
  return new Standing(parts).run();
}

/** One connection, from its beginning to its end. */
class Standing {
  readonly #parts: ProxyParts;
  readonly #output: Sink;
  readonly #knowledge = new ToolKnowledge((tools) => this.#noteMisnamed(tools));
  readonly #own: OwnRequests;
  readonly #routing: Routing;
  readonly #guarded = new Map<RequestId, Guarded>();
  /** Guarded calls until their answers are written. */
  readonly #running = new Set<Promise<void>>();
  #listing: Promise<void> | undefined;
  /** Tools of the command line that are in no list, of which the operator has been told. */
  readonly #misnamed = new Set<string>();
  #ending = false;
  /** Why the server cannot be asked any more; undefined: it can. */
  #lost: string | undefined;

  constructor(parts: ProxyParts) {
    this.#parts = parts;
    this.#output = new Sink(parts.client.output);
    this.#own = new OwnRequests(parts.clock, (line) => parts.server.send(line));
    this.#routing = new Routing(this.#knowledge, this.#own.isOwn);
  }

  async run(): Promise<number> {
    const { server, note, stopped } = this.#parts;
    const fromServer = this.#readServer().then(
      () => server.ended,
      (error: unknown) => this.#fault("the server", error),
    );
    const fromClient = this.#readClient().then(
      () => undefined,
      (error: unknown) => this.#fault("the client", error),
    );
    const gone = Promise.race([fromClient, this.#output.broken, stopped.then(() => undefined)]);
    const first = await Promise.race([fromServer, gone]);
    this.#ending = true;
    if (first === undefined) {
      await this.#finish(fromServer, stopped);
      this.#loseGuarded("the client has gone before the server has answered");
      await this.#settled();
      // What the server still says on its way out goes to whoever may still read.
      await server.close();
      await fromServer;
      await this.#output.flush();
      return exitCodes.done;
    }
    note(`oncekv guard: ${first.message}`);
    this.#loseGuarded(first.message);
    for (const id of this.#routing.takePassed()) {
      void this.#output.write(errorLine(id, rpcCodes.server, first.message));
    }
    await this.#settled();
    await server.close();
    return first.exitCode;
  }

  #fault(side: string, error: unknown): { readonly exitCode: number; readonly message: string } {
    const message = `what ${side} sends cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    return { exitCode: exitCodes.failed, message };
  }

  async #readClient(): Promise<void> {
    const splitter = new LineSplitter();
    for await (const chunk of this.#parts.client.input) {
      for (const line of splitter.push(chunk as Buffer)) await this.#fromClient(line);
    }
    const rest = splitter.rest();
    if (rest !== undefined) await this.#fromClient(rest);
  }

  async #readServer(): Promise<void> {
    for await (const event of this.#parts.server.events) await this.#fromServer(event);
  }

  async #fromClient(line: Buffer): Promise<void> {
    if (this.#ending) return;
    for (const step of this.#routing.fromClient(line)) await this.#take(step);
  }

  async #take(step: ClientStep): Promise<void> {
    switch (step.step) {
      case "pass":
        return this.#parts.server.send(step.line);
      case "answer":
        return this.#output.write(step.line);
      case "cancel":
        return this.#giveUp(step.id);
      case "call":
        return this.#called(step.call);
    }
  }

  /** The client wants no answer any more. A call that waits ends; one that was begun goes on, for whoever asks again. */
  #giveUp(id: RequestId): void {
    const guarded = this.#guarded.get(id);
    if (guarded === undefined) return;
    guarded.dropped = true;
    guarded.giveUp.abort(new Error("the client has cancelled the call"));
  }

  /** Lets a call go by when its tool is known to be left alone; everything else is done beside the reading. */
  async #called(call: CallMessage): Promise<void> {
    const judged = this.#judge(call.tool);
    if (judged?.guarded === false) return this.#pass(call);
    const { id } = call;
    if (id !== undefined && this.#guarded.size >= guardedMax) {
      this.#routing.ended(id);
      const text = notBegun(`${guardedMax} calls are under way already`);
      return this.#output.write(errorLine(id, rpcCodes.server, text));
    }
    const guarded: Guarded = { giveUp: new AbortController(), dropped: false, reply: undefined };
    if (id !== undefined) this.#guarded.set(id, guarded);
    const running = this.#decide(call, guarded, judged);
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  /** Never rejects. */
  async #decide(call: CallMessage, guarded: Guarded, known: ToolJudgement | undefined): Promise<void> {
    const { id, tool } = call;
    if (known === undefined) await this.#learnTools(call.meta);
    const judged = known ?? this.#judge(tool) ?? judgeUnlisted(tool, this.#parts.rules);
    if (!judged.guarded) {
      if (id !== undefined) this.#guarded.delete(id);
      if (!guarded.dropped) return this.#pass(call);
      if (id !== undefined) this.#routing.ended(id);
      return;
    }
    if (id === undefined) {
      this.#parts.note(
        `oncekv guard: a call of ${tool} came without an id, to which there is no answer; it was not passed on`,
      );
      return;
    }
    const listed = this.#knowledge.findLast(tool);
    const line = await answerGuarded(this.#parts.guard, {
      id,
      message: call,
      policy: judged.policy ?? "review",
      errors: errorMeaningOf(tool, listed?.annotations, this.#parts.rules),
      listed,
      signal: guarded.giveUp.signal,
      send: () => this.#ask(call, guarded),
    });
    // As long as the server owes its answer, that answer is not the client's.
    if (guarded.reply === undefined) this.#over(id);
    if (guarded.dropped) return;
    await this.#output.write(line ?? errorLine(id, rpcCodes.server, notBegun(this.#lost ?? "the guard ends")));
  }

  #over(id: RequestId): void {
    this.#guarded.delete(id);
    this.#routing.ended(id);
  }

  #pass(call: CallMessage): Promise<void> {
    this.#routing.passing(call);
    return this.#parts.server.send(call.line);
  }

  #judge(tool: string): ToolJudgement | undefined {
    return judgeKnown(tool, this.#knowledge, this.#parts.rules);
  }

  /** Asks the server for its tools, once for all who want to know. */
  #learnTools(meta: unknown): Promise<void> {
    const learn = async (): Promise<void> => {
      const { changes } = this.#knowledge;
      const tools = await this.#own.listTools(meta, listPatienceMs);
      // A list that has changed meanwhile is to be asked for anew, by the next call.
      if (this.#knowledge.changes === changes) this.#knowledge.learnAll(tools);
      this.#listing = undefined;
    };
    this.#listing ??= learn();
    return this.#listing;
  }

  #noteMisnamed(tools: readonly ListedTool[]): void {
    const { rules, note } = this.#parts;
    for (const name of misnamed(rules, tools)) {
      if (this.#misnamed.has(name)) continue;
      this.#misnamed.add(name);
      note(`oncekv guard: the server lists no tool ${shownId(name)}, which the command line names`);
    }
  }

  /** Sends a guarded call to the server; its claim holds at this instant. */
  #ask({ line }: CallMessage, guarded: Guarded): Promise<ServerReply> {
    const message = this.#lost;
    if (message !== undefined) return Promise.resolve({ reply: "lost", failure: { message, nothingBegun: true } });
    return new Promise((resolve) => {
      guarded.reply = resolve;
      void this.#parts.server.send(line);
    });
  }

  async #fromServer(event: ServerEvent): Promise<void> {
    if (event.event === "failed") return this.#failed(event.id, event.failure);
    for (const step of this.#routing.fromServer(event.line)) await this.#hand(step);
  }

  async #hand(step: ServerStep): Promise<void> {
    switch (step.step) {
      case "pass":
        return this.#output.write(step.line);
      case "own":
        return this.#own.settle(step.id, step.message);
      case "reply":
        return this.#reply(step.id, { reply: "answered", message: step.message });
    }
  }

  /** A late answer to a call that the guard has ended is recorded as well, unless somebody took over. */
  #reply(id: RequestId, reply: ServerReply): void {
    const guarded = this.#guarded.get(id);
    if (guarded?.reply === undefined) return;
    guarded.reply(reply);
    guarded.reply = undefined;
    this.#over(id);
  }

  async #failed(id: RequestId, failure: LinkFailure): Promise<void> {
    if (this.#own.isOwn(id)) return this.#own.settle(id, undefined);
    if (this.#guarded.has(id)) return this.#reply(id, { reply: "lost", failure });
    if (this.#routing.takeOne(id)) await this.#output.write(errorLine(id, rpcCodes.server, failure.message));
  }

  /** Waits for what is under way, but not for ever. */
  async #finish(fromServer: Promise<unknown>, stopped: Promise<unknown>): Promise<void> {
    await new Promise<void>((resolve) => {
      const { clock } = this.#parts;
      const cancels = [clock.setTimer(finishMs, resolve, { keepAlive: true })];
      void stopped.then(() => cancels.push(clock.setTimer(hurryMs, resolve, { keepAlive: true })));
      void Promise.race([this.#settled(), fromServer]).then(() => {
        for (const cancel of cancels) cancel();
        resolve();
      });
    });
  }

  /** What the server has not answered by now it will not answer, and it is not asked any more. */
  #loseGuarded(message: string): void {
    this.#lost = message;
    this.#own.abandon();
    for (const [id, { reply, giveUp }] of [...this.#guarded]) {
      if (reply === undefined) giveUp.abort(new Error(message));
      else this.#reply(id, { reply: "lost", failure: { message, nothingBegun: false } });
    }
  }

  async #settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
    await this.#output.flush();
  }
}
