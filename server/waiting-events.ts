import type { Clock } from "../src/base/clock.js";

interface WaitingEventsOptions {
  readonly clock: Clock;
  /** Bytes of events that wait for their readers at the same time; the last of them may go beyond. */
  readonly bytesMax: number;
  /** Milliseconds in which a reader must have taken an event. */
  readonly answerMs: number;
}

/** One event that its reader has not taken yet. */
interface WaitingEvent {
  readonly bytes: number;
  readonly begunAt: number;
  readonly cut: () => void;
}

/** Milliseconds that a reader may take for an event while others wait for room. */
const graceMs = 1000;

/**
 * The events of all streams that wait for their readers. Together they are bounded: beyond that the next ones are written
 * only when others have been taken. Readers who have not taken theirs after a second then are cut, and all are once their
 * time is over. That costs them a connection and nothing else, since they come back with the last event that they have
 * seen; so no slow reader holds up the others.
 */
export class WaitingEvents {
  readonly #options: WaitingEventsOptions;
  /** The longest waiting first. */
  readonly #waiting = new Set<WaitingEvent>();
  readonly #queue: (() => void)[] = [];
  #bytes = 0;
  #cut = 0;
  #cancelSearch: (() => void) | undefined;

  constructor(options: WaitingEventsOptions) {
    this.#options = options;
  }

  /** Bytes that wait now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Streams that were cut since the server began. */
  get cut(): number {
    return this.#cut;
  }

  /** Calls `write` when there is room: at once, or later in the order of the calls. */
  whenRoom(write: () => void): void {
    if (this.#hasRoom && this.#queue.length === 0) {
      write();
      return;
    }
    this.#queue.push(write);
    this.#search();
  }

  /** Counts an event that was written, until the function that it returns is called. `cut` ends its stream. */
  wait(bytes: number, cut: () => void): () => void {
    const { clock, answerMs } = this.#options;
    const event: WaitingEvent = { bytes, begunAt: clock.monotonicNow(), cut };
    this.#waiting.add(event);
    this.#bytes += bytes;
    const cancelDeadline = clock.setTimer(answerMs, () => this.#end(event));
    return () => {
      cancelDeadline();
      this.#forget(event);
    };
  }

  /** Stops looking after slow readers. */
  finish(): void {
    this.#cancelSearch?.();
  }

  get #hasRoom(): boolean {
    return this.#bytes < this.#options.bytesMax;
  }

  /** Cuts those who take too long, for as long as others wait for room. */
  #search(): void {
    this.#cancelSearch ??= this.#options.clock.setTimer(graceMs, () => {
      this.#cancelSearch = undefined;
      const latest = this.#options.clock.monotonicNow() - graceMs;
      for (const event of this.#waiting) {
        if (this.#queue.length === 0 || event.begunAt > latest) break;
        this.#end(event);
      }
      if (this.#queue.length > 0) this.#search();
    });
  }

  #end(event: WaitingEvent): void {
    if (!this.#waiting.has(event)) return;
    this.#cut += 1;
    event.cut();
    this.#forget(event);
  }

  #forget(event: WaitingEvent): void {
    if (!this.#waiting.delete(event)) return;
    this.#bytes -= event.bytes;
    while (this.#hasRoom) {
      const write = this.#queue.shift();
      if (write === undefined) break;
      write();
    }
  }
}
