import { InvalidRequestError, OnceKvError } from "../base/errors.js";
import { readMembers } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";
import { isWellFormed } from "../documents/well-formed.js";
import { type CallContext, isoNow } from "./acquiring.js";
import { decideResolve, holdLeftMs } from "./decisions.js";
import { CallInFlightError, IdempotencyConflictError, NothingToResolveError } from "./errors.js";
import { checkKnown, type KnownOutcome, verdictOf } from "./looking-up.js";
import type { SeenRecord, ToolCallRecord } from "./record.js";
import { writeWhatFits } from "./settling.js";
import type { CallTiming } from "./transition-types.js";
import { resolve } from "./transitions.js";

/** Who decides, and why: kept in the record's history. */
export interface ResolveOptions {
  readonly by: string;
  readonly note?: string | undefined;
  /**
   * The fingerprint of the record that was looked at. A record that has another one by now (the first was forgotten, and
   * the key was used again) is not decided about.
   */
  readonly fingerprint?: string | undefined;
}

/** Approving always names what is approved. */
export type ApproveOptions = ResolveOptions & { readonly fingerprint: string };

const resolveMembers: ReadonlySet<string> = new Set(["by", "note", "fingerprint"]);

/**
 * Ends a doubt by decree.
 *
 * @param onlyParked refuses all but parked calls: an approval says nothing about an outcome in doubt
 * @returns the record as it stands now
 * @throws CallInFlightError, NothingToResolveError, IdempotencyConflictError for another fingerprint, `not_found`, and what
 * the store throws
 */
export async function resolveCall(
  context: CallContext,
  key: string,
  known: KnownOutcome,
  options: ResolveOptions,
  timing: CallTiming,
  onlyParked = false,
): Promise<ToolCallRecord> {
  const { by, note, fingerprint } = checkResolution(options);
  checkKnown(known);
  const { records, clock } = context;
  let seen = await records.read(key);
  for (;;) {
    if (seen === undefined) throw new OnceKvError("not_found", `there is no call ${JSON.stringify(key)}`);
    requireResolvable(seen, fingerprint, onlyParked);
    const { tool, window = 0 } = seen.record;
    const verdict = await verdictOf(known, context, { tool, windowSeconds: Math.max(window, timing.completedTtl) });
    const decided = { by, note, at: isoNow(clock), ...(onlyParked ? { approved: true as const } : {}) };
    const { write, event } = await writeWhatFits(records, key, resolve(seen, verdict, decided, timing));
    if (event.event === "written") return write.set;
    if (event.event === "unanswered") throw event.error;
    seen = event.current;
  }
}

function requireResolvable(seen: SeenRecord, fingerprint: string | undefined, onlyParked: boolean): void {
  const { record } = seen;
  if (fingerprint !== undefined && record.fingerprint !== fingerprint) {
    throw new IdempotencyConflictError(seen, fingerprint);
  }
  if (onlyParked && record.status !== "parked") throw new NothingToResolveError(record);
  switch (decideResolve(seen)) {
    case "resolvable":
      return;
    case "in_flight":
      throw new CallInFlightError(seen, holdLeftMs(seen));
    case "settled":
      throw new NothingToResolveError(record);
  }
}

/** Who decides must say who it is: the history is all that is left of the reasons. */
function checkResolution(options: ResolveOptions): {
  readonly by: string;
  readonly note: string;
  readonly fingerprint: string | undefined;
} {
  readMembers(options, "", "the options", resolveMembers);
  const { by, note = "", fingerprint } = options;
  for (const [name, value] of Object.entries({ by, note, fingerprint: fingerprint ?? "" })) {
    if (typeof value !== "string") throw new InvalidRequestError(name, `must be a string, not ${kindOf(value)}`);
    if (!isWellFormed(value))
      throw new InvalidRequestError(name, "has a lone surrogate, which no stored text can hold");
  }
  if (by === "") throw new InvalidRequestError("by", "must not be empty");
  return { by, note, fingerprint };
}
