import { onAbort } from "../base/abort-signal.js";
import type { AnchoredClock, Clock } from "../base/clock.js";
import { StoreClosedError } from "../base/errors.js";
import type { WaitResult } from "../documents/contract.js";
import type { CheckedWait } from "../documents/requests-read.js";
import type { StagedCommit } from "./commit.js";
import { toDocument } from "./document-codec.js";
import { documentName } from "./keys.js";
import type { Reader } from "./reader.js";

/**
 * `waitFor`: callers that sleep until a document's state differs from the one they know. A commit wakes those who wait
 * for its documents, a timer wakes them at the document's deadline, whether the sweeper has come or not.
 */
export class Waiting {
  readonly #reader: Reader;
  readonly #clock: AnchoredClock;
  readonly #timers: Clock;
  readonly #wakers = new Map<string, Set<() => void>>();
  #count = 0;
  #closed = false;

  constructor(reader: Reader, clock: AnchoredClock, timers: Clock) {
    this.#reader = reader;
    this.#clock = clock;
    this.#timers = timers;
  }

  /** Callers that wait now. */
  get size(): number {
    return this.#count;
  }

  /** Wakes those who wait for a document of these commits. */
  notify(commits: readonly StagedCommit[]): void {
    if (this.#wakers.size === 0) return;
    for (const commit of commits) {
      for (const { shape, id } of commit.changes) {
        const wakers = this.#wakers.get(documentName(shape, id));
        if (wakers !== undefined) for (const wake of [...wakers]) wake();
      }
    }
  }

  /** Ends every wait with `store_closed`. */
  close(): void {
    this.#closed = true;
    for (const wakers of [...this.#wakers.values()]) for (const wake of [...wakers]) wake();
  }

  async waitFor({ shape, id, after, timeoutMs, signal }: CheckedWait): Promise<WaitResult> {
    signal?.throwIfAborted();
    const end = this.#timers.monotonicNow() + timeoutMs;
    let known = after;
    this.#count += 1;
    try {
      for (;;) {
        const { document, now } = await this.#reader.readLive(shape, id);
        if (this.#closed) throw new StoreClosedError();
        const revision = document?.revision ?? 0;
        known ??= revision;
        const changed = revision !== known;
        const remaining = end - this.#timers.monotonicNow();
        if (changed || remaining <= 0) {
          return { changed, document: document === undefined ? null : toDocument(shape, id, document, now) };
        }
        const deadline = document === undefined || document.expiresAt === 0 ? Infinity : document.expiresAt;
        await this.#sleep(documentName(shape, id), Math.min(remaining, deadline - this.#clock.now()), signal);
      }
    } finally {
      this.#count -= 1;
    }
  }

  /** Resolves when the document was written, the time is over, or the store closes; rejects when the signal aborts. */
  #sleep(name: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const wakers = this.#wakers.get(name) ?? new Set();
      this.#wakers.set(name, wakers);
      let stopListening = (): void => {};
      const stop = (): void => {
        cancel();
        stopListening();
        wakers.delete(wake);
        if (wakers.size === 0 && this.#wakers.get(name) === wakers) this.#wakers.delete(name);
      };
      const wake = (): void => {
        stop();
        resolve();
      };
      const cancel = this.#timers.setTimer(ms, wake, { keepAlive: true });
      wakers.add(wake);
      // A signal that has aborted while the document was read ends the wait within this call.
      stopListening = onAbort(signal, () => {
        stop();
        reject(signal?.reason);
      });
    });
  }
}
