import { InvalidRequestError } from "../base/errors.js";
import { kindOf } from "../documents/value-kind.js";

/*
 * What is used of a database of better-sqlite3, which does everything before it returns.
 */

/** One connection to a file. */
export interface SqliteDatabase {
  readonly inTransaction: boolean;
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/** A statement; the values are bound to its `?`. */
export interface SqliteStatement {
  get(...values: unknown[]): unknown;
  run(...values: unknown[]): { readonly changes: number | bigint };
}

/** @throws InvalidRequestError */
export function checkSqliteDatabase(database: unknown): void {
  const fits =
    typeof database === "object" &&
    database !== null &&
    "inTransaction" in database &&
    typeof database.inTransaction === "boolean" &&
    "prepare" in database &&
    typeof database.prepare === "function";
  if (!fits) {
    throw new InvalidRequestError("database", `must be a database of better-sqlite3, not ${kindOf(database)}`);
  }
}

/**
 * Whether somebody else has the file, and waiting for it has taken too long. `SQLITE_BUSY_SNAPSHOT` is not that: it says
 * that a transaction has read what is no longer so, and no waiting helps.
 */
export function isBusy(thrown: unknown): boolean {
  if (!(thrown instanceof Error && "code" in thrown)) return false;
  return thrown.code === "SQLITE_BUSY" || thrown.code === "SQLITE_BUSY_RECOVERY";
}
