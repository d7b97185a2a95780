import { InvalidRequestError } from "../base/errors.js";
import { isPlainObject } from "../documents/plain-object.js";
import { kindOf } from "../documents/value-kind.js";
import { type CallContext, isoNow } from "./acquiring.js";
import type { ValidClaim } from "./acquisition-decisions.js";
import { encodeError } from "./error-codec.js";
import { holdLease, type LeaseTerms } from "./holding.js";
import type { ToolCallRecord } from "./record.js";
import { settle } from "./settling.js";
import type { Verdict } from "./transition-types.js";
import { lookedUp } from "./transitions.js";

/*
 * Finding out what an earlier run did. Whoever meets the doubt asks, under a claim of its own, so that one asks at a time.
 */

/**
 * What somebody knows about a call whose outcome was in doubt: its result, the error that it definitely ended with, or that
 * it was not done *and can no longer happen*. "Not there yet" is not `not_done`: it leads to a second effect when the first
 * one lands after all.
 */
export type KnownOutcome = { readonly result: unknown } | { readonly error: unknown } | { readonly not_done: true };

/** The same, or that it is still not known. */
export type LookedUp = KnownOutcome | { readonly unknown: true };

/** What a look-up is given besides the record. */
export interface LookUpCall {
  /** Aborts when the claim of the look-up is not surely held any more, or it has taken too long. */
  readonly signal: AbortSignal;
}

/**
 * Asks the other side what became of a call, by a reference that stays the same: the order's number, the key that was sent
 * along. What it throws counts as `unknown`.
 */
export type LookUp = (record: ToolCallRecord, call: LookUpCall) => LookedUp | Promise<LookedUp>;

/**
 * Asks, in this very turn, and writes down what was found out.
 *
 * @throws ClaimLostError when somebody else has taken the question over, or settled it
 */
export async function lookUpUnder(
  context: CallContext,
  claim: ValidClaim,
  terms: LeaseTerms,
  lookUp: LookUp,
): Promise<Verdict["kind"]> {
  const lease = holdLease(context, claim, terms);
  const late = new Promise<never>((_, reject) => {
    lease.onOverdue(() => reject(new Error(`the look-up has not ended within ${terms.maxRunTime} seconds`)));
  });
  let verdict: Verdict;
  try {
    const answer = await Promise.race([
      (async () => lookUp(structuredClone(claim.record), { signal: lease.signal }))(),
      late,
    ]);
    const windowSeconds = Math.max(claim.record.window ?? 0, claim.timing.completedTtl);
    const call = { tool: claim.record.tool, windowSeconds };
    verdict =
      "unknown" in checkMembers(answer) ? { kind: "unknown", error: null } : await verdictOf(answer, context, call);
  } catch (error) {
    verdict = { kind: "unknown", error: encodeError(error) };
  }
  lease.end();
  await settle(context, lookedUp(claim, verdict, isoNow(context.clock)), claim.timing);
  return verdict.kind;
}

/** @throws InvalidRequestError unless it says one thing */
export async function verdictOf(
  known: unknown,
  { results }: Pick<CallContext, "results">,
  { tool, windowSeconds }: { readonly tool: string; readonly windowSeconds: number },
): Promise<Exclude<Verdict, { kind: "unknown" }>> {
  const given = checkKnown(known);
  if ("result" in given) {
    const { stored } = await results.keep(given["result"], tool, windowSeconds);
    return { kind: "done", result: stored };
  }
  if ("error" in given) return { kind: "failed", error: encodeError(given["error"]) };
  return { kind: "not_done" };
}

/** Judges the form of what somebody knows. @throws InvalidRequestError unless it says one thing */
export function checkKnown(known: unknown): { readonly [name: string]: unknown } {
  const given = checkMembers(known);
  if ("result" in given || "error" in given || given["not_done"] === true) return given;
  throw new InvalidRequestError("", "a resolution says { result }, { error } or { not_done: true }");
}

function checkMembers(known: unknown): { readonly [name: string]: unknown } {
  if (!isPlainObject(known)) {
    throw new InvalidRequestError("", `what became of a call must be an object, not ${kindOf(known)}`);
  }
  const names = Object.keys(known);
  if (names.length !== 1) {
    throw new InvalidRequestError("", `what became of a call must say one thing, not ${JSON.stringify(names)}`);
  }
  return known;
}
