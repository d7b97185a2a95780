import type { Clock } from "./clock.js";

interface Timer {
  readonly dueAt: number;
  readonly callback: () => void;
}

/** A clock for tests: it stands still until it is moved, and its timers fire, in order, while it moves. */
export class ManualClock implements Clock {
  #monotonic = 0;
  #wall: number;
  readonly #timers = new Set<Timer>();

  /** @param wall where the wall clock starts, in milliseconds since 1970 */
  constructor(wall: number = Date.UTC(2026, 0, 1)) {
    this.#wall = wall;
  }

  wallNow(): number {
    return Math.floor(this.#wall);
  }

  monotonicNow(): number {
    return this.#monotonic;
  }

  setTimer(delayMs: number, callback: () => void): () => void {
    const timer: Timer = { dueAt: this.#monotonic + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    // What is due already needs no move of the clock, but like a system timer it never fires within this call.
    if (delayMs <= 0) {
      queueMicrotask(() => {
        if (this.#timers.delete(timer)) callback();
      });
    }
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** Timers that wait to fire. */
  get timerCount(): number {
    return this.#timers.size;
  }

  /** Moves both clocks forward by `ms` and fires, in order of time, what falls due on the way. */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (;;) {
      let next: Timer | undefined;
      for (const timer of this.#timers) {
        if (timer.dueAt <= end && (next === undefined || timer.dueAt < next.dueAt)) next = timer;
      }
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#moveTo(next.dueAt);
      next.callback();
    }
    this.#moveTo(end);
  }

  /** Steps the wall clock alone, as an operator or a time service does. */
  stepWall(ms: number): void {
    this.#wall += ms;
  }

  #moveTo(monotonic: number): void {
    const delta = Math.max(0, monotonic - this.#monotonic);
    this.#monotonic += delta;
    this.#wall += delta;
  }
}
