import { InvalidRequestError } from "../base/errors.js";
import { shown } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";
import { callOnClient, callOnPool, type PostgresWork, type PreparedPostgresCall } from "./postgres-call.js";
import { isPool, type PostgresClient, type PostgresPool } from "./postgres-client.js";
import { type IsolationLevel, isolationLevels } from "./postgres-transaction.js";
import {
  checkWork,
  prepareTransactionCall,
  type TransactionCall,
  type TransactionOutcome,
  type TransactionRequest,
} from "./request.js";

/** A call in PostgreSQL. */
export interface PostgresRequest<A = unknown> extends TransactionRequest<A> {
  /**
   * How long to wait for another transaction that has the key, 30 when absent, at most 86400; 0 is not at all. One that
   * rolls back is followed by the next in line, which is waited for anew. The work's own waiting is not bounded by it.
   */
  readonly waitTimeout?: number | undefined;
  /** Of a transaction that is begun here; that of the connection when absent. */
  readonly isolationLevel?: IsolationLevel | undefined;
  /**
   * How often the whole is tried when the database rolls it back because of another transaction (serialization failures
   * and deadlocks), 5 when absent, at most 100. A part of the caller's own transaction is tried once.
   */
  readonly attempts?: number | undefined;
}

/** The connection that the work gets: one of the pool, or the client that was given. */
export type ClientOf<D> = D extends {
  readonly totalCount: number;
  connect: { (): Promise<infer C>; (callback: never): unknown };
}
  ? C
  : D extends { readonly totalCount: number; connect(): Promise<infer C> }
    ? C
    : D;

const defaults = { waitTimeout: 30, attempts: 5 } as const;
const attemptsMax = 100;

/**
 * Does the work of a call once: the row that remembers it commits with the rows that the work writes, or not at all. It
 * holds for what the work does in this database through the client it is given, and for nothing else that it does.
 *
 * Given a pool, it takes a connection and commits. Given a client, it begins and commits a transaction when none is open;
 * within one that its owner has begun it is a part of that: the call counts when the owner commits, and not before.
 *
 * Callers with the same key and arguments wait for the one who is first, and get what it got. When the work throws,
 * everything is rolled back, and the next caller does it. The work may be entered several times (`attempts`).
 *
 * @returns the stored result, JSON or undefined
 * @throws InvalidRequestError, TooLargeError, also when the result is not JSON or too large: nothing is committed then;
 * IdempotencyConflictError when the key was used with other arguments; CallInFlightError when another transaction has the
 * key for longer than `waitTimeout`; OutcomeUnknownError when the answer to the commit was lost; OnceKvError
 * `needs_review` when earlier work has ended its transaction itself; and what the work and the client throw
 */
export async function onceInTransaction<T, D extends PostgresPool | PostgresClient, A = unknown>(
  database: D,
  request: PostgresRequest<A>,
  work: (client: ClientOf<D>, call: TransactionCall) => Promise<T> | T,
): Promise<TransactionOutcome<T>> {
  checkDatabase(database);
  const call = preparePostgresCall(request);
  checkWork(work);
  // The type says which client the work gets; here it is the one that it is.
  const doWork = work as PostgresWork;
  const outcome = isPool(database)
    ? await callOnPool(database, call, doWork)
    : await callOnClient(database, call, doWork);
  return outcome as TransactionOutcome<T>;
}

function preparePostgresCall<A>(request: PostgresRequest<A>): PreparedPostgresCall {
  const call = prepareTransactionCall(request, ["isolationLevel", "attempts"]);
  const { isolationLevel, attempts = defaults.attempts } = request;
  if (isolationLevel !== undefined && !isolationLevels.includes(isolationLevel)) {
    const given = typeof isolationLevel === "string" ? JSON.stringify(isolationLevel) : kindOf(isolationLevel);
    throw new InvalidRequestError("isolationLevel", `must be one of ${isolationLevels.join(", ")}, not ${given}`);
  }
  if (!Number.isSafeInteger(attempts) || attempts < 1 || attempts > attemptsMax) {
    throw new InvalidRequestError("attempts", `must be an integer, 1 to ${attemptsMax}, not ${shown(attempts)}`);
  }
  return { ...call, waitMs: call.waitMs ?? defaults.waitTimeout * 1000, isolationLevel, attempts };
}

function checkDatabase(database: unknown): void {
  if (typeof database === "object" && database !== null && ("query" in database || "totalCount" in database)) return;
  throw new InvalidRequestError("database", `must be a pool or a client of PostgreSQL, not ${kindOf(database)}`);
}
