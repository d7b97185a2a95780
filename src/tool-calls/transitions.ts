import type { Condition, Fields, JsonValue } from "../documents/contract.js";
import {
  recordFormat,
  type SeenRecord,
  type StoredError,
  type ToolCallIdentity,
  type ToolCallRecord,
} from "./record.js";
import type {
  CallTiming,
  Claimant,
  HeldClaim,
  RecordPut,
  RecordWrite,
  Resolution,
  SentClaim,
  StoredResult,
  TransitionName,
  Verdict,
} from "./transition-types.js";

/*
 * Every write of a tool call's record, each with its condition, its content and its time to live. Nothing else in this
 * folder makes a write. There is no clock here, no store and no randomness: the same arguments give the same write.
 *
 * Two conditions do all the work. Who takes a record over writes on the revision that was read, so that of all who read
 * the same record one wins and the others decide anew. Who holds a claim writes while a pending record bears its claim id:
 * on the id alone a late renewal would shorten the life of a finished record, and a late result overwrite a newer one.
 */

/** Writes the call down before anybody works on it. */
export function plan(identity: ToolCallIdentity, extra?: Fields): RecordPut {
  const set: ToolCallRecord = { ...unclaimed(identity, 0, [], extra), status: "planned" };
  return { op: "put", transition: "plan", set, ttl: null, if_match: { exists: false } };
}

/** Claims a call that nobody has written down. */
export function claim(
  identity: ToolCallIdentity,
  claimant: Claimant,
  timing: CallTiming,
  extra: Fields | undefined,
): RecordPut {
  const set = pendingRun(unclaimed(identity, 0, [], extra), claimant, timing);
  return { op: "put", transition: "claim", set, ttl: pendingLife(set, timing), if_match: { exists: false } };
}

/** Claims a call that is written down and free. Its identity is the one it was written down with. */
export function claimAgain(
  seen: SeenRecord,
  claimant: Claimant,
  timing: CallTiming,
  extra: Fields | undefined,
): RecordPut {
  const { record } = seen;
  const lastError = record.error ?? record.last_error;
  const set = pendingRun(
    {
      ...unclaimed(identityOf(record), record.attempt, record.history, extra ?? record.extra),
      ...(lastError === undefined ? {} : { last_error: lastError }),
    },
    claimant,
    timing,
  );
  return {
    op: "put",
    transition: "claim_again",
    set,
    ttl: pendingLife(set, timing),
    if_match: { revision: seen.revision },
  };
}

/** Claims the right to find out what an earlier run did. The mark of that run stays as it is. */
export function lookUp(seen: SeenRecord, claimant: Claimant, timing: CallTiming): RecordPut {
  const set: ToolCallRecord = {
    ...seen.record,
    status: "pending",
    phase: "reconcile",
    claim_id: claimant.claimId,
    owner: claimant.owner,
    hold: timing.pendingTtl,
    renewed_at: null,
  };
  return { op: "put", transition: "look_up", set, ttl: null, if_match: { revision: seen.revision } };
}

/** Prolongs a claim by its hold. */
export function renew(held: HeldClaim, at: string): RecordWrite {
  return {
    op: "patch",
    transition: "renew",
    merge: { renewed_at: at, ...tokenOf(held) },
    ttl: pendingLife(held.record, held.timing),
    if_match: heldBy(held),
  };
}

/** Marks the moment before the effect. */
export function markFired(held: HeldClaim, at: string): RecordWrite {
  return { op: "patch", transition: "fired", merge: { fired_at: at, ...tokenOf(held) }, if_match: heldBy(held) };
}

export function complete(held: HeldClaim, result: StoredResult, at: string): RecordPut {
  const set: ToolCallRecord = {
    ...settled(held),
    status: "completed",
    fencing_token: held.fencingToken,
    completed_at: at,
    ...resultFields(result),
  };
  return { op: "put", transition: "complete", set, ttl: windowOf(held.record, held.timing), if_match: heldBy(held) };
}

/** The failure ends with the hold, not with the ttl: identity and attempt must outlive it. */
export function fail(held: HeldClaim, error: StoredError, at: string): RecordPut {
  const set: ToolCallRecord = {
    ...settled(held),
    status: "failed",
    fencing_token: held.fencingToken,
    completed_at: at,
    error,
    hold: held.timing.failedTtl,
  };
  return { op: "put", transition: "fail", set, ttl: windowOf(held.record, held.timing), if_match: heldBy(held) };
}

/** Certainly not done: the next caller may claim at once. The key stays bound to its arguments. */
export function release(held: HeldClaim, lastError: StoredError | null): RecordPut {
  return releaseAs("release", held, lastError);
}

/** Nobody knows whether it took effect: the record's policy says what that means. */
export function unknown(held: HeldClaim, error: StoredError): RecordPut {
  if (held.record.policy === "refire") return releaseAs("unknown", held, error);
  return doubtful("unknown", held, error);
}

/** Sets the call aside before its effect; never after the mark. */
export function park(held: HeldClaim, reason: JsonValue): RecordPut {
  const { claim_id, status } = heldFields(held);
  return {
    op: "put",
    transition: "park",
    set: { ...settled(held), status: "parked", reason },
    ttl: null,
    if_match: { fields: { claim_id, status, fired_at: null } },
  };
}

/** Records what the holder of a look-up found out. */
export function lookedUp(held: HeldClaim, verdict: Verdict, at: string): RecordPut {
  switch (verdict.kind) {
    case "done":
      return complete(held, verdict.result, at);
    case "failed":
      return fail(held, verdict.error, at);
    case "not_done":
      return releaseAs("release", held, null);
    case "unknown":
      return doubtful("unknown", held, verdict.error ?? held.record.error ?? held.record.last_error ?? null);
  }
}

/**
 * Takes back a claim that was not used: its answer never came, or the run ended before it fired. A look-up must leave the
 * doubt that it was made for.
 */
export function abandon(sent: SentClaim): RecordPut {
  if (sent.record.phase === "reconcile") {
    return doubtful("abandon", sent, sent.record.error ?? sent.record.last_error ?? null);
  }
  return releaseAs("abandon", sent, sent.record.last_error ?? null);
}

/** Ends a doubt by decree. A failure that was decreed is never over: whoever decreed it knows more than a clock. */
export function resolve(
  seen: SeenRecord,
  verdict: Exclude<Verdict, { kind: "unknown" }>,
  resolution: Resolution,
  timing: CallTiming,
): RecordPut {
  const { record } = seen;
  const { by, note, at, approved } = resolution;
  const about = { verdict: verdict.kind, status: record.status, fingerprint: record.fingerprint };
  const entry: Fields = { by, note, at, ...about, ...(approved === undefined ? {} : { approved }) };
  const base: ToolCallRecord = {
    ...unclaimed(identityOf(record), record.attempt, [...record.history, entry], record.extra),
    ...keptWindow(record),
    started_at: record.started_at,
    fired_at: record.fired_at,
  };
  return {
    op: "put",
    transition: "resolve",
    set: { ...base, ...verdictFields(verdict, at) },
    ttl: windowOf(record, timing),
    if_match: { revision: seen.revision },
  };
}

/** Deletes the record: the next call with its key is a new one. */
export function forget(seen: SeenRecord): RecordWrite {
  return { op: "delete", transition: "forget", if_match: { revision: seen.revision } };
}

function heldBy(sent: SentClaim): Condition {
  return { fields: heldFields(sent) };
}

function heldFields(sent: SentClaim): { claim_id: string; status: string } {
  return { claim_id: sent.claimId, status: "pending" };
}

/** The life of a pending record: under refire the lease and then the whole window, else until somebody decides. */
function pendingLife(record: ToolCallRecord, timing: CallTiming): number | null {
  return record.policy === "refire" ? timing.pendingTtl + timing.completedTtl : null;
}

/** The life of a settled record: a look-up or an operator may keep it for longer than its caller wanted, never for less. */
function windowOf(record: ToolCallRecord, timing: CallTiming): number {
  return Math.max(record.window ?? 0, timing.completedTtl);
}

function keptWindow({ window }: ToolCallRecord): { window?: number } {
  return window === undefined ? {} : { window };
}

function identityOf(record: ToolCallRecord): ToolCallIdentity {
  const { tool, key, fingerprint, intent, policy, marks } = record;
  return { tool, key, fingerprint, intent, policy, marks };
}

/** The parts that every put copies, with all else at nothing. */
function unclaimed(
  identity: ToolCallIdentity,
  attempt: number,
  history: readonly JsonValue[],
  extra: Fields | undefined,
): ToolCallRecord {
  return {
    format: recordFormat,
    ...identity,
    status: "planned",
    claim_id: null,
    phase: null,
    owner: null,
    attempt,
    hold: null,
    fencing_token: null,
    started_at: null,
    renewed_at: null,
    fired_at: null,
    completed_at: null,
    history: [...history],
    ...(extra === undefined ? {} : { extra }),
  };
}

/** A holder with nothing but its claim id must find its token again, after writes that move the record's revision. */
function tokenOf({ record, fencingToken }: HeldClaim): { fencing_token?: number } {
  return record.terms === undefined ? {} : { fencing_token: fencingToken };
}

function pendingRun(base: ToolCallRecord, claimant: Claimant, timing: CallTiming): ToolCallRecord {
  return {
    ...base,
    status: "pending",
    phase: "run",
    claim_id: claimant.claimId,
    owner: claimant.owner,
    attempt: base.attempt + 1,
    hold: timing.pendingTtl,
    window: timing.completedTtl,
    started_at: claimant.at,
    ...(claimant.terms === undefined ? {} : { terms: claimant.terms }),
  };
}

/** What stays of a claim when it ends: the claim id, too, by which its holder recognises its own write. */
function settled(sent: SentClaim): ToolCallRecord {
  const { record } = sent;
  return {
    ...unclaimed(identityOf(record), record.attempt, record.history, record.extra),
    claim_id: sent.claimId,
    owner: record.owner,
    ...keptWindow(record),
    started_at: record.started_at,
    fired_at: record.fired_at,
  };
}

function releaseAs(transition: TransitionName, sent: SentClaim, lastError: StoredError | null): RecordPut {
  const set: ToolCallRecord = {
    ...settled(sent),
    status: "released",
    ...(lastError === null ? {} : { last_error: lastError }),
  };
  return { op: "put", transition, set, ttl: windowOf(sent.record, sent.timing), if_match: heldBy(sent) };
}

function doubtful(transition: TransitionName, sent: SentClaim, error: StoredError | null): RecordPut {
  const set: ToolCallRecord = { ...settled(sent), status: "unknown", ...(error === null ? {} : { error }) };
  return { op: "put", transition, set, ttl: null, if_match: heldBy(sent) };
}

function verdictFields(verdict: Exclude<Verdict, { kind: "unknown" }>, at: string): Partial<ToolCallRecord> {
  switch (verdict.kind) {
    case "done":
      return { status: "completed", completed_at: at, ...resultFields(verdict.result) };
    case "failed":
      return { status: "failed", completed_at: at, error: verdict.error };
    case "not_done":
      return { status: "released" };
  }
}

function resultFields(result: StoredResult): Pick<ToolCallRecord, "result" | "result_ref" | "result_omitted"> {
  switch (result.kind) {
    case "json":
      return { result: result.value };
    case "undefined":
      return {};
    case "content":
      return { result_ref: result.id };
    case "omitted":
      return { result_omitted: result.reason };
  }
}
