import { InvalidRequestError } from "../base/errors.js";
import { checkFunction, readMembers, shown } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";
import { type CallContext, isoNow } from "./acquiring.js";
import { prolonged, type ValidClaim } from "./acquisition-decisions.js";
import { decideLookUp } from "./decisions.js";
import { ClaimLostError } from "./errors.js";
import { type LookUp, lookUpUnder } from "./looking-up.js";
import { type SeenRecord, seenRecordOf } from "./record.js";
import type { CallTiming, Verdict } from "./transition-types.js";
import { abandon } from "./transitions.js";

/** What a reconciler goes through, and how often. */
export interface ReconcilerOptions {
  /** Only calls of this tool; of all tools when absent. */
  readonly tool?: string | undefined;
  /** Finds out what an earlier run did. */
  readonly lookup: LookUp;
  /** Seconds between the end of one round and the next one, 60 when absent. */
  readonly interval?: number | undefined;
  /** Seconds that one look-up may take, 60 when absent. */
  readonly maxRunTime?: number | undefined;
  /** Hears of what ended a round before its time: the store could not be read, say. The next round is tried all the same. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** What a round came to: how many calls it asked about, and what was found out. */
export interface ReconcilerRound {
  readonly done: number;
  readonly failed: number;
  readonly not_done: number;
  /** Asked about again in the next round. */
  readonly unknown: number;
  /** Somebody else was faster, or the store gave no answer. */
  readonly skipped: number;
}

const members: ReadonlySet<string> = new Set(["tool", "lookup", "interval", "maxRunTime", "onError"]);

/** The options, judged. */
interface ReconcilerSettings {
  readonly tool: string | undefined;
  readonly lookUp: LookUp;
  readonly intervalMs: number;
  readonly maxRunTime: number;
  readonly onError: (error: unknown) => void;
}

/**
 * Works through calls in doubt, in rounds, until it is closed: those of the policy `reconcile` whose claim has lapsed or
 * whose outcome is unknown. Each is asked about under a claim of its own, so that any number of processes may do this at
 * once. Its timers do not keep the process alive.
 */
export class Reconciler {
  readonly #context: CallContext;
  readonly #settings: ReconcilerSettings;
  readonly #timing: CallTiming;
  readonly #onClose: () => void;
  readonly #ended = new AbortController();
  #round: Promise<ReconcilerRound> | undefined;
  #cancelTimer: () => void = () => {};

  /** @param onClose called when it is closed */
  constructor(context: CallContext, options: ReconcilerOptions, timing: CallTiming, onClose: () => void) {
    this.#onClose = onClose;
    this.#context = context;
    this.#settings = checkOptions(options);
    this.#timing = timing;
    this.#arm();
  }

  /** Goes through all calls now, or joins the round that is under way. @throws what the store throws */
  run(): Promise<ReconcilerRound> {
    this.#round ??= this.#goThrough().finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  /** Begins no more look-ups, aborts the signal of the one under way, and waits until it has ended. */
  async close(): Promise<void> {
    this.#onClose();
    this.#cancelTimer();
    this.#ended.abort(new Error("the reconciler was closed"));
    await this.#round?.catch(() => {});
  }

  #arm(): void {
    if (this.#ended.signal.aborted) return;
    this.#cancelTimer = this.#context.clock.setTimer(this.#settings.intervalMs, () => {
      void this.run()
        .catch((error: unknown) => this.#settings.onError(error))
        // Whoever is told of an error may fail at that, too; the next round comes all the same.
        .catch(() => {})
        .finally(() => this.#arm());
    });
  }

  async #goThrough(): Promise<ReconcilerRound> {
    const { tool } = this.#settings;
    const counts = { done: 0, failed: 0, not_done: 0, unknown: 0, skipped: 0 };
    let after: string | undefined;
    do {
      const page = await this.#context.records.list(after === undefined ? {} : { after });
      for (const document of page.documents) {
        if (this.#ended.signal.aborted) return counts;
        // What is no record of a call is for `list` and people.
        const seen = seenRecordOf(document);
        if (seen === undefined || (tool !== undefined && seen.record.tool !== tool)) continue;
        const found = await this.#ask(seen);
        if (found !== undefined) counts[found] += 1;
      }
      after = page.next ?? undefined;
    } while (after !== undefined);
    return counts;
  }

  /** undefined: there is no doubt. */
  async #ask(seen: SeenRecord): Promise<Verdict["kind"] | "skipped" | undefined> {
    const { records, clock, owner, newClaimId, background } = this.#context;
    const { key } = seen.record;
    const timing = this.#timing;
    const claimId = newClaimId();
    const write = decideLookUp(seen, { claimId, owner, at: isoNow(clock) }, timing);
    if (write === undefined) return undefined;
    const sentAt = clock.monotonicNow();
    const event = await records.write(key, write);
    if (event.event === "refused") return "skipped";
    const sent = { claimId, record: write.set, timing };
    if (event.event === "unanswered") {
      if (event.applied === "maybe") background.abandon(key, [{ claimId, timing, write: abandon(sent) }]);
      return "skipped";
    }
    const claim: ValidClaim = prolonged({ ...sent, fencingToken: event.revision, validUntil: 0 }, sentAt);
    if (clock.monotonicNow() >= claim.validUntil) {
      background.abandon(key, [{ claimId, timing, write: abandon(sent) }]);
      return "skipped";
    }
    const { lookUp, maxRunTime } = this.#settings;
    try {
      return await lookUpUnder(this.#context, claim, { maxRunTime, signal: this.#ended.signal }, lookUp);
    } catch (error) {
      if (error instanceof ClaimLostError) return "skipped";
      throw error;
    }
  }
}

function checkOptions(options: ReconcilerOptions): ReconcilerSettings {
  readMembers(options, "", "the options", members);
  const { tool, lookup, interval = 60, maxRunTime = 60, onError = () => {} } = options;
  if (tool !== undefined && typeof tool !== "string") {
    throw new InvalidRequestError("tool", `must be a string, not ${kindOf(tool)}`);
  }
  if (typeof lookup !== "function")
    throw new InvalidRequestError("lookup", `must be a function, not ${kindOf(lookup)}`);
  checkFunction(onError, "onError");
  for (const [name, seconds] of Object.entries({ interval, maxRunTime })) {
    if (typeof seconds !== "number" || !(seconds > 0 && seconds < Number.POSITIVE_INFINITY)) {
      throw new InvalidRequestError(name, `must be a number of seconds above 0, not ${shown(seconds)}`);
    }
  }
  return { tool, lookUp: lookup, intervalMs: interval * 1000, maxRunTime, onError };
}
