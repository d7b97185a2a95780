import type { IncomingHttpHeaders } from "node:http";
import { type Dispatcher, Pool } from "undici";
import { OnceKvError, StoreClosedError } from "../src/base/errors.js";
import { pause, sharedSignal } from "./abortable.js";
import { describeCause, unreachableMessage } from "./address.js";
import { EventStream, type StreamEnd, type StreamListener, type StreamOptions } from "./event-stream.js";
import { type ExchangeResult, exchange, type HttpRequest } from "./exchange.js";
import { LostAnswerError } from "./lost-answer-error.js";
import type { CallSettings, ClientSettings } from "./options.js";
import { parseObject, readRefusal } from "./problem.js";
import { decideRetry, type Fault, mayHaveApplied, parseRetryAfter } from "./retry.js";

/** One call of a store's method, as requests that all mean the same. */
export interface ApiCall {
  /**
   * A wait is held back by the server. It has connections of its own, so that no write queues behind it; what counts
   * against `retryFor` is the time since the server was last heard of; and its signals must hold `closing`.
   */
  readonly kind: "read" | "write" | "wait";
  /** Of a write, sent with it as `Idempotency-Key`. */
  readonly writeId?: string;
  /** Asked anew for each attempt, since what is left to wait for becomes less. */
  readonly next: () => HttpRequest;
}

/** An answer that the call can use. */
export interface ApiAnswer {
  /** 2xx; 304; 404 for a read of a document that is absent. */
  readonly status: number;
  /** The JSON of a 2xx. */
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
}

/** Sends the calls of a client and all its views: attempts, retries, what to tell when they fail, and the end of it all. */
export class Transport {
  readonly #settings: ClientSettings;
  readonly #requests: Dispatcher;
  readonly #waits: Dispatcher;
  readonly #closing = new AbortController();
  #active = 0;
  #onIdle: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(settings: ClientSettings) {
    this.#settings = settings;
    sharedSignal(this.#closing.signal);
    const { address, connections, dispatcher, ca } = settings;
    const connect = ca === undefined ? {} : { connect: { ca } };
    this.#requests = dispatcher ?? new Pool(address.origin, { connections, ...connect });
    this.#waits = dispatcher ?? new Pool(address.origin, connect);
  }

  /** Aborts, with a `StoreClosedError`, when the client closes. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** @throws OnceKvError, or the reason of the signal that aborted */
  async call(call: ApiCall, settings: CallSettings): Promise<ApiAnswer> {
    if (this.#closing.signal.aborted) throw new StoreClosedError();
    this.#active += 1;
    try {
      return await this.#attempts(call, settings);
    } finally {
      this.#active -= 1;
      if (this.#active === 0) this.#onIdle?.();
    }
  }

  async #attempts(call: ApiCall, settings: CallSettings): Promise<ApiAnswer> {
    const { address, clock, random, retryForMs } = this.#settings;
    const dispatcher = call.kind === "wait" ? this.#waits : this.#requests;
    const { signals } = settings;
    let countedFrom = call.kind === "wait" ? undefined : clock.monotonicNow();
    let mayBeApplied = false;
    for (let attempt = 1; ; attempt += 1) {
      const request = call.next();
      const timeoutMs = settings.timeoutMs + (request.holdMs ?? 0);
      const result = await exchange(dispatcher, address.origin, request, { clock, timeoutMs, signals });
      if (result.kind === "aborted") throw result.reason;
      const read = result.kind === "answer" ? this.#readAnswer(result, call.kind) : result;
      if (read.kind === "answer") return read.answer;

      countedFrom ??= clock.monotonicNow();
      const state = {
        attempt,
        elapsedMs: clock.monotonicNow() - countedFrom,
        budgetMs: retryForMs,
        write: call.kind === "write",
        mayBeApplied,
      };
      let decision = decideRetry(read, { ...state, closing: this.#closing.signal.aborted }, random());
      if (decision.kind === "retry") {
        await this.#pause(decision.delayMs, signals);
        if (this.#closing.signal.aborted) decision = decideRetry(read, { ...state, closing: true }, random());
      }
      if (decision.kind === "give_up") throw this.#explain(read, decision.as, call.writeId);
      mayBeApplied ||= mayHaveApplied(read);
    }
  }

  #readAnswer(
    result: ExchangeResult & { kind: "answer" },
    kind: ApiCall["kind"],
  ): Fault | { readonly kind: "answer"; readonly answer: ApiAnswer } {
    const { status, headers, text } = result;
    if (status >= 200 && status < 300) {
      const body = parseObject(text);
      // Something else sits at this address, or has cut the answer; the server always answers with an object.
      if (body === undefined) return { kind: "lost", cause: new Error(`the answer ${status} was not a JSON object`) };
      return { kind: "answer", answer: { status, body, headers } };
    }
    if (status === 304) return { kind: "answer", answer: { status, body: null, headers } };
    if (status === 404 && kind !== "write" && parseObject(text)?.["code"] === "not_found") {
      return { kind: "answer", answer: { status, body: null, headers } };
    }
    return this.refusal(result);
  }

  /** Opens a stream on a connection of its own. The listener must end it when the client closes. */
  openStream(request: HttpRequest, listener: StreamListener, options: StreamOptions): EventStream {
    return EventStream.open(this.#waits, this.#settings.address.origin, request, listener, options);
  }

  /** What an answer other than the one that was asked for says. */
  refusal({ status, headers, text }: Pick<StreamEnd & { kind: "answer" }, "status" | "headers" | "text">): Fault {
    const { address, clock } = this.#settings;
    const retryAfter = parseRetryAfter(headers["retry-after"], clock.wallNow());
    return { kind: "refused", ...readRefusal(status, text, { retryAfter, host: address.host }) };
  }

  /** The error for a server that could not be reached, or did not answer what it may answer again. */
  unavailable({ kind, cause }: Fault & { kind: "unsent" | "lost" }): OnceKvError {
    const { address } = this.#settings;
    const message =
      kind === "unsent"
        ? unreachableMessage(address, cause)
        : `the server at ${address.host} gave no answer: ${describeCause(cause)}`;
    return new OnceKvError("unavailable", message, { cause });
  }

  /** The error for a call that is given up. */
  #explain(fault: Fault, as: "unavailable" | "outcome_unknown" | "refusal", writeId: string | undefined): unknown {
    const { address } = this.#settings;
    const cause = fault.kind === "refused" ? fault.error : fault.cause;
    if (as === "outcome_unknown") {
      if (fault.kind === "refused" && fault.error.code === "outcome_unknown") return fault.error;
      return new LostAnswerError(
        writeId ?? "",
        address.host,
        `gave no answer that says so (${describeCause(cause)})`,
        cause,
      );
    }
    if (fault.kind === "refused") return fault.error;
    return this.unavailable(fault);
  }

  /** Waits before the next attempt. Closing ends the wait, and the call is then given up with what is known. */
  async #pause(delayMs: number, signals: readonly AbortSignal[]): Promise<void> {
    const closing = this.#closing.signal;
    try {
      await pause(this.#settings.clock, delayMs, signals.includes(closing) ? signals : [...signals, closing]);
    } catch (error) {
      if (signals.includes(closing) || error !== closing.reason) throw error;
    }
  }

  /** Lets requests in flight finish, without further retries, ends waits and watches, and closes the connections. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    this.#closing.abort(new StoreClosedError());
    if (this.#active > 0) await idle;
    if (this.#settings.dispatcher !== undefined) return;
    await Promise.all([this.#requests.destroy(), this.#waits.destroy()]);
  }
}
