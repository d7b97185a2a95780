import type { ErrorCode, OnceKvError } from "../src/base/errors.js";
import { encodeError } from "../src/tool-calls/error-codec.js";
import {
  CallInFlightError,
  CallParkedError,
  ClaimLostError,
  IdempotencyConflictError,
  NeedsReviewError,
  NothingToResolveError,
  ToolCallFailedError,
} from "../src/tool-calls/errors.js";
import type { StoredError, ToolCallRecord } from "../src/tool-calls/record.js";
import { callShape } from "./call-shape.js";

/** What an error of a tool call says besides its message: the members that the same error has in TypeScript. */
export interface CallProblem {
  readonly key: string;
  readonly tool?: string;
  readonly call_status?: string;
  readonly attempt?: number;
  readonly owner?: string | null;
  readonly original_called_at?: string;
  readonly bound_fingerprint?: string;
  readonly given_fingerprint?: string;
  readonly was_replay?: true;
  /** What the tool ended with, when it failed. */
  readonly error?: StoredError;
  /** The record that stands in the way. */
  readonly record?: ToolCallRecord;
  /** What stands there instead of the claim that was lost; null: nothing. Absent when that is not known. */
  readonly current?: ToolCallRecord | null;
  /** The record is left out, since the asker may not read it. */
  readonly current_omitted?: true;
}

/**
 * What an error says about the call; to who may not read records, only which call it is.
 *
 * @param mayRead whether the asker may see documents of a shape
 */
export function callProblem(error: OnceKvError, mayRead: (shape: string) => boolean): CallProblem | undefined {
  const told = toldOf(error);
  return told === undefined || mayRead(callShape) ? told : { key: told.key, current_omitted: true };
}

/**
 * Whether the message of an error is to be withheld: it tells of a record, its status, say, or a piece of a malformed one,
 * and the asker may not read it.
 */
export function withholdsMessage({ code }: OnceKvError, mayRead: (shape: string) => boolean): boolean {
  return recordCodes.has(code) && !mayRead(callShape);
}

/** Codes of errors that tell what is stored. */
const recordCodes: ReadonlySet<ErrorCode> = new Set([
  "idempotency_conflict",
  "call_in_flight",
  "call_parked",
  "needs_review",
  "claim_lost",
  "nothing_to_resolve",
  "tool_call_failed",
  "record_malformed",
]);

function toldOf(error: OnceKvError): CallProblem | undefined {
  if (error instanceof ClaimLostError) {
    const { key, current } = error;
    return current === undefined ? { key } : { key, current };
  }
  if (error instanceof CallInFlightError) {
    const { key, tool, call_status, attempt, owner } = error;
    return { key, tool, call_status, attempt, owner };
  }
  if (error instanceof IdempotencyConflictError) {
    const { key, tool, call_status, bound_fingerprint, given_fingerprint, original_called_at } = error;
    return { key, tool, call_status, bound_fingerprint, given_fingerprint, original_called_at };
  }
  if (error instanceof ToolCallFailedError) {
    const { key, tool, was_replay, original_called_at, attempt, cause } = error;
    return { key, tool, was_replay, original_called_at, attempt, error: encodeError(cause) };
  }
  if (error instanceof NeedsReviewError || error instanceof CallParkedError || error instanceof NothingToResolveError) {
    const { key, record } = error;
    return { key, tool: record.tool, call_status: record.status, attempt: record.attempt, record };
  }
  return undefined;
}
