import type { Fields } from "../documents/contract.js";
import type { SeenRecord, ToolCallIdentity, ToolCallRecord } from "./record.js";
import type { CallTiming, Claimant, RecordPut, RecordWrite } from "./transition-types.js";
import { claim, claimAgain, forget, lookUp } from "./transitions.js";

/*
 * What a record means to somebody who has just read it. Whether a hold is over is decided from the two instants of the
 * store that came with it, never from a clock of the reader's: a clock that is a tick fast would take a live claim.
 */

/** What tells one call from another under the same key. */
export type CallIdentity = Pick<ToolCallIdentity, "tool" | "fingerprint">;

/** What a run brings to the decision. */
export interface RunView {
  readonly identity: ToolCallIdentity;
  readonly claimant: Claimant;
  readonly timing: CallTiming;
  readonly extra: Fields | undefined;
  /** All claim ids that this run has sent: any of them may turn up in the record, also after its answer was lost. */
  readonly sent: (claimId: string) => boolean;
  /** Claim ids of earlier runs of this process that ended without firing. */
  readonly abandoned: (claimId: string) => boolean;
  /** Whether there is a function that finds out what an earlier run did. */
  readonly canLookUp: boolean;
}

/** The final answers that a record can give to a caller. */
export type RecordAnswer =
  /** Completed: the result is in the record. */
  | { readonly answer: "completed"; readonly seen: SeenRecord }
  | { readonly answer: "failed"; readonly seen: SeenRecord }
  /** The key is bound to other arguments. */
  | { readonly answer: "conflict"; readonly seen: SeenRecord }
  | { readonly answer: "needs_review"; readonly seen: SeenRecord }
  | { readonly answer: "parked"; readonly seen: SeenRecord };

export type RunDecision =
  | { readonly decision: "claim"; readonly write: RecordPut }
  | { readonly decision: "look_up"; readonly write: RecordPut }
  /** The record is pending under a claim of this very run. */
  | { readonly decision: "own"; readonly seen: SeenRecord }
  | WaitDecision
  | { readonly decision: "answer"; readonly answer: RecordAnswer };

/** Somebody works on it, or nobody has begun. */
export interface WaitDecision {
  readonly decision: "wait";
  readonly seen: SeenRecord;
  /** Milliseconds until the record means something else by the passing of time alone; null: only a write changes it. */
  readonly lapseInMs: number | null;
}

/** Milliseconds until the hold of a record is over, 0 when it is; null: it never is. */
export function holdLeftMs(seen: SeenRecord): number | null {
  const { hold } = seen.record;
  if (hold === null) return null;
  return Math.max(0, seen.updatedAt + Math.round(hold * 1000) - seen.asOf);
}

/** What a run does next about the record that it found; undefined: there is none. */
export function decideRun(seen: SeenRecord | undefined, view: RunView): RunDecision {
  if (seen === undefined) {
    return { decision: "claim", write: claim(view.identity, view.claimant, view.timing, view.extra) };
  }
  const { record } = seen;
  // Before anything else and in every state: other arguments get neither this call's result nor a turn to fire.
  if (!sameCall(record, view.identity)) return answer("conflict", seen);
  switch (record.status) {
    case "planned":
    case "released":
    case "parked":
      return again(seen, view);
    case "pending":
      return decidePending(seen, view);
    case "unknown":
      return doubt(seen, view);
    case "completed":
      return answer("completed", seen);
    case "failed":
      return holdLeftMs(seen) === 0 ? again(seen, view) : answer("failed", seen);
  }
}

function decidePending(seen: SeenRecord, view: RunView): RunDecision {
  const { record } = seen;
  const claimId = record.claim_id ?? "";
  if (view.sent(claimId)) return { decision: "own", seen };
  const lapseInMs = holdLeftMs(seen);
  if (lapseInMs !== 0) {
    if (!view.abandoned(claimId)) return { decision: "wait", seen, lapseInMs };
    // This process knows that nobody works under that claim, and that its run did not fire, whatever the mark says: a
    // mark whose answer was lost is not acted upon. Its own withdrawal has only not arrived yet.
    return record.phase === "run" ? again(seen, view) : doubt(seen, view);
  }
  return lapsedIsFree(record) ? again(seen, view) : doubt(seen, view);
}

/** Whether a lapsed claim may be followed by a fire without asking: by its policy, or because it provably did not fire. */
function lapsedIsFree(record: ToolCallRecord): boolean {
  if (record.phase !== "run") return false;
  return record.policy === "refire" || (record.marks && record.fired_at === null);
}

/** The last run may have had its effect: a look-up finds out, or else a person. */
function doubt(seen: SeenRecord, view: RunView): RunDecision {
  if (seen.record.policy === "reconcile" && view.canLookUp) {
    return { decision: "look_up", write: lookUp(seen, view.claimant, view.timing) };
  }
  return answer("needs_review", seen);
}

/**
 * What somebody who only waits does about the record that it found; undefined: there is none, and the answer is that.
 *
 * @param identity the call that is waited for; undefined: whatever has the key
 */
export function decideWait(
  seen: SeenRecord,
  identity: CallIdentity | undefined,
): WaitDecision | Extract<RunDecision, { decision: "answer" }> {
  const { record } = seen;
  if (identity !== undefined && !sameCall(record, identity)) return answer("conflict", seen);
  switch (record.status) {
    case "planned":
    case "released":
      return { decision: "wait", seen, lapseInMs: null };
    case "pending": {
      if (record.policy !== "review") return { decision: "wait", seen, lapseInMs: null };
      const lapseInMs = holdLeftMs(seen);
      return lapseInMs === 0 ? answer("needs_review", seen) : { decision: "wait", seen, lapseInMs };
    }
    case "unknown":
      return answer("needs_review", seen);
    case "parked":
      return answer("parked", seen);
    case "completed":
      return answer("completed", seen);
    case "failed":
      return answer("failed", seen);
  }
}

/** Whether somebody or something outside must say what became of a call; "in_flight" while somebody may be working on it. */
export function decideResolve(seen: SeenRecord): "resolvable" | "in_flight" | "settled" {
  switch (seen.record.status) {
    case "unknown":
    case "parked":
      return "resolvable";
    case "pending":
      return mayBeWorkedOn(seen) ? "in_flight" : "resolvable";
    default:
      return "settled";
  }
}

/** Whether nobody may fire before it is known what an earlier run did. */
export function isInDoubt(seen: SeenRecord): boolean {
  const { record } = seen;
  if (record.status === "unknown") return true;
  return record.status === "pending" && holdLeftMs(seen) === 0 && !lapsedIsFree(record);
}

/** The claim of a look-up by somebody who does not want to fire; undefined: there is no doubt, or another policy ends it. */
export function decideLookUp(seen: SeenRecord, claimant: Claimant, timing: CallTiming): RecordPut | undefined {
  if (seen.record.policy !== "reconcile") return undefined;
  return isInDoubt(seen) ? lookUp(seen, claimant, timing) : undefined;
}

/** The delete that forgets a record; "in_flight" while somebody may be working on it. */
export function decideForget(seen: SeenRecord): RecordWrite | "in_flight" {
  return mayBeWorkedOn(seen) ? "in_flight" : forget(seen);
}

/** A look-up may be overtaken at any time: its holder only asks, and what it finds out is refused then. */
function mayBeWorkedOn(seen: SeenRecord): boolean {
  const { record } = seen;
  return record.status === "pending" && record.phase === "run" && holdLeftMs(seen) !== 0;
}

/** Whether the record is of this call. The policy is not compared: the record's own counts. */
export function sameCall(record: ToolCallRecord, identity: CallIdentity): boolean {
  return record.tool === identity.tool && record.fingerprint === identity.fingerprint;
}

function again(seen: SeenRecord, view: RunView): RunDecision {
  return { decision: "claim", write: claimAgain(seen, view.claimant, view.timing, view.extra) };
}

function answer(kind: RecordAnswer["answer"], seen: SeenRecord): Extract<RunDecision, { decision: "answer" }> {
  return { decision: "answer", answer: { answer: kind, seen } };
}
