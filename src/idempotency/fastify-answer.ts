import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { type Begun, beginBody } from "./collected-body.js";
import type { FastifyReplyLike } from "./fastify-types.js";
import { answerInstead, unsureHeader } from "./fate-answers.js";
import type { HeldRequest } from "./held-request.js";
import { keptOf } from "./kept-headers.js";
import type { IdempotencySettings } from "./options.js";

/** The answer of one handler, from when Fastify has it to when it is stored. */
export class FastifyAnswer {
  readonly #held: HeldRequest;
  readonly #settings: Pick<IdempotencySettings<never>, "keptHeaders" | "answerBytesMax">;
  #taken = false;

  constructor(held: HeldRequest, settings: Pick<IdempotencySettings<never>, "keptHeaders" | "answerBytesMax">) {
    this.#held = held;
    this.#settings = settings;
  }

  /** The first answer counts. What comes later replaces one that could not be sent, and has been stored. */
  get isTaken(): boolean {
    return this.#taken;
  }

  /**
   * Stores the answer.
   *
   * @returns what is to be sent
   * @throws what a stream throws before its end: Fastify answers with that error, and that answer comes here again
   */
  async take(reply: FastifyReplyLike, given: unknown): Promise<unknown> {
    const payload = unwrapped(reply, given);
    const begun = await this.#begin(payload);
    const { statusCode: status } = reply;
    const headers = keptOf(reply.getHeaders(), this.#settings.keptHeaders);
    const fate = await this.#held.answer({
      status,
      // Fastify takes the type from an answer that has no body, but only later.
      headers: status === 204 ? headers.filter(([name]) => name !== "content-type") : headers,
      body: begun.whole,
    });
    const instead = answerInstead(fate);
    if (instead === undefined) {
      if (fate.kind === "send unsure") reply.header(...unsureHeader);
      return sendable(begun, payload);
    }
    begun.discard();
    for (const name of [...this.#settings.keptHeaders, "content-length", "set-cookie"]) reply.removeHeader(name);
    reply.code(instead.status);
    for (const [name, value] of instead.headers) reply.header(name, value);
    return instead.body;
  }

  async #begin(payload: unknown): Promise<Begun> {
    this.#taken = true;
    try {
      return await beginBody(payload, this.#settings.answerBytesMax);
    } catch (error) {
      this.#taken = false;
      throw error;
    }
  }

  /**
   * From now on it is seen when the handler ends or destroys the response past Fastify. Events do not tell: without a client
   * `finish` does not come, and `close` comes also when only the client has gone.
   */
  watch(response: ServerResponse): void {
    const { end, destroy } = response;
    Object.assign(response, {
      end: (...given: unknown[]) => {
        this.#seenPastFastify();
        return Reflect.apply(end, response, given);
      },
      destroy: (...given: unknown[]) => {
        this.#seenPastFastify();
        return Reflect.apply(destroy, response, given);
      },
    });
  }

  #seenPastFastify(): void {
    if (!this.#taken) this.#held.cut("the response was ended past Fastify, which has no answer to store");
  }
}

/** What can be read only once must be sent from memory; the rest is left as it is. */
function sendable(begun: Begun, payload: unknown): unknown {
  if (!begun.wasStream) return payload;
  return begun.whole ?? Readable.from(begun.all(), { objectMode: false });
}

/** A `Response` brings status and headers of its own, which Fastify would apply only later. */
function unwrapped(reply: FastifyReplyLike, payload: unknown): unknown {
  if (!isResponse(payload)) return payload;
  reply.code(payload.status);
  for (const [name, value] of payload.headers) reply.header(name, value);
  return payload.body ?? undefined;
}

/** Also one of another realm, or of a package. */
function isResponse(value: unknown): value is Response {
  return Object.prototype.toString.call(value) === "[object Response]";
}
