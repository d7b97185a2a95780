import type { ServerResponse } from "node:http";
import type { Clock } from "../src/base/clock.js";
import type { Commit } from "../src/documents/contract.js";
import { endConnection } from "./pending-answers.js";
import type { Problem } from "./problem.js";
import type { WaitingEvents } from "./waiting-events.js";

interface EventStreamOptions {
  readonly clock: Clock;
  readonly heartbeatMs: number;
  /** Counts what the reader has not taken yet, and may cut the stream for it. */
  readonly waitingEvents: WaitingEvents;
}

/**
 * One stream of server-sent events, written by hand: what is sent waits until the reader has taken what came before, so
 * that a slow reader costs one event and the buffer of its socket, and no more.
 */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #heartbeatMs: number;
  readonly #waitingEvents: WaitingEvents;
  #cancelHeartbeat: () => void = () => {};
  #blocked = false;

  constructor(response: ServerResponse, options: EventStreamOptions) {
    this.#response = response;
    this.#clock = options.clock;
    this.#heartbeatMs = options.heartbeatMs;
    this.#waitingEvents = options.waitingEvents;
    // The end of the connection is told by `close`; an error that nobody listens to would end the process.
    response.on("error", () => {});
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      // Proxies of the nginx kind would hold the events back until they have a buffer full.
      "x-accel-buffering": "no",
      connection: "close",
    });
    this.#armHeartbeat();
  }

  /** Sends a commit, or a bookmark when it has no changes. Resolves when the reader can take more, or is gone. */
  sendCommit(commit: Commit): Promise<void> {
    const event = commit.changes.length === 0 ? "event: bookmark\n" : "";
    return this.#write(() => `${event}id: ${commit.revision}\ndata: ${JSON.stringify(commit)}\n\n`);
  }

  /** Tells why the stream ends. */
  sendProblem(problem: Problem): Promise<void> {
    return this.#write(() => `event: error\ndata: ${JSON.stringify(problem)}\n\n`);
  }

  /** Ends the stream; what was sent still arrives. */
  end(): void {
    this.#cancelHeartbeat();
    if (!this.#response.destroyed) this.#response.end();
  }

  /** The text is made when there is room for it. */
  #write(textOf: () => string): Promise<void> {
    return new Promise((resolve) => {
      this.#waitingEvents.whenRoom(() => this.#writeNow(textOf, resolve));
    });
  }

  #writeNow(textOf: () => string, onTaken: () => void): void {
    const response = this.#response;
    if (response.destroyed) {
      onTaken();
      return;
    }
    this.#armHeartbeat();
    const text = textOf();
    if (response.write(text)) {
      onTaken();
      return;
    }
    this.#blocked = true;
    const forget = this.#waitingEvents.wait(text.length, () => endConnection(response));
    const onReady = (): void => {
      response.off("drain", onReady);
      response.off("close", onReady);
      this.#blocked = false;
      forget();
      onTaken();
    };
    response.on("drain", onReady);
    response.on("close", onReady);
  }

  /** Proxies cut a quiet connection, and a comment is the least that keeps it alive. */
  #armHeartbeat(): void {
    this.#cancelHeartbeat();
    this.#cancelHeartbeat = this.#clock.setTimer(this.#heartbeatMs, () => {
      if (!this.#blocked && !this.#response.destroyed) this.#response.write(":\n\n");
      this.#armHeartbeat();
    });
  }
}
