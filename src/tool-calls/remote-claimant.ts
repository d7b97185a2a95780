import { isInDoubt } from "./decisions.js";
import type { ClaimTerms, SeenRecord, ToolCallRecord } from "./record.js";
import type { CallTiming, SentClaim } from "./transition-types.js";

/** Somebody elsewhere, who will hold the claim by its claim id alone. */
export interface RemoteClaimant {
  /**
   * The id that the claimant has chosen, and repeats the request with when it got no answer: a pending record that bears it
   * is its own, and no claim with it is taken back. undefined: it has chosen none, and never comes back.
   */
  readonly claimId: string | undefined;
}

/** Whether the claimant has chosen that claim id: a claim of an earlier request may bear it too. */
export function isChosen(remote: RemoteClaimant | undefined, claimId: string | null): boolean {
  return claimId !== null && remote?.claimId === claimId;
}

/**
 * Whether a pending record with the chosen id is given to its claimant again. Who has announced its effect had its answer,
 * and a claim that lapsed into doubt may have been worked under: whatever repeats the request then, a worker that was
 * started anew, say, must not fire.
 */
export function mayBeFoundAgain(seen: SeenRecord | undefined): boolean {
  // Whoever looks up what became of a call holds a claim that is no claimant's.
  return seen?.record.phase === "run" && seen.record.fired_at === null && !isInDoubt(seen);
}

/** What the record must say for a holder that has nothing but its claim id. */
export function termsOf(remote: RemoteClaimant | undefined, timing: CallTiming): { terms?: ClaimTerms } {
  if (remote === undefined) return {};
  return { terms: { completed_ttl: timing.completedTtl, failed_ttl: timing.failedTtl } };
}

/** The claim of an earlier request. When it was sent is not known: it holds for sure only once it was renewed. */
export function earlierClaim(
  record: ToolCallRecord,
  timing: CallTiming,
): SentClaim & { readonly sentAt: number; readonly open: false } {
  return {
    claimId: record.claim_id ?? "",
    record,
    timing: { ...timing, pendingTtl: record.hold ?? timing.pendingTtl },
    sentAt: Number.NEGATIVE_INFINITY,
    open: false,
  };
}
