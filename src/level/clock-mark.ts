import type { AnchoredClock, Clock } from "../base/clock.js";
import { type Level, writeBatch } from "./level.js";
import { putMeta } from "./meta.js";

const intervalMs = 1000;

/**
 * Persists the store's now every second while deadlines exist, unless a commit has just done so with its log entry:
 * after a crash, and a wall clock that was set back meanwhile, what has expired stays expired.
 */
export class ClockMark {
  readonly #level: Level;
  readonly #timers: Clock;
  readonly #clock: AnchoredClock;
  readonly #sync: boolean;
  readonly #isNeeded: () => boolean;
  #last: number;
  #cancelTimer: (() => void) | undefined;

  constructor(
    level: Level,
    timers: Clock,
    clock: AnchoredClock,
    options: { readonly sync: boolean; readonly isNeeded: () => boolean },
  ) {
    this.#level = level;
    this.#timers = timers;
    this.#clock = clock;
    this.#sync = options.sync;
    this.#isNeeded = options.isNeeded;
    this.#last = clock.now();
  }

  /** Takes note of a now that was persisted with a commit. */
  noteDurable(now: number): void {
    this.#last = now;
  }

  start(): void {
    this.#cancelTimer = this.#timers.setTimer(intervalMs, () => {
      const now = this.#clock.now();
      if (now - this.#last >= intervalMs && this.#isNeeded()) {
        this.#last = now;
        // A mark that fails is no harm: the next commit will meet the same disk and say so.
        writeBatch(this.#level, [putMeta("clock", now)], { sync: this.#sync }).catch(() => {});
      }
      this.start();
    });
  }

  stop(): void {
    this.#cancelTimer?.();
  }
}
