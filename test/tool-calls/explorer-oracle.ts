import { type Ghost, type Times, unbound, Violation } from "./explorer-ghost.js";
import { living, type ModelWrite, type StoredDocument } from "./explorer-store.js";

/* What must hold of the writes that the store accepts and refuses, written down a second time and in other terms than the product's. */

type Found = StoredDocument["fields"];

/** Judges an accepted write by what it found. */
export function judgeAccepted(
  ghost: Ghost,
  write: ModelWrite,
  before: StoredDocument | undefined,
  after: StoredDocument | undefined,
  now: number,
  times: Times,
): Ghost {
  const document = living(before, now);
  const found = document?.fields;
  const claimId = claimIdOf(write);
  switch (write.transition) {
    case "plan":
      if (found !== undefined) throw new Violation("a plan was written over a record");
      return bound(judgeAbsent(ghost, now), after, now, times);
    case "claim":
    case "claim_again":
      return bound(judgeClaim(ghost, claimId, document, after, now, times), after, now, times);
    case "look_up":
      return bound(judgeLookUp(ghost, document, after, now, times), after, now, times);
    case "renew":
      judgeHeld(write.transition, found, claimId);
      return bound(ghost, after, now, times);
    case "fired":
      judgeHeld(write.transition, found, claimId);
      return found?.policy === "refire" ? ghost : { ...ghost, open: withOne(ghost.open, claimId) };
    case "complete":
    case "fail":
    case "release":
    case "unknown":
    case "park":
    case "abandon": {
      judgeHeld(write.transition, found, claimId);
      return bound(withEnd(ghost, write, claimId, found, after), after, now, times);
    }
    case "resolve":
      judgeFree(write.transition, document, now, times);
      return bound(withDecree(ghost, write, after), after, now, times);
    case "forget":
      judgeFree(write.transition, document, now, times);
      return { ...unbound(ghost), boundUntil: now };
  }
}

/** The end of a claim by its holder: of a run, or of a look-up that speaks about earlier runs. */
function withEnd(
  ghost: Ghost,
  write: ModelWrite,
  claimId: string | null,
  found: Found | undefined,
  after: StoredDocument | undefined,
): Ghost {
  const asked = found?.phase === "reconcile";
  const settled: Ghost = { ...ghost, completions: completionsWith(ghost, after) };
  switch (write.transition) {
    case "fail":
    case "release":
      return withoutDoubt(settled, asked ? undefined : claimId, write);
    case "park":
    case "abandon":
      return asked ? settled : withoutDoubt(settled, claimId, write);
    default:
      return settled;
  }
}

/**
 * "Certainly not done" ends the doubt about claims that indeed have had no effect; undefined: about all. A hasty word ends
 * it, too: that is its price.
 */
function withoutDoubt(ghost: Ghost, claimId: string | null | undefined, write: ModelWrite): Ghost {
  if (write.hasty === true) return { ...ghost, open: [], hasty: ghost.hasty + 1 };
  const open = ghost.open.filter((each) => ghost.effects.includes(each) || (claimId !== undefined && each !== claimId));
  return { ...ghost, open };
}

function withDecree(ghost: Ghost, write: ModelWrite, after: StoredDocument | undefined): Ghost {
  const next: Ghost = { ...ghost, latestClaim: null, completions: completionsWith(ghost, after) };
  switch (after?.fields.status) {
    case "released":
      return withoutDoubt(next, undefined, write);
    case "failed":
      return { ...next, decreed: true };
    default:
      return next;
  }
}

function judgeClaim(
  ghost: Ghost,
  claimId: string | null,
  before: StoredDocument | undefined,
  after: StoredDocument | undefined,
  now: number,
  times: Times,
): Ghost {
  if (after === undefined) throw new Violation("a claim left no record");
  const record = after.fields;
  const earlier = before === undefined ? judgeAbsent(ghost, now) : ghost;
  if (before === undefined) {
    if (record.attempt !== 1) throw new Violation("a first claim is not attempt 1");
  } else {
    judgeTakeover(ghost, before, now, times);
    const found = before.fields;
    if (found.fingerprint !== record.fingerprint) throw new Violation("other arguments claimed the key");
    if (found.policy !== record.policy || found.marks !== record.marks) {
      throw new Violation("a claim changed what the call was written down with");
    }
    if (record.attempt !== found.attempt + 1) throw new Violation("the attempt does not grow");
  }
  if (after.revision <= ghost.latestToken) throw new Violation("a fencing token did not grow");
  return {
    ...earlier,
    latestClaim: claimId,
    latestToken: after.revision,
    claims: record.policy === "refire" ? earlier.claims : withOne(earlier.claims, claimId),
  };
}

function judgeAbsent(ghost: Ghost, now: number): Ghost {
  if (now < ghost.boundUntil) {
    throw new Violation("the record was gone within its window: binding and attempt are lost");
  }
  return unbound(ghost);
}

function judgeTakeover(ghost: Ghost, { fields: found, updatedAt }: StoredDocument, now: number, times: Times): void {
  const age = now - updatedAt;
  switch (found.status) {
    case "planned":
    case "parked":
    case "released":
      return;
    case "failed":
      if (ghost.decreed) throw new Violation("a failure that was decreed was over");
      if (age < times.failedMs) throw new Violation("a failure was retried before its time");
      return;
    case "pending": {
      if (found.phase === "reconcile") throw new Violation("a run claimed what is being asked about");
      if (ghost.endedUnfired.includes(found.claim_id ?? "")) return;
      if (age < times.holdMs) throw new Violation("a live claim was taken over");
      if (!freeByLapse(found)) throw new Violation("a claim that lapsed in doubt was taken over");
      return;
    }
    default:
      throw new Violation(`a ${found.status} record was claimed`);
  }
}

function judgeLookUp(
  ghost: Ghost,
  before: StoredDocument | undefined,
  after: StoredDocument | undefined,
  now: number,
  times: Times,
): Ghost {
  const found = before?.fields;
  if (before === undefined || found === undefined) throw new Violation("a look-up created a record");
  if (found.policy !== "reconcile") throw new Violation("a look-up of a call that another policy is for");
  if (found.status === "pending") {
    const given = found.phase === "reconcile" && ghost.endedUnfired.includes(found.claim_id ?? "");
    if (now - before.updatedAt < times.holdMs && !given) throw new Violation("a look-up took a live claim over");
  } else if (found.status !== "unknown") throw new Violation(`a look-up of a ${found.status} record`);
  if (after?.fields.fired_at !== found.fired_at) throw new Violation("a look-up changed the mark");
  if (after.fields.attempt !== found.attempt) throw new Violation("a look-up counted as an attempt");
  return { ...ghost, latestClaim: null };
}

/** Nobody may be working under the record. */
function judgeFree(transition: string, before: StoredDocument | undefined, now: number, times: Times): void {
  const found = before?.fields;
  if (before === undefined || found === undefined) throw new Violation(`a ${transition} of nothing was accepted`);
  if (found.status === "pending" && found.phase === "run" && now - before.updatedAt < times.holdMs) {
    throw new Violation(`a ${transition} hit a live claim`);
  }
  const doubtful = ["pending", "unknown", "parked"].includes(found.status);
  if (transition === "resolve" && !doubtful) throw new Violation(`a ${found.status} record was resolved`);
}

function judgeHeld(transition: string, found: Found | undefined, claimId: string | null): void {
  if (found === undefined) throw new Violation(`a late ${transition} created a record`);
  if (found.claim_id !== claimId) throw new Violation(`a stale ${transition} was accepted in another's claim`);
  if (found.status !== "pending") throw new Violation(`a late ${transition} changed a settled record`);
}

/** Judges an outcome that the store refuses: somebody else's claim must have come, or the end of the window. */
export function judgeRefused(ghost: Ghost, write: ModelWrite, found: StoredDocument | undefined, now: number): void {
  if (!["complete", "fail", "release", "unknown"].includes(write.transition)) return;
  const claimId = claimIdOf(write);
  const hasArrived = found?.fields.claim_id === claimId && found?.fields.status !== "pending";
  if (!hasArrived && ghost.latestClaim === claimId && now < ghost.boundUntil) {
    throw new Violation("a known outcome was refused though nobody had taken over");
  }
}

/** Whether the lapse of this claim says by itself that nobody needs to ask. */
function freeByLapse(found: Found): boolean {
  return found.policy === "refire" || (found.marks && found.fired_at === null);
}

/** How long the key is bound now: while a doubt or a plan stands, for ever. */
function bound(ghost: Ghost, after: StoredDocument | undefined, now: number, times: Times): Ghost {
  return { ...ghost, boundUntil: now + lifeOf(after?.fields, times) };
}

function lifeOf(record: Found | undefined, { holdMs, windowMs }: Times): number {
  switch (record?.status) {
    case "planned":
    case "parked":
    case "unknown":
      return Number.POSITIVE_INFINITY;
    case "pending":
      return record.policy === "refire" ? holdMs + windowMs : Number.POSITIVE_INFINITY;
    default:
      return windowMs;
  }
}

/** The claim that a write of the product speaks for. */
function claimIdOf(write: ModelWrite): string | null {
  if (write.op === "put") return write.set.claim_id;
  const claimId = write.if_match.fields?.["claim_id"];
  return typeof claimId === "string" ? claimId : null;
}

function withOne(claims: readonly string[], claimId: string | null): readonly string[] {
  return claimId === null || claims.includes(claimId) ? claims : [...claims, claimId];
}

function completionsWith(ghost: Ghost, after: StoredDocument | undefined): Ghost["completions"] {
  if (after?.fields.status !== "completed") return ghost.completions;
  const { fingerprint, result } = after.fields;
  return [...ghost.completions, { revision: after.revision, args: fingerprint, result }];
}
