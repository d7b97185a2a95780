import type { OnceKvError } from "../src/base/errors.js";
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

/** @param mayRead whether the asker may see documents of a shape */
export function callProblem(error: OnceKvError, mayRead: (shape: string) => boolean): CallProblem | undefined {
  if (error instanceof ClaimLostError) return lostClaim(error, mayRead);
  // The others answer requests that only readers may make.
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

function lostClaim({ key, current }: ClaimLostError, mayRead: (shape: string) => boolean): CallProblem {
  if (!mayRead(callShape)) return { key, current_omitted: true };
  return current === undefined ? { key } : { key, current };
}
