import type { JSONRPCMessage, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Clock } from "../../src/base/clock.js";
import { exitCodes } from "../exit-codes.js";
import { EventQueue } from "./event-queue.js";
import { failureOf, statusOf } from "./http-failure.js";
import { idOf, isObject, lineOf, memberOf, methodOf, parseLine, type RequestId } from "./json-rpc.js";
import { lineBytesMax } from "./line-splitter.js";
import { paramHeaders } from "./param-headers.js";
import type { LinkFailure, ServerEvent, ServerLink } from "./server-link.js";
import { readToolPage } from "./tool-list.js";

/** How long a message that has no answer may take before the next one is sent, and the end of a session. */
const patienceMs = 2_000;

const envelopeVersion = "io.modelcontextprotocol/protocolVersion";

/** A request that the server owes an answer. */
interface OpenRequest {
  readonly method: string | undefined;
  /** It says itself of which version it is, and has a stream of its own that ends when it is cancelled. */
  readonly stateless: boolean;
  readonly abort: AbortController;
}

/**
 * Connects to a server over Streamable HTTP, by the transport of the protocol's own package.
 *
 * @param headers for every request
 * @throws Error when the package is not installed
 */
export async function connectHttp(
  url: URL,
  headers: { readonly [name: string]: string },
  note: (text: string) => void,
  clock: Clock,
): Promise<ServerLink> {
  const { StreamableHTTPClientTransport: Transport } = await import("@modelcontextprotocol/client").catch(
    (error: unknown) => {
      throw new Error("--http needs the package @modelcontextprotocol/client, which is not installed here", {
        cause: error,
      });
    },
  );
  const link = new HttpLink(
    new Transport(url, { requestInit: { headers } }),
    `${url.origin}${url.pathname}`,
    note,
    clock,
  );
  await link.start();
  return link;
}

class HttpLink implements ServerLink {
  readonly name: string;
  readonly ended: ServerLink["ended"];
  readonly #transport: StreamableHTTPClientTransport;
  readonly #note: (text: string) => void;
  readonly #clock: Clock;
  readonly #events = new EventQueue<ServerEvent>(lineBytesMax);
  readonly #open = new Map<RequestId, OpenRequest>();
  /** Of the tools that were listed: the schemas of their arguments. */
  readonly #schemas = new Map<string, unknown>();
  #end: (exitCode: number, message: string) => void = () => {};
  #closing = false;

  constructor(transport: StreamableHTTPClientTransport, name: string, note: (text: string) => void, clock: Clock) {
    this.name = name;
    this.#transport = transport;
    this.#note = note;
    this.#clock = clock;
    this.ended = new Promise((resolve) => {
      this.#end = (exitCode, message) => resolve({ exitCode, message });
    });
  }

  async start(): Promise<void> {
    this.#transport.onmessage = (message: JSONRPCMessage) => this.#received(message);
    this.#transport.onerror = (error: Error) => {
      if (!this.#closing) this.#note(`oncekv guard: ${failureOf(error).message}`);
    };
    await this.#transport.start();
  }

  get events(): AsyncIterable<ServerEvent> {
    return this.#events;
  }

  async send(line: Buffer): Promise<void> {
    const value = readForTransport(line);
    const messages: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (!messages.every(isObject) || messages.length === 0) {
      this.#note("oncekv guard: what is no message cannot be sent over HTTP, and was dropped");
      return;
    }
    const [first] = messages;
    if (this.#cancels(first)) return;
    const requests = messages.filter((message) => methodOf(message) !== undefined).map(idOf);
    const ids = requests.filter((id) => id !== undefined);
    const open: OpenRequest = {
      method: messages.length === 1 ? methodOf(first) : undefined,
      stateless: typeof memberOf(memberOf(memberOf(first, "params"), "_meta"), envelopeVersion) === "string",
      abort: new AbortController(),
    };
    for (const id of ids) this.#open.set(id, open);
    const sent = this.#post(value as JSONRPCMessage, ids, open);
    // The answer to a request may take as long as its tool, and later messages must not wait for it.
    if (ids.length === 0) await this.#within(sent);
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#within(this.#transport.terminateSession().catch(() => {}));
    await this.#transport.close();
    this.#events.close();
    this.#end(exitCodes.done, "the connection was closed");
  }

  /** Never rejects. */
  async #post(message: JSONRPCMessage, ids: readonly RequestId[], open: OpenRequest): Promise<void> {
    try {
      await this.#transport.send(message, {
        requestSignal: open.abort.signal,
        onRequestStreamEnd: () => {
          this.#fail(ids, { message: "the connection to the server broke before it answered", nothingBegun: false });
        },
        ...(open.stateless && open.method === "tools/call" ? { headers: this.#headersFor(message) } : {}),
      });
    } catch (error) {
      this.#fail(ids, failureOf(error));
      if (this.#transport.sessionId !== undefined && statusOf(error) === 404) this.#loseSession();
    }
  }

  /** Only a new beginning makes a new session, and that is the client's: it starts this program again. */
  #loseSession(): void {
    this.#events.close();
    this.#end(exitCodes.failed, "the server does not know the session any more; start anew");
  }

  #headersFor(message: JSONRPCMessage): { readonly [name: string]: string } {
    const params = memberOf(message, "params");
    const name = memberOf(params, "name");
    return typeof name === "string" ? paramHeaders(this.#schemas.get(name), memberOf(params, "arguments")) : {};
  }

  /** A request with a stream of its own is cancelled by its end; the server is told nothing else. */
  #cancels(message: unknown): boolean {
    if (methodOf(message) !== "notifications/cancelled") return false;
    const id = memberOf(memberOf(message, "params"), "requestId");
    if (typeof id !== "number" && typeof id !== "string") return false;
    const open = this.#open.get(id);
    if (open?.stateless !== true) return false;
    this.#open.delete(id);
    open.abort.abort();
    return true;
  }

  #received(message: JSONRPCMessage): void {
    const id = idOf(message);
    if (id !== undefined && methodOf(message) === undefined) {
      const open = this.#open.get(id);
      this.#open.delete(id);
      this.#learn(open?.method, memberOf(message, "result"));
    }
    const line = lineOf(message);
    this.#events.push({ event: "line", line }, line.length);
  }

  /** What later requests need to know of an answer. */
  #learn(method: string | undefined, result: unknown): void {
    if (method === "initialize") {
      const version = memberOf(result, "protocolVersion");
      if (typeof version === "string") this.#transport.setProtocolVersion(version);
    }
    if (method !== "tools/list") return;
    for (const { name, inputSchema } of readToolPage(result).tools) this.#schemas.set(name, inputSchema);
  }

  #fail(ids: readonly RequestId[], failure: LinkFailure): void {
    for (const id of ids) {
      if (this.#open.delete(id)) this.#events.push({ event: "failed", id, failure }, 0);
    }
  }

  #within(happening: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.setTimer(patienceMs, resolve, { keepAlive: true });
      void happening.then(() => {
        cancel();
        resolve();
      });
    });
  }
}

/** The transport writes by itself, so that integers beyond 2^53 are rounded. Only an id, which comes back, stays exact. */
function readForTransport(line: Buffer): unknown {
  const exact = parseLine(line);
  if (exact === undefined) return undefined;
  const rounded: unknown = JSON.parse(line.toString("utf8"));
  if (Array.isArray(exact) && Array.isArray(rounded)) return rounded.map((each, place) => withId(each, exact[place]));
  return withId(rounded, exact);
}

function withId(rounded: unknown, exact: unknown): unknown {
  const id = idOf(exact);
  return isObject(rounded) && id !== undefined ? { ...rounded, id } : rounded;
}
