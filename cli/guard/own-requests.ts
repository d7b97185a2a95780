import { randomUUID } from "node:crypto";
import type { Clock } from "../../src/base/clock.js";
import { type JsonObject, lineOf, memberOf, type RequestId } from "./json-rpc.js";
import { type ListedTool, readToolPage } from "./tool-list.js";

/** Pages of a list that are asked for. A server whose list has no end would keep a call waiting for ever. */
const pagesMax = 100;

/** Members of a request's `_meta` that newer versions of the protocol want with every request. */
const envelopePrefix = "io.modelcontextprotocol/";

/**
 * Requests of this program's own to the server, beside those of the client. Their ids begin with a random text that no client
 * makes, and their answers do not go on to it.
 */
export class OwnRequests {
  readonly #prefix = `oncekv-guard:${randomUUID()}:`;
  readonly #clock: Clock;
  readonly #send: (line: Buffer) => Promise<void>;
  readonly #open = new Map<RequestId, (message: JsonObject | undefined) => void>();
  #count = 0;

  constructor(clock: Clock, send: (line: Buffer) => Promise<void>) {
    this.#clock = clock;
    this.#send = send;
  }

  readonly isOwn = (id: RequestId): boolean => typeof id === "string" && id.startsWith(this.#prefix);

  /** Hands over an answer, or that there will be none. One that comes too late is dropped. */
  settle(id: RequestId, message: JsonObject | undefined): void {
    this.#open.get(id)?.(message);
  }

  /** There will be no answers any more. */
  abandon(): void {
    for (const settle of [...this.#open.values()]) settle(undefined);
  }

  /** @returns the answer, with its result or its error; undefined when none came in time */
  ask(method: string, params: JsonObject, timeoutMs: number): Promise<JsonObject | undefined> {
    this.#count += 1;
    const id = `${this.#prefix}${this.#count}`;
    return new Promise((resolve) => {
      const settle = (message: JsonObject | undefined): void => {
        this.#open.delete(id);
        cancel();
        resolve(message);
      };
      const cancel = this.#clock.setTimer(timeoutMs, () => settle(undefined), { keepAlive: true });
      this.#open.set(id, settle);
      void this.#send(lineOf({ jsonrpc: "2.0", id, method, params }));
    });
  }

  /**
   * Asks for the server's tools, all pages.
   *
   * @param meta of the request for whose sake it is asked: what the version of the protocol wants there is taken over
   * @returns undefined when the server does not answer all of it
   */
  async listTools(meta: unknown, timeoutMs: number): Promise<readonly ListedTool[] | undefined> {
    const tools: ListedTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < pagesMax; page++) {
      const params = { ...envelopeOf(meta), ...(cursor === undefined ? {} : { cursor }) };
      const answer = await this.ask("tools/list", params, timeoutMs);
      const result = memberOf(answer, "result");
      if (result === undefined) return undefined;
      const read = readToolPage(result);
      tools.push(...read.tools);
      if (read.next === undefined) return tools;
      cursor = read.next;
    }
    return tools;
  }
}

function envelopeOf(meta: unknown): JsonObject {
  if (typeof meta !== "object" || meta === null) return {};
  const members = Object.entries(meta).filter(([name]) => name.startsWith(envelopePrefix));
  return members.length === 0 ? {} : { _meta: Object.fromEntries(members) };
}
