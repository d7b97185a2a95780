import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { Clock } from "../src/base/clock.js";

/** One request as it goes over the wire. */
export interface HttpRequest {
  readonly method: "GET" | "PUT" | "PATCH" | "DELETE" | "POST";
  /** Percent-encoded, and sent as it is: a URL parser would fold the ids `.` and `..` away. */
  readonly path: string;
  /** Names and values by turns. */
  readonly headers: readonly string[];
  readonly body?: string;
  /** How long the server may hold the answer back, on request, beyond the usual timeout. */
  readonly holdMs?: number;
}

/** How one request ended. */
export type ExchangeResult =
  | { readonly kind: "answer"; readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }
  | { readonly kind: "unsent"; readonly cause: unknown }
  | { readonly kind: "lost"; readonly cause: unknown }
  | { readonly kind: "aborted"; readonly reason: unknown };

export interface ExchangeOptions {
  readonly clock: Clock;
  /** For the whole exchange, waiting for a connection included. */
  readonly timeoutMs: number;
  /** Each ends the exchange when it aborts. */
  readonly signals: readonly AbortSignal[];
}

/** Sends one request and reads its whole answer. Never rejects. */
export function exchange(
  dispatcher: Dispatcher,
  origin: string,
  request: HttpRequest,
  options: ExchangeOptions,
): Promise<ExchangeResult> {
  for (const signal of options.signals) {
    if (signal.aborted) return Promise.resolve({ kind: "aborted", reason: signal.reason });
  }
  return new Promise((resolve) => {
    const handler = new ExchangeHandler(resolve, options);
    dispatcher.dispatch(
      {
        origin,
        method: request.method,
        path: request.path,
        headers: [...request.headers],
        body: request.body ?? null,
        // The handler's own deadline counts from the call, not from the moment a connection was free.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      handler,
    );
  });
}

/** Thrown inside undici's dispatch to drop a request that ended while it waited for a connection. */
class EndedBeforeSending extends Error {}

/**
 * Below `undici.request` on purpose: only here is it known whether a request was ever put on a connection, and nothing is
 * built that the client does not need.
 */
class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #resolve: (result: ExchangeResult) => void;
  readonly #signals: readonly AbortSignal[];
  readonly #cancelTimer: () => void;
  readonly #onAbort: ((this: AbortSignal) => void) | undefined;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #ended = false;

  constructor(resolve: (result: ExchangeResult) => void, options: ExchangeOptions) {
    this.#resolve = resolve;
    this.#signals = options.signals;
    this.#cancelTimer = options.clock.setTimer(
      options.timeoutMs,
      () => this.#cut(this.#fault(new Error(`no answer within ${options.timeoutMs / 1000} s`))),
      { keepAlive: true },
    );
    if (options.signals.length > 0) {
      const cut = (reason: unknown): void => this.#cut({ kind: "aborted", reason });
      this.#onAbort = function (this: AbortSignal): void {
        cut(this.reason);
      };
      for (const signal of options.signals) signal.addEventListener("abort", this.#onAbort);
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Throwing drops the request and leaves the connection to others; aborting would close it.
    if (this.#ended) throw new EndedBeforeSending();
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first, ...others] = this.#chunks;
    const text =
      first === undefined
        ? ""
        : others.length === 0
          ? first.toString("utf8")
          : Buffer.concat(this.#chunks).toString("utf8");
    this.#end({ kind: "answer", status: this.#status, headers: this.#headers, text });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(this.#fault(error));
  }

  #fault(cause: unknown): ExchangeResult {
    return { kind: this.#controller === undefined ? "unsent" : "lost", cause };
  }

  #cut(result: ExchangeResult): void {
    this.#end(result);
    this.#controller?.abort(new Error("the request was given up"));
  }

  #end(result: ExchangeResult): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelTimer();
    const onAbort = this.#onAbort;
    if (onAbort !== undefined) for (const signal of this.#signals) signal.removeEventListener("abort", onAbort);
    this.#resolve(result);
  }
}
