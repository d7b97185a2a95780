/*
 * What an error of PostgreSQL means for the transaction that met it. Errors of the server carry an SQLSTATE, five
 * characters of which the first two are a class; errors of the connection carry none, or one of Node's ("ECONNRESET").
 */

/** A savepoint is asked for where there is no transaction. */
export const noActiveTransaction = "25P01";

/** A lock was not got within `lock_timeout`. */
export const lockNotAvailable = "55P03";

/** The savepoint is gone: whoever shares the connection has ended the transaction, or rolled back behind it. */
export const noSuchSavepoint = "3B001";

const serializationFailure = "40001";
const deadlockDetected = "40P01";

/** Errors in a chain of causes that are looked at: whoever maps errors of a database keeps the original as a cause. */
const causesMax = 5;

/** The SQLSTATE of what was thrown; undefined when it has none. */
export function sqlStateOf(thrown: unknown): string | undefined {
  if (typeof thrown !== "object" || thrown === null || !("code" in thrown)) return undefined;
  const { code } = thrown;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/**
 * Whether the transaction was the victim of another one: it is rolled back for sure, and the same once more, from its
 * beginning, may well succeed.
 */
export function lostToAnother(thrown: unknown): boolean {
  let error = thrown;
  for (let depth = 0; depth < causesMax && typeof error === "object" && error !== null; depth++) {
    const state = sqlStateOf(error);
    if (state === serializationFailure || state === deadlockDetected) return true;
    error = "cause" in error ? error.cause : undefined;
  }
  return false;
}

/**
 * Whether a commit that was answered with this error has certainly not happened. The server answers with an error when it
 * has rolled back. When it is shut down, out of resources or damaged, or when the connection broke, it may have committed
 * before.
 */
export function surelyNotCommitted(thrown: unknown): boolean {
  const state = sqlStateOf(thrown);
  return state !== undefined && !doubtful.test(state);
}

/** Classes of connection, resources, the operator, the system, configuration and internal errors; and the code for "unknown". */
const doubtful = /^(?:08|53|57|58|F0|XX|40003)/;
