import { InvalidRequestError, OnceKvError, TooLargeError } from "../base/errors.js";
import { defaultLimits } from "../base/limits.js";
import { checkJson } from "../documents/json-value.js";
import { CallInFlightError, IdempotencyConflictError } from "../tool-calls/errors.js";
import type { PreparedTransactionCall, TransactionOutcome } from "./request.js";

/** The row of a call, as a caller finds it. */
export interface StoredCall {
  readonly fingerprint: string;
  /** By the database's clock. An incomplete row is seen by others only when its work has ended the transaction itself. */
  readonly state: "incomplete" | "completed" | "expired";
  /** ISO 8601, UTC. */
  readonly called_at: string;
  /** JSON text; null: the work returned undefined. */
  readonly result: string | null;
}

/** A result as its row will hold it, and as the first caller gets it: read back from that very text. */
export interface EncodedResult {
  readonly text: string | null;
  readonly value: unknown;
}

/**
 * @throws InvalidRequestError when the result is not JSON, TooLargeError when it is larger than a document's fields may be
 */
export function encodeResult(result: unknown): EncodedResult {
  if (result === undefined) return { text: null, value: undefined };
  const text = JSON.stringify(checkJson(result, "result", defaultLimits));
  const bytes = Buffer.byteLength(text, "utf8");
  if (bytes > defaultLimits.fieldsBytesMax) {
    throw new TooLargeError("result", `has ${bytes} bytes of JSON, more than ${defaultLimits.fieldsBytesMax}`);
  }
  return { text, value: JSON.parse(text) };
}

/**
 * What a row that counts says to a caller.
 *
 * @param runsHere whether the call runs right now in this very transaction
 * @throws IdempotencyConflictError for other arguments, before anything else; CallInFlightError for a call within itself;
 * OnceKvError `needs_review` for a row without its result
 */
export function replayOf(
  stored: StoredCall,
  call: PreparedTransactionCall,
  runsHere: boolean,
): TransactionOutcome<unknown> {
  const { key, tool, fingerprint } = call;
  if (stored.fingerprint !== fingerprint) {
    const status = stored.state === "incomplete" ? "pending" : "completed";
    const bound = { key, tool, status, fingerprint: stored.fingerprint, started_at: stored.called_at } as const;
    throw new IdempotencyConflictError({ record: { ...bound, completed_at: null } }, fingerprint);
  }
  if (stored.state === "incomplete") throw runsHere ? inFlight(call) : halfDone(key);
  return {
    result: stored.result === null ? undefined : parseResult(stored.result, key),
    was_replay: true,
    original_called_at: stored.called_at,
    key,
  };
}

/** Somebody else's transaction has the key, and nothing of it can be seen from here but that. */
export function inFlight(call: PreparedTransactionCall, details: { cause?: unknown } = {}): CallInFlightError {
  const { key, tool } = call;
  return new CallInFlightError({ record: { key, tool, status: "pending", attempt: 1, owner: null } }, null, details);
}

/** The work did what only the transaction's owner may do. */
export function endedByWork(details: { cause?: unknown } = {}): InvalidRequestError {
  return new InvalidRequestError(
    "work",
    "must not end the transaction that it runs in: what it did may stand without the record of the call",
    details,
  );
}

function halfDone(key: string): OnceKvError {
  return new OnceKvError(
    "needs_review",
    `the work of the call ${JSON.stringify(key)} has ended its transaction itself, so that its row is without a result: find out what was done, then delete or complete the row`,
  );
}

function parseResult(text: string, key: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new OnceKvError("record_malformed", `the result of the call ${JSON.stringify(key)} is not JSON`, {
      cause: error,
    });
  }
}
