import { setTimeout as pause } from "node:timers/promises";
import { WrongResultError } from "../checks.js";
import { percentile } from "../statistics.js";
import { checkOutcome, mailCall, mailResult, mustNotFire } from "./effects.js";
import type { CallNumbers } from "./protocol-cases.js";
import type { WaitingPlace } from "./waiting-places.js";

/**
 * One claim is completed while callers wait for it: `complete` is called, the record is written, the store answers the
 * waits, and each waiter has the stored result. All of them are in this process, and so is the one who completes.
 */
export interface Waking {
  /** From the call of `complete` to the moment that a waiter has the result, in milliseconds, the first one first. */
  readonly awakeMs: readonly number[];
  /** From the call of `complete` to its answer, in milliseconds. */
  readonly completedMs: number;
}

/** The wakings of one kind, in numbers. */
export interface WakingSummary {
  /** Over all waiters of all wakings. */
  readonly waiterP50Ms: number;
  readonly waiterP99Ms: number;
  /** The last waiter of a waking: the median of the wakings, and the slowest. */
  readonly lastP50Ms: number;
  readonly lastMaxMs: number;
  /** From the answer to `complete` to the last waiter: the median. Below zero: the waiter was awake before. */
  readonly lastAfterCompletedP50Ms: number;
}

/** Seconds within which all callers must wait; a server that cannot hold so many answers some of them by then. */
const settlingSeconds = 20;

/** @throws WrongResultError when a waiter fires, or gets anything but the stored result as a replay */
export async function wakeOnce(place: WaitingPlace, numbers: CallNumbers, waiters: number): Promise<Waking> {
  const { calls } = place;
  const number = numbers.next();
  const request = mailCall(number);
  const claim = await calls.claim(request);
  if (!claim.claimed) throw new WrongResultError(`call ${number} was claimed before`);
  const waits = Promise.all(
    Array.from({ length: waiters }, async () => {
      const outcome = await calls.run(request, mustNotFire);
      const at = performance.now();
      checkOutcome(outcome, { number, wasReplay: true });
      return at;
    }),
  );
  await untilAllWait(place, waiters, waits);
  const begun = performance.now();
  const completing = claim.complete(mailResult(number)).then((outcome) => {
    const at = performance.now();
    checkOutcome(outcome, { number, wasReplay: false });
    return at;
  });
  const [awake, completed] = await Promise.all([waits, completing]);
  return { awakeMs: awake.map((at) => at - begun).sort((one, other) => one - other), completedMs: completed - begun };
}

/** Resolves when the store holds all the waits; rejects when one of them ends before. */
async function untilAllWait(place: WaitingPlace, waiters: number, waits: Promise<unknown>): Promise<void> {
  let ended: { readonly error: unknown } | undefined;
  waits.then(
    () => (ended = { error: new WrongResultError("the waiters did not wait") }),
    (error: unknown) => (ended = { error }),
  );
  const end = performance.now() + settlingSeconds * 1000;
  while ((await place.waiting()) < waiters) {
    if (ended !== undefined) throw ended.error;
    if (performance.now() > end) throw new WrongResultError(`after ${settlingSeconds} s not all waiters wait`);
    await pause(1);
  }
}

/** @param wakings at least one */
export function summarizeWakings(wakings: readonly Waking[]): WakingSummary {
  const all = wakings.flatMap(({ awakeMs }) => awakeMs).sort((one, other) => one - other);
  const last = Float64Array.from(wakings, ({ awakeMs }) => awakeMs.at(-1) ?? Number.NaN);
  const after = Float64Array.from(wakings, ({ completedMs }, index) => (last[index] as number) - completedMs);
  last.sort();
  after.sort();
  return {
    waiterP50Ms: percentile(all, 0.5),
    waiterP99Ms: percentile(all, 0.99),
    lastP50Ms: percentile(last, 0.5),
    lastMaxMs: percentile(last, 1),
    lastAfterCompletedP50Ms: percentile(after, 0.5),
  };
}
