import { InvalidRequestError } from "../base/errors.js";
import {
  checkWork,
  type PreparedTransactionCall,
  prepareTransactionCall,
  type TransactionCall,
  type TransactionOutcome,
  type TransactionRequest,
} from "./request.js";
import { checkSqliteDatabase, isBusy, type SqliteDatabase } from "./sqlite-database.js";
import { claimSqliteRow, completeSqliteRow } from "./sqlite-row.js";
import { together, withBusyTimeout } from "./sqlite-transaction.js";
import { encodeResult, inFlight, replayOf } from "./stored-call.js";
import { Turn } from "./turn.js";

/** A call in SQLite. */
export interface SqliteRequest<A = unknown> extends TransactionRequest<A> {
  /**
   * How long to wait for whoever else writes to the file, 0 to 86400; as long as the connection does anyway when absent.
   * The process stands still meanwhile.
   */
  readonly waitTimeout?: number | undefined;
}

/**
 * Does the work of a call once: the row that remembers it commits with the rows that the work writes, or not at all. It
 * holds for what the work does in this database, and for nothing else that it does.
 *
 * It begins and commits a transaction when none is open. Within an open one it is a part of that: the call counts when
 * the owner commits, and not before; where that has read before others wrote, SQLite refuses every write in it with
 * `SQLITE_BUSY_SNAPSHOT`, and its owner must begin anew. The work must not be async: when it returns, all of it is done.
 *
 * @returns the stored result, JSON or undefined
 * @throws InvalidRequestError, TooLargeError, also when the result is a promise, not JSON or too large: nothing is
 * committed then; IdempotencyConflictError when the key was used with other arguments; CallInFlightError when somebody
 * else has the file for longer than the connection waits, with SQLite's own error as the cause; OnceKvError
 * `needs_review` when earlier work has ended its transaction itself; and what the work and the database throw
 */
export function onceInTransactionSync<T, D extends SqliteDatabase, A = unknown>(
  database: D,
  request: SqliteRequest<A>,
  work: (database: D, call: TransactionCall) => T,
): TransactionOutcome<T> {
  checkSqliteDatabase(database);
  const call = prepareTransactionCall(request, []);
  checkWork(work);
  refuseAsync(work);
  const turn = Turn.begin(database, `${call.table} ${call.key}`);
  let inWork = false;
  const doWork = (told: TransactionCall): T => {
    inWork = true;
    const returned = work(database, told);
    inWork = false;
    return returned;
  };
  try {
    const outcome = withBusyTimeout(database, call.waitMs, () =>
      together(database, () => callOnce(database, turn, call, doWork)),
    );
    return outcome as TransactionOutcome<T>;
  } catch (error) {
    // What the work was kept waiting by may be another file.
    throw isBusy(error) && !inWork ? inFlight(call, { cause: error }) : error;
  } finally {
    turn.end();
  }
}

function callOnce(
  database: SqliteDatabase,
  turn: Turn,
  call: PreparedTransactionCall,
  work: (told: TransactionCall) => unknown,
): { readonly keep: boolean; readonly value: TransactionOutcome<unknown> } {
  const { key } = call;
  const claim = claimSqliteRow(database, call);
  if ("found" in claim) return { keep: false, value: replayOf(claim.found, call, turn.isWithinItself) };
  const returned = turn.run(() => work({ key, attempt: 1 }));
  refusePromise(returned);
  const { text, value } = encodeResult(returned);
  completeSqliteRow(database, call, text);
  return { keep: true, value: { result: value, was_replay: false, original_called_at: claim.called_at, key } };
}

/** Before it is entered: the rest of an async function would run when the transaction is over. */
function refuseAsync(work: unknown): void {
  if (Object.prototype.toString.call(work) === "[object AsyncFunction]") throw asyncWork("is an async function");
}

function refusePromise(returned: unknown): void {
  if (typeof returned !== "object" || returned === null || !("then" in returned)) return;
  if (typeof returned.then !== "function") return;
  // Nobody else waits for it, and a rejection that nobody waits for ends the process.
  Promise.resolve(returned).catch(() => {});
  throw asyncWork("returned a promise");
}

function asyncWork(what: string): InvalidRequestError {
  return new InvalidRequestError(
    "work",
    `${what}, but SQLite's transaction is over when the work returns: nothing was committed; do it without awaiting`,
  );
}
