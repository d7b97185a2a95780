import { jsonId } from "../content/content-id.js";
import type { JsonValue } from "../documents/contract.js";
import { jsonEqual } from "../documents/json-equal.js";
import type { SeenRecord, StoredError, ToolCallRecord } from "./record.js";
import type { CallTiming, HeldClaim, RecordWrite, StoredResult } from "./transition-types.js";
import { complete, fail, markFired, park, release, renew, unknown } from "./transitions.js";

/*
 * What somebody elsewhere may do with a claim of which it has the claim id and nothing more. Nobody keeps that claim in
 * memory: all that its holder's writes need stands in the record, from which they are made anew for each request. They are
 * the writes of any other holder, with the same conditions, so that it does not matter how old the record was that was read.
 */

/** What the holder asks for. */
export type HeldAction =
  | { readonly action: "renew" }
  | { readonly action: "fired" }
  | { readonly action: "complete"; readonly result: StoredResult }
  | { readonly action: "fail"; readonly error: StoredError }
  | { readonly action: "release"; readonly error: StoredError | null }
  | { readonly action: "unknown"; readonly error: StoredError }
  | { readonly action: "park"; readonly reason: JsonValue };

export type HeldDecision =
  | { readonly decision: "write"; readonly write: RecordWrite; readonly held: HeldClaim }
  /** It has been done: the answer to an earlier request was lost. */
  | { readonly decision: "repeated"; readonly record: ToolCallRecord }
  /** The claim is somebody else's, or has ended in another way; undefined: there is no record. */
  | { readonly decision: "lost"; readonly current: ToolCallRecord | undefined }
  /** The effect was announced before, so that the call can no longer be set aside. */
  | { readonly decision: "fired_before" };

/**
 * What becomes of the holder's request about the record that was read; undefined: there is none.
 *
 * @param at ISO 8601, for people
 * @param timing for a claim that was made in a process of its own, whose record does not tell how long its outcome is kept
 */
export function decideHeld(
  seen: SeenRecord | undefined,
  claimId: string,
  action: HeldAction,
  at: string,
  timing: CallTiming,
): HeldDecision {
  if (seen === undefined) return { decision: "lost", current: undefined };
  const { record } = seen;
  if (record.claim_id !== claimId) return { decision: "lost", current: record };
  if (record.status !== "pending") {
    // A settled record keeps the id of the claim that settled it, and every claim settles once.
    const isRepeated =
      statusAfter(action, record) === record.status &&
      (action.action !== "complete" || holdsResult(record, action.result));
    return isRepeated ? { decision: "repeated", record } : { decision: "lost", current: record };
  }
  // The claim of a look-up is held by the process that asks, and by nobody who has read its id.
  if (record.phase !== "run") return { decision: "lost", current: record };
  if (action.action === "park" && record.fired_at !== null) return { decision: "fired_before" };
  const held = heldClaim(seen, claimId, timing);
  return { decision: "write", write: writeFor(held, action, at), held };
}

/** The claim, as its holder would have kept it in memory. */
function heldClaim({ record, revision }: SeenRecord, claimId: string, timing: CallTiming): HeldClaim {
  const { terms, hold } = record;
  return {
    claimId,
    record,
    timing: {
      pendingTtl: hold ?? timing.pendingTtl,
      completedTtl: terms?.completed_ttl ?? timing.completedTtl,
      failedTtl: terms?.failed_ttl ?? timing.failedTtl,
    },
    // Until the first renewal or mark the record has the revision that the claim gave it.
    fencingToken: record.fencing_token ?? revision,
  };
}

function writeFor(held: HeldClaim, action: HeldAction, at: string): RecordWrite {
  switch (action.action) {
    case "renew":
      return renew(held, at);
    case "fired":
      // Without marks the claim itself is the mark, and a mark that is there stays: what is left to do is to make sure of
      // the claim.
      return held.record.marks && held.record.fired_at === null ? markFired(held, at) : renew(held, at);
    case "complete":
      return complete(held, action.result, at);
    case "fail":
      return fail(held, action.error, at);
    case "release":
      return release(held, action.error);
    case "unknown":
      return unknown(held, action.error);
    case "park":
      return park(held, action.reason);
  }
}

/**
 * Whether a completed record holds that very result. Only then was it this request that completed it: an answer with another
 * result would tell the holder that its own is stored, and tell whoever has put its claim id there what it may not read.
 * Where the result was left out, there is nothing to compare and nothing to be told.
 */
function holdsResult({ result, result_ref: ref, result_omitted }: ToolCallRecord, given: StoredResult): boolean {
  switch (given.kind) {
    case "undefined":
      return result === undefined && ref === undefined && result_omitted === undefined;
    case "omitted":
      return result_omitted !== undefined;
    case "json":
    case "content":
      // The same result may lie in the record or beside it: that depends on how well the store answered at that time.
      if (result_omitted !== undefined) return true;
      return ref === undefined ? jsonEqual(result, given.value) : ref === jsonId(given.value);
  }
}

/** What the record is once the claim has ended that way; undefined: the claim goes on. */
function statusAfter({ action }: HeldAction, { policy }: ToolCallRecord): ToolCallRecord["status"] | undefined {
  switch (action) {
    case "complete":
      return "completed";
    case "fail":
      return "failed";
    case "release":
      return "released";
    case "unknown":
      return policy === "refire" ? "released" : "unknown";
    case "park":
      return "parked";
    case "renew":
    case "fired":
      return undefined;
  }
}
