import { OnceKvError } from "../../src/base/errors.js";

/** How many requests are let through; null: any number. */
export interface RequestBounds {
  /** At the same time. */
  readonly atOnce: number | null;
  /** A second, on the average: after a rest, one second's worth (at least one) may come at once. */
  readonly perSecond: number | null;
}

/** Seconds after which somebody who has too many requests open may ask again: nothing tells when one ends. */
const retryAtOnceSeconds = 1;

/**
 * Counts the requests of one sender. A sender who asks for too much is told to wait, so that the others get their turn;
 * a request that is refused costs nothing but the refusal.
 */
export class RequestGate {
  #open = 0;
  /** Requests that may come at once. Undefined before the first: a full second's worth. */
  #credit: number | undefined;
  #creditAtMs = 0;

  /** Requests that have entered and not left. */
  get open(): number {
    return this.#open;
  }

  /**
   * Lets a request in; it must `leave` once it has ended.
   *
   * @param nowMs of a clock that only moves forward
   * @throws OnceKvError `rate_limited`
   */
  enter({ atOnce, perSecond }: RequestBounds, nowMs: number): void {
    if (atOnce !== null && this.#open >= atOnce) {
      const message = `the sender has ${atOnce} requests open already, which is all it may`;
      throw new OnceKvError("rate_limited", message, { retryAfter: retryAtOnceSeconds });
    }
    if (perSecond === null) this.#credit = undefined;
    else this.#spend(perSecond, nowMs);
    this.#open += 1;
  }

  leave(): void {
    this.#open -= 1;
  }

  #spend(perSecond: number, nowMs: number): void {
    const most = Math.max(1, perSecond);
    const gained = ((nowMs - this.#creditAtMs) * perSecond) / 1000;
    const credit = this.#credit === undefined ? most : Math.min(most, this.#credit + gained);
    this.#creditAtMs = nowMs;
    this.#credit = credit >= 1 ? credit - 1 : credit;
    if (credit >= 1) return;
    const message = `the sender may send ${perSecond} requests a second`;
    throw new OnceKvError("rate_limited", message, { retryAfter: (1 - credit) / perSecond });
  }
}
