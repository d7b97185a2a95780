import type { PreparedTransactionCall } from "./request.js";
import { textIn, textOrNullIn } from "./row-text.js";
import type { SqliteDatabase } from "./sqlite-database.js";
import { endedByWork, type StoredCall } from "./stored-call.js";

/** Either the key is the caller's since that time, or it has a row that says what became of the call. */
export type SqliteClaim = { readonly called_at: string } | { readonly found: StoredCall };

/** Takes the key with a row of its own. Nobody else writes meanwhile: SQLite has one writer at a time. */
export function claimSqliteRow(database: SqliteDatabase, call: PreparedTransactionCall): SqliteClaim {
  const { key, tool, fingerprint, table } = call;
  const claimed = database.prepare(claimSql(table)).get(key, tool, fingerprint);
  if (claimed !== undefined) return { called_at: textIn(claimed, "called_at") };
  const row = database.prepare(findSql(table)).get(key);
  return {
    found: {
      fingerprint: textIn(row, "fingerprint"),
      state: textOrNullIn(row, "completed_at") === null ? "incomplete" : "completed",
      called_at: textIn(row, "called_at"),
      result: textOrNullIn(row, "result"),
    },
  };
}

/**
 * Writes the result into the row, and begins the window.
 *
 * @throws InvalidRequestError when the transaction, or the row, is gone
 */
export function completeSqliteRow(
  database: SqliteDatabase,
  call: PreparedTransactionCall,
  result: string | null,
): void {
  if (!database.inTransaction) throw endedByWork();
  const { changes } = database
    .prepare(completeSql(call.table))
    .run(result, `+${call.completedTtl.toFixed(3)} seconds`, call.key);
  if (Number(changes) === 0) throw endedByWork();
}

/** All times are of this form, ISO 8601 in UTC, whose order as texts is their order in time. */
const form = "'%Y-%m-%dT%H:%M:%fZ'";
const now = `strftime(${form}, 'now')`;

/** The row of a call whose window is over counts as absent. */
function claimSql(table: string): string {
  return `INSERT INTO ${table} AS call (key, tool, fingerprint, called_at) VALUES (?, ?, ?, ${now})
    ON CONFLICT (key) DO UPDATE SET
      tool = excluded.tool, fingerprint = excluded.fingerprint, called_at = excluded.called_at,
      completed_at = NULL, expires_at = NULL, result = NULL
    WHERE call.expires_at <= ${now}
    RETURNING called_at`;
}

function findSql(table: string): string {
  return `SELECT fingerprint, called_at, completed_at, result FROM ${table} WHERE key = ?`;
}

function completeSql(table: string): string {
  return `UPDATE ${table} SET result = ?, completed_at = ${now}, expires_at = strftime(${form}, 'now', ?)
    WHERE key = ? AND completed_at IS NULL`;
}
