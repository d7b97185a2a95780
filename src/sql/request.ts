import { InvalidRequestError } from "../base/errors.js";
import { defaultLimits } from "../base/limits.js";
import { readMembers } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";
import { checkSeconds } from "../tool-calls/options.js";
import { nameCall, type ToolCallName } from "../tool-calls/request.js";
import { defaultTable, quoteTable } from "./table.js";

/** One call whose work and whose record are one transaction. Times are in seconds, fractions allowed. */
export interface TransactionRequest<A = unknown> extends ToolCallName<A> {
  /** The window, 3600 when absent: how long a call is remembered, and replayed, after it was done. By the database's clock. */
  readonly completedTtl?: number | undefined;
  /** The table of calls, `oncekv_calls` when absent; `schema.table` will do. `createTableSql` creates it. */
  readonly table?: string | undefined;
}

/** What a call came to. The first caller and every later one get the same result: the stored one. */
export interface TransactionOutcome<T> {
  readonly result: T;
  /** Whether an earlier call had this result and the work was not entered now. */
  readonly was_replay: boolean;
  /** When the call that had the result began: ISO 8601, UTC, by the database's clock. */
  readonly original_called_at: string;
  /** The whole key, which names the row. */
  readonly key: string;
}

/** What the work is told about its call. */
export interface TransactionCall {
  /** The whole key. */
  readonly key: string;
  /** How often the work was entered for this caller; above 1 the transactions before were rolled back. */
  readonly attempt: number;
}

/** A request that was judged. */
export interface PreparedTransactionCall {
  readonly tool: string;
  readonly key: string;
  readonly fingerprint: string;
  /** Seconds. */
  readonly completedTtl: number;
  /** Milliseconds to wait for others, at least 1; undefined: not said. */
  readonly waitMs: number | undefined;
  /** Quoted. */
  readonly table: string;
}

/** The window of a call that names none, as that of `toolCalls`. */
const defaultCompletedTtl = 3600;

/** Seconds. Longer than a day nobody waits for a lock, and PostgreSQL counts its milliseconds in 31 bits. */
const waitSecondsMax = 86_400;

const commonMembers = ["tool", "args", "key", "scope", "completedTtl", "waitTimeout", "table"] as const;

/**
 * @param ownMembers of the request, which the caller judges itself
 * @throws InvalidRequestError, TooLargeError, and what `key` throws
 */
export function prepareTransactionCall<A>(
  request: TransactionRequest<A> & { readonly waitTimeout?: number | undefined },
  ownMembers: readonly string[],
): PreparedTransactionCall {
  readMembers(request, "", "the call", new Set([...commonMembers, ...ownMembers]));
  const {
    tool,
    args,
    key: given,
    scope,
    completedTtl = defaultCompletedTtl,
    waitTimeout,
    table = defaultTable,
  } = request;
  const { key, fingerprint } = nameCall({ tool, args, key: given, scope }, defaultLimits);
  refuseNul({ tool, scope, key });
  return {
    tool,
    key,
    fingerprint,
    completedTtl: checkSeconds(completedTtl, "completedTtl", defaultLimits),
    waitMs: waitTimeout === undefined ? undefined : checkWait(waitTimeout),
    table: quoteTable(table),
  };
}

/** Judges the function that does the work. @throws InvalidRequestError */
export function checkWork(work: unknown): void {
  if (typeof work !== "function") throw new InvalidRequestError("work", `must be a function, not ${kindOf(work)}`);
}

/** PostgreSQL has no text with U+0000. SQLite has, but one call must not mean two things in two databases. */
function refuseNul(parts: { readonly [name: string]: string | undefined }): void {
  for (const [name, part] of Object.entries(parts)) {
    if (part?.includes("\0"))
      throw new InvalidRequestError(name, "must not contain U+0000, which no text of PostgreSQL can");
  }
}

/** Databases take 0 for "for ever", so that not waiting at all is the shortest wait. */
function checkWait(value: unknown): number {
  if (typeof value === "number" && value >= 0 && value <= waitSecondsMax) return Math.max(1, Math.ceil(value * 1000));
  const shown = typeof value === "number" ? String(value) : kindOf(value);
  throw new InvalidRequestError("waitTimeout", `must be a number of seconds, 0 to ${waitSecondsMax}, not ${shown}`);
}
