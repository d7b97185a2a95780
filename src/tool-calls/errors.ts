import { OnceKvError } from "../base/errors.js";
import { messageOf, reviveError } from "./error-codec.js";
import type { SeenRecord, ToolCallRecord, ToolCallStatus } from "./record.js";
import { type CallTimes, calledAt } from "./result.js";

/** What is told of a call whose key is bound to other arguments; a row of a database has as much. */
type BoundCall = CallTimes & Pick<ToolCallRecord, "key" | "tool" | "status" | "fingerprint">;

/** What is told of a call that somebody else is at work on. */
type BusyCall = Pick<ToolCallRecord, "key" | "tool" | "status" | "attempt" | "owner">;

/**
 * The key is bound to other arguments. It is a fault of the caller: nothing was fired, nothing is replayed, and trying
 * once more with yet other arguments will not help. Status 422.
 */
export class IdempotencyConflictError extends OnceKvError {
  readonly key: string;
  readonly tool: string;
  /** The status of the record that has the key. */
  readonly call_status: ToolCallStatus;
  /** sha256 of the arguments that the key is bound to, and of those that were given now. */
  readonly bound_fingerprint: string;
  readonly given_fingerprint: string;
  readonly original_called_at: string;

  constructor(seen: { readonly record: BoundCall }, givenFingerprint: string) {
    const { record } = seen;
    super(
      "idempotency_conflict",
      `${called(record)} was called before under the same key with other arguments; do not call again with yet others`,
    );
    this.key = record.key;
    this.tool = record.tool;
    this.call_status = record.status;
    this.bound_fingerprint = record.fingerprint;
    this.given_fingerprint = givenFingerprint;
    this.original_called_at = calledAt(record);
  }
}

/** Somebody else is at work on the call, or it waits to be begun. Status 409, with `retryAfter` when that is known. */
export class CallInFlightError extends OnceKvError {
  readonly key: string;
  readonly tool: string;
  readonly call_status: ToolCallStatus;
  readonly attempt: number;
  readonly owner: string | null;

  /** @param holdLeftMs milliseconds until the claim lapses by itself; null: it does not, or that is not known */
  constructor(seen: { readonly record: BusyCall }, holdLeftMs: number | null, details: { cause?: unknown } = {}) {
    const { record } = seen;
    const state = record.status === "pending" ? "is still running" : `is ${record.status}`;
    super("call_in_flight", `${called(record)} ${state}`, {
      ...details,
      ...(holdLeftMs === null ? {} : { retryAfter: holdLeftMs / 1000 }),
    });
    this.key = record.key;
    this.tool = record.tool;
    this.call_status = record.status;
    this.attempt = record.attempt;
    this.owner = record.owner;
  }
}

/** An earlier run may have had its effect, and the record's policy lets nobody fire until that is resolved. Status 409. */
export class NeedsReviewError extends OnceKvError {
  readonly key: string;
  readonly tool: string;
  readonly record: ToolCallRecord;

  constructor(seen: SeenRecord) {
    const { record } = seen;
    super(
      "needs_review",
      `whether ${called(record)} took effect is not known; find out and resolve it, do not call again`,
      record.error === undefined ? {} : { cause: reviveError(record.error) },
    );
    this.key = record.key;
    this.tool = record.tool;
    this.record = record;
  }
}

/** The call was set aside before its effect; the next `run` resumes it. Status 409. */
export class CallParkedError extends OnceKvError {
  readonly key: string;
  readonly tool: string;
  readonly record: ToolCallRecord;

  constructor(record: ToolCallRecord) {
    super("call_parked", `${called(record)} is parked`);
    this.key = record.key;
    this.tool = record.tool;
    this.record = record;
  }
}

/**
 * The claim is not held any more: what its holder did is not recorded, and what stands in the record counts instead.
 * Status 409. As the reason of an aborted `signal` it may also say that the claim could not be prolonged in time.
 */
export class ClaimLostError extends OnceKvError {
  readonly key: string;
  /** The record as it is now; null: there is none; undefined: not known. */
  readonly current: ToolCallRecord | null | undefined;

  constructor(
    key: string,
    reason: string,
    current: ToolCallRecord | null | undefined,
    details: { cause?: unknown } = {},
  ) {
    super("claim_lost", `the claim on ${JSON.stringify(key)} is lost: ${reason}`, details);
    this.key = key;
    this.current = current;
  }
}

/** A claim that was refused, and what stands in the record instead. */
export function claimTaken(
  key: string,
  current: ToolCallRecord | undefined,
  details: { cause?: unknown } = {},
): ClaimLostError {
  const reason =
    current === undefined ? "the record is gone" : `the record is ${current.status}, attempt ${current.attempt}`;
  return new ClaimLostError(key, reason, current ?? null, details);
}

/** The call has failed before, definitely and without effect. `cause` is an error like the tool's own. Status 424. */
export class ToolCallFailedError extends OnceKvError {
  readonly key: string;
  readonly tool: string;
  readonly was_replay = true;
  readonly original_called_at: string;
  readonly attempt: number;

  /** @param holdLeftMs milliseconds until the call may be tried again; null: never within its window */
  constructor(seen: SeenRecord, holdLeftMs: number | null) {
    const { record } = seen;
    const stored = record.error ?? {};
    super("tool_call_failed", `${called(record)} has failed: ${messageOf(stored)}`, {
      cause: reviveError(stored),
      ...(holdLeftMs === null ? {} : { retryAfter: holdLeftMs / 1000 }),
    });
    this.key = record.key;
    this.tool = record.tool;
    this.original_called_at = calledAt(record);
    this.attempt = record.attempt;
  }
}

/** The record says for sure what became of the call: there is nothing to resolve. Status 409. */
export class NothingToResolveError extends OnceKvError {
  readonly key: string;
  readonly record: ToolCallRecord;

  constructor(record: ToolCallRecord) {
    super("nothing_to_resolve", `${called(record)} is ${record.status}: there is nothing to resolve`);
    this.key = record.key;
    this.record = record;
  }
}

function called(record: Pick<ToolCallRecord, "key">): string {
  return `the call ${JSON.stringify(record.key)}`;
}
