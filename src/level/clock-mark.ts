import type { AnchoredClock, Clock } from "../base/clock.js";
import type { GroupCommit } from "./group-commit.js";

const intervalMs = 1000;

/**
 * Persists the store's now every second while deadlines exist, unless a commit has just done so with its log entry:
 * after a crash, and a wall clock that was set back meanwhile, what has expired stays expired.
 */
export class ClockMark {
  readonly #timers: Clock;
  readonly #clock: AnchoredClock;
  readonly #groups: GroupCommit;
  readonly #isNeeded: () => boolean;
  #last: number;
  #cancelTimer: (() => void) | undefined;

  constructor(timers: Clock, clock: AnchoredClock, groups: GroupCommit, isNeeded: () => boolean) {
    this.#timers = timers;
    this.#clock = clock;
    this.#groups = groups;
    this.#isNeeded = isNeeded;
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
        this.#groups.markClock();
      }
      this.start();
    });
  }

  stop(): void {
    this.#cancelTimer?.();
  }
}
