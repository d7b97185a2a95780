import type { SeenRecord, ToolCallIdentity, ToolCallRecord } from "../../src/tool-calls/record.js";
import type { CallTiming, Claimant, HeldClaim } from "../../src/tool-calls/transition-types.js";
import { claim } from "../../src/tool-calls/transitions.js";

/* Records, claims and identities for tests of the pure decisions. */

export const timing: CallTiming = { pendingTtl: 300, completedTtl: 3600, failedTtl: 200 };
export const at = "2026-01-01T00:00:00.000Z";
export const claimant: Claimant = { claimId: "C", owner: "worker", at };
export const error = { name: "Error", message: "no" };

export function identity(changes: Partial<ToolCallIdentity> = {}): ToolCallIdentity {
  return { tool: "t", key: "t:k", fingerprint: "f", intent: { a: 1 }, policy: "refire", marks: false, ...changes };
}

export function held(changes: Partial<ToolCallRecord> = {}): HeldClaim {
  const record = { ...claim(identity(), claimant, timing, undefined).set, ...changes };
  return { claimId: "C", record, fencingToken: 7, timing };
}

/** A record that was written so many seconds before it was read. */
export function seen(changes: Partial<ToolCallRecord>, ageSeconds = 0): SeenRecord {
  const updatedAt = Date.parse(at);
  const record = { ...held().record, claim_id: "other", ...changes };
  return { record, revision: 41, updatedAt, asOf: updatedAt + ageSeconds * 1000 };
}
