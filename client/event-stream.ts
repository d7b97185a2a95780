import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { Clock } from "../src/base/clock.js";
import { EventStreamParser, type ServerSentEvent } from "./event-stream-parser.js";
import type { HttpRequest } from "./exchange.js";

/** How a stream ended. One that the server simply ends is lost, too: it does so when it shuts down. */
export type StreamEnd =
  | { readonly kind: "unsent" | "lost"; readonly cause: unknown }
  /** Something other than a stream of events was answered. */
  | { readonly kind: "answer"; readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string };

export interface StreamListener {
  onEvent(event: ServerSentEvent): void;
  /** Called once, unless the stream was closed from this side. */
  onEnd(end: StreamEnd): void;
}

export interface StreamOptions {
  readonly clock: Clock;
  /** Until the first event. */
  readonly startTimeoutMs: number;
  /** Between two pieces of the stream, after which the connection is taken for dead. */
  readonly silenceMsMax: number;
}

/** Characters kept of an answer that is no stream: a problem is far smaller. */
const refusalLengthMax = 64 * 1024;

/** One connection that events arrive on. Paused, it reads nothing from the socket, so that the server holds back. */
export class EventStream implements Dispatcher.DispatchHandler {
  readonly #listener: StreamListener;
  readonly #options: StreamOptions;
  readonly #parser = new EventStreamParser();
  #controller: Dispatcher.DispatchController | undefined;
  #answer: { readonly status: number; readonly headers: IncomingHttpHeaders; text: string } | undefined;
  #lastHeard = 0;
  #started = false;
  #paused = false;
  #ended = false;
  #cancelTimer: () => void;

  private constructor(listener: StreamListener, options: StreamOptions) {
    this.#listener = listener;
    this.#options = options;
    const { clock, startTimeoutMs } = options;
    const onLate = (): void => this.#lose(new Error(`the stream did not begin within ${startTimeoutMs / 1000} s`));
    this.#cancelTimer = clock.setTimer(startTimeoutMs, onLate, { keepAlive: true });
  }

  static open(
    dispatcher: Dispatcher,
    origin: string,
    request: HttpRequest,
    listener: StreamListener,
    options: StreamOptions,
  ): EventStream {
    const stream = new EventStream(listener, options);
    const { method, path, headers } = request;
    dispatcher.dispatch({ origin, method, path, headers: [...headers], headersTimeout: 0, bodyTimeout: 0 }, stream);
    return stream;
  }

  /** Reads no more until `resume`. */
  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#controller?.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#lastHeard = this.#options.clock.monotonicNow();
    this.#controller?.resume();
  }

  /** Ends the connection; the listener hears nothing more. */
  close(): void {
    if (this.#ended) return;
    this.#stop();
    this.#controller?.abort(new Error("the stream was closed"));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Throwing drops a request that was closed while it waited for its connection.
    if (this.#ended) throw new Error("the stream was closed before it was sent");
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    const isStream = status === 200 && /^text\/event-stream\b/i.test(headers["content-type"] ?? "");
    this.#answer = isStream ? undefined : { status, headers, text: "" };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#answer !== undefined) {
      if (this.#answer.text.length < refusalLengthMax) this.#answer.text += chunk.toString("utf8");
      return;
    }
    this.#lastHeard = this.#options.clock.monotonicNow();
    for (const event of this.#parse(chunk)) {
      if (this.#ended) return;
      if (!this.#started) this.#start();
      this.#listener.onEvent(event);
    }
  }

  onResponseEnd(): void {
    this.#end(
      this.#answer === undefined
        ? { kind: "lost", cause: new Error("the server ended the stream") }
        : { kind: "answer", ...this.#answer },
    );
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end({ kind: this.#controller === undefined ? "unsent" : "lost", cause: error });
  }

  #parse(chunk: Buffer): readonly ServerSentEvent[] {
    try {
      return this.#parser.push(chunk);
    } catch (error) {
      this.#lose(error);
      return [];
    }
  }

  /** From the first event on, silence is what tells a dead connection. */
  #start(): void {
    this.#started = true;
    this.#cancelTimer();
    this.#watchSilence(this.#options.silenceMsMax);
  }

  /** One timer for the whole stream, looked at when it fires, costs less than a new one for every piece. */
  #watchSilence(delayMs: number): void {
    const { clock, silenceMsMax } = this.#options;
    this.#cancelTimer = clock.setTimer(delayMs, () => {
      const silentMs = this.#paused ? 0 : clock.monotonicNow() - this.#lastHeard;
      if (silentMs < silenceMsMax) this.#watchSilence(silenceMsMax - silentMs);
      else this.#lose(new Error(`nothing was heard for ${silenceMsMax / 1000} s`));
    });
  }

  #lose(cause: unknown): void {
    const controller = this.#controller;
    this.#end({ kind: controller === undefined ? "unsent" : "lost", cause });
    controller?.abort(new Error("the stream was given up"));
  }

  #end(end: StreamEnd): void {
    if (this.#ended) return;
    this.#stop();
    this.#listener.onEnd(end);
  }

  #stop(): void {
    this.#ended = true;
    this.#cancelTimer();
  }
}
