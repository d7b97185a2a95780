/**
 * Time is passed in. Nothing below the composition root asks the system for the time or sets a timer by itself, so that
 * tests move a clock by hand and never sleep.
 */
export interface Clock {
  /** The wall clock in whole milliseconds since 1970. It may be stepped by the operating system at any moment. */
  wallNow(): number;
  /** A clock that only moves forward, in milliseconds, fractions allowed. Its origin means nothing. */
  monotonicNow(): number;
  /**
   * Calls `callback` once, `delayMs` from now (any length: longer than the 2^31 ms of a system timer too), and returns a
   * function that cancels it. A timer lets the process end unless `keepAlive` is set; somebody awaits those.
   */
  setTimer(delayMs: number, callback: () => void, options?: { readonly keepAlive?: boolean }): () => void;
}

/** The longest delay that `setTimeout` takes; beyond it, it fires at once. */
const systemTimerMsMax = 2 ** 31 - 1;

/** The operating system's clocks and timers. */
export const systemClock: Clock = Object.freeze({
  wallNow: () => Date.now(),
  monotonicNow: () => performance.now(),
  setTimer(delayMs: number, callback: () => void, options?: { readonly keepAlive?: boolean }): () => void {
    let timer: NodeJS.Timeout;
    const arm = (remainingMs: number): void => {
      const step = Math.min(remainingMs, systemTimerMsMax);
      timer = setTimeout(
        () => {
          if (remainingMs > step) arm(remainingMs - step);
          else callback();
        },
        Math.max(0, Math.ceil(step)),
      );
      if (options?.keepAlive !== true) timer.unref();
    };
    arm(delayMs);
    return () => clearTimeout(timer);
  },
});

/**
 * The store's now: `max(wall clock, mark)` when it was opened, plus monotonic time since. While the process runs, a
 * stepped wall clock moves no deadline. `mark` is the latest now that an earlier life of the store has persisted, so
 * that time does not run backward across a restart either.
 */
export class AnchoredClock {
  readonly #clock: Clock;
  readonly #anchor: number;

  constructor(clock: Clock, mark: number) {
    this.#clock = clock;
    this.#anchor = Math.max(clock.wallNow(), mark) - clock.monotonicNow();
  }

  /** Whole milliseconds since 1970. */
  now(): number {
    return Math.floor(this.#anchor + this.#clock.monotonicNow());
  }
}
