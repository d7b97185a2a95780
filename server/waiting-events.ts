import type { Clock } from "../src/base/clock.js";

interface WaitingEventsOptions {
  readonly clock: Clock;
  /** Bytes of events that wait at the same time. */
  readonly bytesMax: number;
  /** Milliseconds in which a reader must have taken one. */
  readonly answerMs: number;
}

/** One event that its reader has not taken yet. */
interface WaitingEvent {
  readonly bytes: number;
  readonly cut: () => void;
}

/**
 * The events of all streams that wait for their readers. Together they are bounded: beyond that, and when its time is over,
 * the stream that has waited longest is cut. That costs its reader a connection and nothing else, since it comes back with
 * the last event that it has seen; refusing others instead would let a slow reader harm them.
 */
export class WaitingEvents {
  readonly #options: WaitingEventsOptions;
  /** The longest waiting first. */
  readonly #waiting = new Set<WaitingEvent>();
  #bytes = 0;
  #cut = 0;

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

  /** Counts an event until the function that it returns is called. `cut` ends its stream. */
  wait(bytes: number, cut: () => void): () => void {
    const event: WaitingEvent = { bytes, cut };
    const { clock, answerMs, bytesMax } = this.#options;
    this.#waiting.add(event);
    this.#bytes += bytes;
    const cancelDeadline = clock.setTimer(answerMs, () => this.#end(event));
    for (const longest of this.#waiting) {
      // A single event may be larger than the bound: its stream could never go on otherwise.
      if (this.#bytes <= bytesMax || longest === event) break;
      this.#end(longest);
    }
    return () => {
      cancelDeadline();
      this.#forget(event);
    };
  }

  #end(event: WaitingEvent): void {
    if (!this.#forget(event)) return;
    this.#cut += 1;
    event.cut();
  }

  #forget(event: WaitingEvent): boolean {
    if (!this.#waiting.delete(event)) return false;
    this.#bytes -= event.bytes;
    return true;
  }
}
