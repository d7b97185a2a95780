import { OnceKvError } from "../base/errors.js";
import type { SqliteDatabase } from "./sqlite-database.js";
import { endedByWork } from "./stored-call.js";

/** The latest savepoint of a name is meant, so that calls within calls need no names of their own. */
const savepoint = "oncekv_call";

/**
 * Runs a section that is done together or not at all: in a transaction of its own when none is open, else as a part of
 * the open one. A transaction of its own is a writing one from its beginning, so that nobody else writes in between.
 *
 * @param section what is done; returning `keep: false` rolls it back all the same
 * @throws what the section and the database throw, after it was rolled back
 */
export function together<R>(database: SqliteDatabase, section: () => { readonly keep: boolean; readonly value: R }): R {
  const isOwn = !database.inTransaction;
  if (isOwn) database.exec("BEGIN IMMEDIATE");
  try {
    // In a transaction of its own, too: it is gone when the section ends that one and begins another.
    database.exec(`SAVEPOINT ${savepoint}`);
    const { keep, value } = section();
    if (!keep) {
      rollBack(database, isOwn);
      return value;
    }
    release(database);
    if (isOwn) database.exec("COMMIT");
    return value;
  } catch (error) {
    rollBack(database, isOwn);
    throw error;
  }
}

/**
 * Sets how long the connection waits for others, while `section` runs.
 *
 * @param waitMs undefined: as long as it does anyway
 */
export function withBusyTimeout<R>(database: SqliteDatabase, waitMs: number | undefined, section: () => R): R {
  if (waitMs === undefined) return section();
  const earlier = busyTimeout(database);
  database.exec(`PRAGMA busy_timeout = ${waitMs}`);
  try {
    return section();
  } finally {
    database.exec(`PRAGMA busy_timeout = ${earlier}`);
  }
}

function release(database: SqliteDatabase): void {
  try {
    database.exec(`RELEASE ${savepoint}`);
  } catch (error) {
    throw error instanceof Error && /no such savepoint/.test(error.message) ? endedByWork({ cause: error }) : error;
  }
}

/** Some errors make SQLite roll back by itself; then there is nothing left to do, and saying so is no second error. */
function rollBack(database: SqliteDatabase, isOwn: boolean): void {
  if (!database.inTransaction) return;
  try {
    if (isOwn) database.exec("ROLLBACK");
    else database.exec(`ROLLBACK TO ${savepoint}; RELEASE ${savepoint}`);
  } catch {
    // What led here says more.
  }
}

function busyTimeout(database: SqliteDatabase): number {
  const row = database.prepare("PRAGMA busy_timeout").get();
  const timeout: unknown = typeof row === "object" && row !== null ? Reflect.get(row, "timeout") : undefined;
  if (typeof timeout === "number" || typeof timeout === "bigint") return Number(timeout);
  throw new OnceKvError("internal", "broken invariant: SQLite says its busy_timeout");
}
