import type { Clock } from "../base/clock.js";
import { isoNow } from "./acquiring.js";
import type { RecordStore } from "./record-store.js";
import type { RecordWrite } from "./transition-types.js";

/** A claim that is to be renewed from another thread. */
export interface ThreadHold {
  readonly id: number;
  readonly key: string;
  /** The renewal; its time is set whenever it is sent. */
  readonly write: Extract<RecordWrite, { op: "patch" }>;
  /** Milliseconds for which each renewal holds. */
  readonly holdMs: number;
  /** Nanoseconds of the process's monotonic clock after which the claim is not renewed any more. */
  readonly renewUntil: bigint;
  /** Memory that both threads see: until when the claim surely holds, in the same nanoseconds. */
  readonly validUntil: BigInt64Array;
}

/** What the thread is told. */
export type ThreadOrder =
  | { readonly order: "hold"; readonly hold: ThreadHold }
  | { readonly order: "end"; readonly id: number };

/** Nanoseconds of a clock that is the same for all threads of a process, and only moves forward. */
export type SharedNow = () => bigint;

/**
 * What the thread does: renews each claim a little before a third of its hold is over, so that the thread of the tools
 * finds it renewed. It is refused like any other holder once the claim has ended, and then lets go of it; a claim that it
 * could not renew simply runs out, which its holder sees in the shared memory.
 */
export class ThreadRenewals {
  readonly #records: RecordStore;
  readonly #clock: Clock;
  readonly #now: SharedNow;
  readonly #cancels = new Map<number, () => void>();

  constructor(records: RecordStore, clock: Clock, now: SharedNow) {
    this.#records = records;
    this.#clock = clock;
    this.#now = now;
  }

  /** Claims that are being renewed. */
  get size(): number {
    return this.#cancels.size;
  }

  readonly obey = (order: ThreadOrder): void => {
    switch (order.order) {
      case "end":
        this.#letGo(order.id);
        break;
      case "hold": {
        const { hold } = order;
        this.#arm(hold, Atomics.load(hold.validUntil, 0) - nanoseconds(hold.holdMs));
      }
    }
  };

  /** Counted from when the renewal before was sent, not from when its answer came. */
  #arm(hold: ThreadHold, sentAt: bigint): void {
    const dueMs = Number(sentAt - this.#now()) / 1e6 + 0.3 * hold.holdMs;
    this.#armIn(hold, Math.max(0, dueMs));
  }

  #armIn(hold: ThreadHold, delayMs: number): void {
    this.#cancels.set(
      hold.id,
      this.#clock.setTimer(delayMs, () => void this.#renew(hold)),
    );
  }

  async #renew(hold: ThreadHold): Promise<void> {
    const { id, key, write, holdMs, renewUntil, validUntil } = hold;
    const sentAt = this.#now();
    if (sentAt >= renewUntil) return this.#letGo(id);
    const merge = { ...write.merge, renewed_at: isoNow(this.#clock) };
    const event = await this.#records.write(key, { ...write, merge });
    if (!this.#cancels.has(id)) return;
    switch (event.event) {
      case "refused":
        return this.#letGo(id);
      case "unanswered":
        // Sooner than usual, so that several tries fit into what is left of the hold.
        return this.#armIn(hold, holdMs / 9);
      case "written":
        Atomics.store(validUntil, 0, sentAt + nanoseconds(holdMs));
        return this.#arm(hold, sentAt);
    }
  }

  #letGo(id: number): void {
    this.#cancels.get(id)?.();
    this.#cancels.delete(id);
  }
}

export function nanoseconds(milliseconds: number): bigint {
  return BigInt(Math.round(milliseconds * 1e6));
}
