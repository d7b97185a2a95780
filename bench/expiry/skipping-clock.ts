import type { Clock } from "../../src/base/clock.js";

interface Timer {
  /** By `monotonicNow`. */
  readonly dueAt: number;
  readonly callback: () => void;
  readonly keepAlive: boolean;
  handle: NodeJS.Timeout;
}

/** The longest delay that `setTimeout` takes. */
const systemTimerMsMax = 2 ** 31 - 1;

/**
 * The system's clocks, but now and then they skip a stretch of time: a million documents are loaded with minutes to
 * live, and nobody waits for these minutes. Timers that fall due in the stretch fire at once.
 */
export class SkippingClock implements Clock {
  #skippedMs = 0;
  readonly #timers = new Set<Timer>();

  wallNow(): number {
    return Date.now() + this.#skippedMs;
  }

  monotonicNow(): number {
    return performance.now() + this.#skippedMs;
  }

  setTimer(delayMs: number, callback: () => void, options?: { readonly keepAlive?: boolean }): () => void {
    const dueAt = this.monotonicNow() + Math.max(0, delayMs);
    const keepAlive = options?.keepAlive === true;
    const timer: Timer = { dueAt, callback, keepAlive, handle: this.#arm(() => timer, dueAt, keepAlive) };
    this.#timers.add(timer);
    return () => {
      clearTimeout(timer.handle);
      this.#timers.delete(timer);
    };
  }

  /** @param ms a whole number, so that the wall clock stays one */
  skip(ms: number): void {
    this.#skippedMs += ms;
    for (const timer of this.#timers) {
      clearTimeout(timer.handle);
      timer.handle = this.#arm(() => timer, timer.dueAt, timer.keepAlive);
    }
  }

  #arm(timerOf: () => Timer, dueAt: number, keepAlive: boolean): NodeJS.Timeout {
    const delayMs = Math.min(systemTimerMsMax, Math.max(0, Math.ceil(dueAt - this.monotonicNow())));
    const handle = setTimeout(() => {
      const timer = timerOf();
      // The system's timer may be early by a part of a millisecond, or was too short for a long delay.
      if (dueAt - this.monotonicNow() > 1) {
        timer.handle = this.#arm(timerOf, dueAt, keepAlive);
        return;
      }
      this.#timers.delete(timer);
      timer.callback();
    }, delayMs);
    if (!keepAlive) handle.unref();
    return handle;
  }
}
