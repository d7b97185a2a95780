import { InvalidRequestError } from "../base/errors.js";
import { readMembers, shown } from "../documents/request-members.js";
import { firstRow, type PostgresClient } from "./postgres-client.js";
import { textIn } from "./row-text.js";
import { checkSqliteDatabase, type SqliteDatabase } from "./sqlite-database.js";
import { defaultTable, quoteTable } from "./table.js";

/** What is purged, and how much at once. */
export interface PurgeOptions {
  /** The table of calls, `oncekv_calls` when absent. */
  readonly table?: string | undefined;
  /** Rows at most, 1 to 100 000, 10 000 when absent: a purge holds locks on what it deletes, and in SQLite the whole file. */
  readonly limit?: number | undefined;
}

const limitMax = 100_000;
const defaultLimit = 10_000;

/**
 * Deletes rows of calls whose window is over, the oldest first, by the database's clock. They count as absent anyway: it
 * is for their room. A row that a call is replacing right now is passed over. Given a client within a transaction, it is
 * a part of that.
 *
 * @returns how many; as many as the limit when there are probably more
 * @throws InvalidRequestError, and what the client throws
 */
export async function purgeExpired(client: Pick<PostgresClient, "query">, options: PurgeOptions = {}): Promise<number> {
  const { table, limit } = judged(options);
  // Unlike `clock_timestamp()` the time of the statement does not change while it runs, so that the index can be used.
  const purged = await firstRow(
    client,
    `WITH purged AS (
       DELETE FROM ${table} WHERE key IN (
         SELECT key FROM ${table} WHERE expires_at <= statement_timestamp()
         ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
       ) RETURNING 1
     ) SELECT count(*)::text AS count FROM purged`,
    [limit],
  );
  return Number(textIn(purged, "count"));
}

/** The same in SQLite. */
export function purgeExpiredSync(database: SqliteDatabase, options: PurgeOptions = {}): number {
  checkSqliteDatabase(database);
  const { table, limit } = judged(options);
  const { changes } = database
    .prepare(
      `DELETE FROM ${table} WHERE key IN (
         SELECT key FROM ${table} WHERE expires_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') ORDER BY expires_at LIMIT ?
       )`,
    )
    .run(limit);
  return Number(changes);
}

function judged(options: PurgeOptions): { readonly table: string; readonly limit: number } {
  readMembers(options, "", "the options", new Set(["table", "limit"]));
  const { table = defaultTable, limit = defaultLimit } = options;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > limitMax) {
    throw new InvalidRequestError("limit", `must be an integer, 1 to ${limitMax}, not ${shown(limit)}`);
  }
  return { table: quoteTable(table), limit };
}
