import type { Clock } from "../src/base/clock.js";
import { OnceKvError } from "../src/base/errors.js";
import type { Commit } from "../src/documents/contract.js";
import type { EventStream, StreamEnd, StreamListener, StreamOptions } from "./event-stream.js";
import type { ServerSentEvent } from "./event-stream-parser.js";
import { parseObject, readRefusal } from "./problem.js";
import { decideRetry, type Fault } from "./retry.js";
import type { StartOrder } from "./start-order.js";

/** What a watch needs from the client it belongs to. */
export interface WatchPorts {
  /** Opens a stream of everything after a revision; undefined: from now on. */
  open(since: number | undefined, listener: StreamListener, options: StreamOptions): EventStream;
  /** What an answer that is no stream says. */
  refusal(end: StreamEnd & { kind: "answer" }): Fault;
  /** The error when there was no contact for as long as `retryForMs`. */
  unavailable(fault: Fault & { kind: "unsent" | "lost" }): OnceKvError;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timeoutMs: number;
  readonly retryForMs: number;
  /** Each ends the watch, with its reason. */
  readonly signals: readonly AbortSignal[];
}

/** Three heartbeats of the server. */
const silenceMsMax = 45_000;

/** Commits, and bytes of them, that are read ahead of the consumer. The piece that crosses a bound is still taken. */
const aheadCommitsMax = 256;
const aheadBytesMax = 256 * 1024;

/**
 * Commits from a server as they come, over as many connections as it takes. The position is the revision up to which
 * everything has been received, and every connection continues from there, so that each commit comes once, whatever
 * happens to the connections. The first event of each tells where the server begins; it is not passed on.
 */
export class HttpWatch<F> implements AsyncIterableIterator<Commit<F>> {
  readonly #ports: WatchPorts;
  /** Lets later calls go on: called when it is known where the watch begins, or that it never will. */
  #onStarted: (() => void) | undefined;
  readonly #onAbort: (this: AbortSignal) => void;
  /** Everything up to here has been received. */
  #position: number | undefined;
  #stream: EventStream | undefined;
  #cancelRetry: (() => void) | undefined;
  /** A new connection is due as soon as the consumer has made room. */
  #connectsLater = false;
  /** Connections that failed since the last news. */
  #failures = 0;
  /** When contact was lost. */
  #failingSince: number | undefined;
  /** Whether the current connection has told where it begins. */
  #begun = false;
  readonly #queue: { readonly commit: Commit<F>; readonly bytes: number }[] = [];
  #queuedBytes = 0;
  readonly #waiting: Waiting<F>[] = [];
  /** No more commits come after the queued ones; with `error`, the consumer is told once. */
  #end: { error?: unknown } | undefined;

  private constructor(ports: WatchPorts, since: number | undefined) {
    this.#ports = ports;
    this.#position = since;
    const cut = (reason: unknown): void => this.cut(reason);
    this.#onAbort = function (this: AbortSignal): void {
      cut(this.reason);
    };
  }

  static begin<F>(ports: WatchPorts, since: number | undefined, order: StartOrder): HttpWatch<F> {
    const watch = new HttpWatch<F>(ports, since);
    // With a revision to begin after, it does not matter when the server hears of it.
    if (since === undefined) {
      watch.#onStarted = order.begin(() =>
        watch.cut(new OnceKvError("unavailable", "the watch did not begin before later calls had to go on")),
      );
    }
    watch.#listen();
    if (watch.#end === undefined) watch.#connect();
    return watch;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Commit<F>, undefined>> {
    const first = this.#queue.shift();
    if (first !== undefined) {
      this.#queuedBytes -= first.bytes;
      if (this.#hasRoom()) this.#readOn();
      return Promise.resolve({ done: false, value: first.commit });
    }
    const end = this.#end;
    if (end === undefined) return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    if (!("error" in end)) return Promise.resolve({ done: true, value: undefined });
    this.#end = {};
    return Promise.reject(end.error);
  }

  /** Ends the watch and its connection, as `break` in a `for await` does. */
  return(): Promise<IteratorResult<Commit<F>, undefined>> {
    this.#drop({});
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends the watch at once, queued commits included: the consumer is told `reason`. */
  cut(reason: unknown): void {
    if (this.#end === undefined) this.#drop({ error: reason });
  }

  #listen(): void {
    for (const signal of this.#ports.signals) {
      if (signal.aborted) {
        this.cut(signal.reason);
        return;
      }
      signal.addEventListener("abort", this.#onAbort);
    }
  }

  #hasRoom(): boolean {
    return this.#queue.length <= aheadCommitsMax / 2 && this.#queuedBytes <= aheadBytesMax / 2;
  }

  #readOn(): void {
    this.#stream?.resume();
    if (this.#connectsLater) this.#connect();
  }

  /** Every connection brings at least one piece of the stream: with no room for it, connecting waits. */
  #connectAgain(): void {
    if (this.#hasRoom()) this.#connect();
    else this.#connectsLater = true;
  }

  #connect(): void {
    this.#connectsLater = false;
    const { clock, timeoutMs: startTimeoutMs } = this.#ports;
    this.#begun = false;
    this.#stream = this.#ports.open(
      this.#position,
      { onEvent: (event) => this.#onEvent(event), onEnd: (end) => this.#onStreamEnd(end) },
      { clock, startTimeoutMs, silenceMsMax },
    );
  }

  #onEvent(event: ServerSentEvent): void {
    if (event.type === "error") {
      this.#stream?.close();
      const status = parseObject(event.data)?.["status"];
      this.#retryOrEnd({ kind: "refused", ...readRefusal(typeof status === "number" ? status : 500, event.data) });
      return;
    }
    if (event.type !== "message" && event.type !== "bookmark") return;
    const commit = readCommit<F>(event.data);
    if (commit === undefined) {
      this.#stream?.close();
      this.#retryOrEnd({ kind: "lost", cause: new Error("the stream held something that is not a commit") });
      return;
    }
    this.#failingSince = undefined;
    const isBeginning = !this.#begun && event.type === "bookmark";
    this.#begun = true;
    const isRepeated = event.type === "message" && this.#position !== undefined && commit.revision <= this.#position;
    if (this.#position === undefined || commit.revision > this.#position) this.#position = commit.revision;
    this.#onStarted?.();
    if (isBeginning || isRepeated) return;
    this.#failures = 0;
    this.#deliver(commit, event.data.length);
  }

  #deliver(commit: Commit<F>, bytes: number): void {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting.resolve({ done: false, value: commit });
      return;
    }
    this.#queue.push({ commit, bytes });
    this.#queuedBytes += bytes;
    if (this.#queue.length >= aheadCommitsMax || this.#queuedBytes >= aheadBytesMax) this.#stream?.pause();
  }

  #onStreamEnd(end: StreamEnd): void {
    this.#retryOrEnd(end.kind === "answer" ? this.#ports.refusal(end) : end);
  }

  #retryOrEnd(fault: Fault): void {
    const { clock, random, retryForMs } = this.#ports;
    this.#stream = undefined;
    this.#failures += 1;
    this.#failingSince ??= clock.monotonicNow();
    const decision = decideRetry(
      fault,
      {
        attempt: this.#failures,
        elapsedMs: clock.monotonicNow() - this.#failingSince,
        budgetMs: retryForMs,
        write: false,
        mayBeApplied: false,
        closing: false,
      },
      random(),
    );
    if (decision.kind === "retry") {
      this.#cancelRetry = clock.setTimer(decision.delayMs, () => this.#connectAgain(), { keepAlive: true });
      return;
    }
    this.#finish({ error: fault.kind === "refused" ? fault.error : this.#ports.unavailable(fault) });
  }

  #drop(end: { error?: unknown }): void {
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.#finish(end);
  }

  #finish(end: { error?: unknown }): void {
    this.#end = end;
    this.#connectsLater = false;
    this.#cancelRetry?.();
    this.#stream?.close();
    this.#stream = undefined;
    for (const signal of this.#ports.signals) signal.removeEventListener("abort", this.#onAbort);
    this.#onStarted?.();
    // A consumer that waits has emptied the queue, so that it is told here.
    for (const waiting of this.#waiting.splice(0)) this.next().then(waiting.resolve, waiting.reject);
  }
}

interface Waiting<F> {
  resolve(result: IteratorResult<Commit<F>, undefined>): void;
  reject(error: unknown): void;
}

function readCommit<F>(data: string): Commit<F> | undefined {
  const commit = parseObject(data);
  const isCommit = commit !== undefined && Number.isSafeInteger(commit["revision"]) && Array.isArray(commit["changes"]);
  return isCommit ? (commit as unknown as Commit<F>) : undefined;
}
