import type { SeenRecord } from "../../src/tool-calls/record.js";
import { living, type ModelWrite, type StoredDocument } from "./explorer-store.js";

/*
 * What must hold whatever happens, written down a second time and in other terms than the product's: the oracle sees
 * everything at once, the store's document, its time and who fired what, and asks no function of the product.
 */

/** Something happened that must never happen. */
export class Violation extends Error {}

/** What the oracle remembers. */
export interface Ghost {
  /** Claims under which the tool was entered. */
  readonly fired: readonly string[];
  /** Claims whose run ended without entering the tool. */
  readonly endedUnfired: readonly string[];
  /** The claim that was accepted last. */
  readonly latestClaim: string | null;
  /** The revision of that claim. */
  readonly latestToken: number;
  /** Until when the key is bound to its arguments, its attempt counted and its outcome remembered. */
  readonly boundUntil: number;
  /** The accepted completions: under which revision, for which arguments, with which result. */
  readonly completions: readonly { readonly revision: number; readonly args: string; readonly result: unknown }[];
}

export const noGhost: Ghost = {
  fired: [],
  endedUnfired: [],
  latestClaim: null,
  latestToken: 0,
  boundUntil: 0,
  completions: [],
};

export interface Times {
  readonly holdMs: number;
  readonly windowMs: number;
  readonly failedMs: number;
}

/** Judges an accepted write by what it found. */
export function judgeAccepted(
  ghost: Ghost,
  write: ModelWrite,
  before: StoredDocument | undefined,
  after: StoredDocument | undefined,
  now: number,
  times: Times,
): Ghost {
  const found = living(before, now)?.fields;
  const claimId = claimIdOf(write);
  switch (write.transition) {
    case "claim":
    case "claim_again": {
      const record = after?.fields;
      if (record === undefined || after === undefined) throw new Violation("a claim left no record");
      if (found === undefined) {
        if (now < ghost.boundUntil)
          throw new Violation("the record was gone within its window: binding and attempt are lost");
        if (record.attempt !== 1) throw new Violation("a first claim is not attempt 1");
      } else {
        judgeTakeover(ghost, found, before, now, times);
        if (found.fingerprint !== record.fingerprint) throw new Violation("other arguments claimed the key");
        if (record.attempt !== found.attempt + 1) throw new Violation("the attempt does not grow");
      }
      if (after.revision <= ghost.latestToken) throw new Violation("a fencing token did not grow");
      return {
        ...ghost,
        latestClaim: claimId,
        latestToken: after.revision,
        boundUntil: now + times.holdMs + times.windowMs,
      };
    }
    case "renew":
    case "fired":
      judgeHeld(write.transition, found, claimId);
      return { ...ghost, boundUntil: now + times.holdMs + times.windowMs };
    case "complete":
    case "fail":
    case "release":
    case "unknown":
    case "abandon": {
      judgeHeld(write.transition, found, claimId);
      return { ...ghost, completions: completionsWith(ghost, after), boundUntil: now + times.windowMs };
    }
    default:
      throw new Violation(`the transition ${write.transition} does not belong here`);
  }
}

function judgeTakeover(
  ghost: Ghost,
  found: StoredDocument["fields"],
  before: StoredDocument | undefined,
  now: number,
  times: Times,
): void {
  const age = now - (before?.updatedAt ?? 0);
  switch (found.status) {
    case "released":
      return;
    case "failed":
      if (age < times.failedMs) throw new Violation("a failure was retried before its time");
      return;
    case "pending":
      if (age >= times.holdMs || ghost.endedUnfired.includes(found.claim_id ?? "")) return;
      throw new Violation("a live claim was taken over");
    default:
      throw new Violation(`a ${found.status} record was claimed`);
  }
}

function judgeHeld(transition: string, found: StoredDocument["fields"] | undefined, claimId: string | null): void {
  if (found === undefined) throw new Violation(`a late ${transition} created a record`);
  if (found.claim_id !== claimId) throw new Violation(`a stale ${transition} was accepted in another's claim`);
  if (found.status !== "pending") throw new Violation(`a late ${transition} changed a settled record`);
}

/** The tool is entered: by the holder, in its claim's life, once. */
export function judgeFire(
  ghost: Ghost,
  claimId: string,
  document: StoredDocument | undefined,
  now: number,
  times: Times,
): Ghost {
  const found = living(document, now);
  if (ghost.fired.includes(claimId)) throw new Violation("two fires in one claim");
  if (found?.fields.claim_id !== claimId || found.fields.status !== "pending") {
    throw new Violation("a fire by somebody who does not hold the claim");
  }
  if (now - found.updatedAt >= times.holdMs) throw new Violation("a fire in a claim that had lapsed");
  return { ...ghost, fired: [...ghost.fired, claimId] };
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

/** A caller waits for the record as it is. */
export function judgeWait(
  ghost: Ghost,
  sent: readonly string[],
  abandoned: readonly string[],
  document: StoredDocument | undefined,
  now: number,
): void {
  const found = living(document, now)?.fields;
  if (found?.status !== "pending") return;
  const claimId = found.claim_id ?? "";
  if (sent.includes(claimId)) throw new Violation("a run waits for its own claim");
  if (abandoned.includes(claimId) && ghost.endedUnfired.includes(claimId)) {
    throw new Violation("a process waits for a claim that it gave up itself");
  }
}

/** A caller gets a stored result: the one that a completion of the same arguments has stored. */
export function judgeReplay(ghost: Ghost, args: string, seen: SeenRecord): void {
  const completion = ghost.completions.find((each) => each.revision === seen.revision);
  if (completion?.args !== args) throw new Violation("other arguments got a replay");
  if (completion.result !== seen.record.result) throw new Violation("the replay differs from what was completed");
}

/** The claim that a write of the product speaks for. */
function claimIdOf(write: ModelWrite): string | null {
  if (write.op === "put") return write.set.claim_id;
  const claimId = write.if_match.fields?.["claim_id"];
  return typeof claimId === "string" ? claimId : null;
}

function completionsWith(ghost: Ghost, after: StoredDocument | undefined): Ghost["completions"] {
  if (after?.fields.status !== "completed") return ghost.completions;
  const { fingerprint, result } = after.fields;
  return [...ghost.completions, { revision: after.revision, args: fingerprint, result }];
}
