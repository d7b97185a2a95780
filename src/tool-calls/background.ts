import type { Clock } from "../base/clock.js";
import type { AbandonedClaim } from "./acquisition-decisions.js";
import type { RecordStore } from "./record-store.js";
import { stepSettlement } from "./settlement-decisions.js";
import type { CallTiming, RecordPut } from "./transition-types.js";

/** First and longest pause between two tries of a write, in milliseconds. */
const pauseMsMin = 100;
const pauseMsMax = 10_000;

/** Claims given up that are remembered; beyond that the oldest are forgotten, and wait out their hold like others. */
const abandonedMax = 10_000;

/**
 * Writes that go on after their caller has its answer: outcomes that could not be stored at once, and claims that are taken
 * back. Each is repeated, with growing pauses, until the store has answered or the window is over. They do not keep the
 * process alive: what is not stored when it ends counts as a crash, and the claim lapses.
 */
export class Background {
  readonly #records: RecordStore;
  readonly #clock: Clock;
  readonly #abandoned = new Set<string>();
  readonly #pauses = new Set<() => void>();
  readonly #work = new Set<Promise<void>>();
  #closed = false;

  constructor(records: RecordStore, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Whether a run of this process gave that claim up without firing. */
  readonly isAbandoned = (claimId: string): boolean => this.#abandoned.has(claimId);

  /** Goes on with the write of an outcome that got no answer. */
  settle(key: string, write: RecordPut, timing: CallTiming): void {
    this.#begin(this.#repeat(key, write, timing, this.#pause(pauseMsMin)));
  }

  /** Takes claims back that a run leaves behind, once `before`, the write that may still make one, has ended. */
  abandon(key: string, claims: readonly AbandonedClaim[], before: Promise<unknown> = Promise.resolve()): void {
    for (const { claimId, timing, write } of claims) {
      if (this.#abandoned.size >= abandonedMax) this.#forgetOldest();
      this.#abandoned.add(claimId);
      this.#begin(this.#repeat(key, write, timing, before));
    }
  }

  /** Resolves when nothing is left to write. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }

  /** Ends the pauses: every write is tried once more, and then no more. */
  close(): void {
    this.#closed = true;
    for (const wake of [...this.#pauses]) wake();
  }

  async #repeat(key: string, first: RecordPut, timing: CallTiming, before: Promise<unknown>): Promise<void> {
    const end = this.#clock.monotonicNow() + timing.completedTtl * 1000;
    // While nothing renews the claim any more, a store that comes back must hear of the outcome before the claim lapses.
    const longest = Math.min(pauseMsMax, Math.max(pauseMsMin, (timing.pendingTtl * 1000) / 3));
    let write = first;
    let pauseMs = pauseMsMin;
    await before;
    for (;;) {
      const step = stepSettlement(write, await this.#records.write(key, write));
      if (step.step === "shrink") {
        write = step.write;
        continue;
      }
      if (step.step !== "again" || this.#closed || this.#clock.monotonicNow() >= end) return;
      pauseMs = Math.min(longest, pauseMs * 2);
      await this.#pause(pauseMs);
    }
  }

  #begin(work: Promise<void>): void {
    const done = work.finally(() => this.#work.delete(done));
    this.#work.add(done);
  }

  #pause(ms: number): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel();
        this.#pauses.delete(wake);
        resolve();
      };
      const cancel = this.#clock.setTimer(ms, wake);
      this.#pauses.add(wake);
    });
  }

  #forgetOldest(): void {
    for (const claimId of this.#abandoned) {
      this.#abandoned.delete(claimId);
      return;
    }
  }
}
