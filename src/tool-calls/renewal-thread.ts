import { Worker } from "node:worker_threads";
import type { Clock } from "../base/clock.js";
import { systemClock } from "../base/clock.js";
import { InvalidRequestError, OnceKvError } from "../base/errors.js";
import { type ThreadAccess, threadAccessOf } from "../documents/thread-access.js";
import type { ValidClaim } from "./acquisition-decisions.js";
import type { ThreadStart } from "./renewal-thread-main.js";
import { nanoseconds, type ThreadOrder } from "./thread-renewals.js";
import { renew } from "./transitions.js";

/** A claim that is renewed beside the event loop of its tool. */
export interface RenewedElsewhere {
  /** Until when the claim surely holds by the renewals that were acknowledged there: milliseconds of the clock's monotonic time. */
  validUntil(): number;
  /** The claim needs no more renewals. */
  end(): void;
}

/**
 * The thread that renews the claims of tools which hold up their event loop, seen from there. It has a store of its own
 * and shares nothing but a number for each claim: until when it surely holds.
 */
export class RenewalThread {
  readonly #start: ThreadStart;
  readonly #clock: Clock = systemClock;
  #running: { readonly worker: Worker; readonly ready: Promise<void> } | undefined;
  #ids = 0;
  #closed = false;

  constructor(access: ThreadAccess, shape: string) {
    this.#start = { access, shape };
  }

  /** Resolves when the thread takes orders: a tool that is entered before could hold it up, too. @throws OnceKvError `unavailable` */
  ready(): Promise<void> {
    return this.#run().ready;
  }

  /** Has a claim renewed from now on, for as long as its tool may run. */
  hold(claim: ValidClaim, maxRunTime: number): RenewedElsewhere {
    const clock = this.#clock;
    const now = process.hrtime.bigint();
    const leftMs = claim.validUntil - clock.monotonicNow();
    const validUntil = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
    Atomics.store(validUntil, 0, now + nanoseconds(leftMs));
    const id = ++this.#ids;
    const write = renew(claim, "");
    if (write.op === "patch" && !this.#closed) {
      const holdMs = claim.timing.pendingTtl * 1000;
      const renewUntil = now + nanoseconds(maxRunTime * 1000);
      this.#tell({ order: "hold", hold: { id, key: claim.record.key, write, holdMs, renewUntil, validUntil } });
    }
    return {
      validUntil: () => clock.monotonicNow() + Number(Atomics.load(validUntil, 0) - process.hrtime.bigint()) / 1e6,
      end: () => {
        if (this.#running !== undefined) this.#tell({ order: "end", id });
      },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    const running = this.#running;
    this.#running = undefined;
    await running?.worker.terminate();
  }

  #tell(order: ThreadOrder): void {
    this.#run().worker.postMessage(order);
  }

  #run(): { readonly worker: Worker; readonly ready: Promise<void> } {
    if (this.#running !== undefined) return this.#running;
    const worker = new Worker(new URL("./renewal-thread-main.js", import.meta.url), { workerData: this.#start });
    const ready = new Promise<void>((resolve, reject) => {
      worker.once("message", () => {
        // From now on it only helps others: the process may end without it.
        worker.unref();
        resolve();
      });
      // Claims that it had are renewed by their leases, as without it; the next call starts another thread.
      const ended = (cause?: unknown): void => {
        if (this.#running?.worker === worker) this.#running = undefined;
        const details = cause instanceof Error ? { cause } : {};
        reject(new OnceKvError("unavailable", "the thread that renews claims has ended", details));
      };
      worker.once("error", ended);
      worker.once("exit", () => ended());
    });
    ready.catch(() => {});
    this.#running = { worker, ready };
    return this.#running;
  }
}

/** @throws InvalidRequestError when no other thread can do it */
export function openRenewalThread(store: object, shape: string, clock: Clock): RenewalThread {
  const access = threadAccessOf(store);
  if (access === undefined) {
    throw new InvalidRequestError(
      "lease.renewIn",
      'cannot be "worker" with this store: it lives in one event loop, and what holds that up holds up the store, too; ' +
        "serve it from a process of its own and use a client",
    );
  }
  if (clock !== systemClock) {
    throw new InvalidRequestError("clock", 'cannot be given with a lease that is renewed in a "worker"');
  }
  return new RenewalThread(access, shape);
}
