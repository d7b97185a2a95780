import { firstRow, type PostgresClient } from "./postgres-client.js";
import { lockNotAvailable, sqlStateOf } from "./postgres-errors.js";
import type { PreparedTransactionCall } from "./request.js";
import { textIn, textOrNullIn } from "./row-text.js";
import { endedByWork, inFlight, type StoredCall } from "./stored-call.js";

/** The caller's own row, which nobody else sees until its transaction commits. */
export interface ClaimedRow {
  /** ISO 8601, UTC, by the database's clock. */
  readonly called_at: string;
  /** Names the transaction that the row was written in. */
  readonly transaction: string;
}

/** Either the key is the caller's, or it has a row that says what became of the call. */
export type Claim = { readonly claimed: ClaimedRow } | { readonly found: StoredCall };

/**
 * Each round that does not settle it means that somebody deleted or replaced the row between two statements: as often as
 * that in a row it does not happen by chance.
 */
const roundsMax = 20;

/**
 * Takes the key with a row of its own. Where another transaction is about to do that, or to replace the row of a call
 * whose window is over, the database makes this one wait until that one has ended.
 *
 * @throws CallInFlightError when that takes longer than the call waits; what the client throws, which under isolation
 * levels above READ COMMITTED includes a serialization failure when the other transaction has committed
 */
export async function claimRow(client: PostgresClient, call: PreparedTransactionCall, waitMs: number): Promise<Claim> {
  const own = await setLockTimeout(client, `${waitMs}ms`);
  try {
    for (let round = 0; round < roundsMax; round++) {
      const claim = await tryClaim(client, call);
      if (claim === undefined) continue;
      // What the work waits for is its own affair. A caller without work rolls back, and the setting with it.
      if ("claimed" in claim) await setLockTimeout(client, own);
      return claim;
    }
  } catch (error) {
    if (sqlStateOf(error) === lockNotAvailable) throw inFlight(call, { cause: error });
    throw error;
  }
  throw inFlight(call);
}

/**
 * Writes the result into the row, and begins the window.
 *
 * @param result JSON text; null: undefined
 * @throws InvalidRequestError when the row was not written in this transaction
 */
export async function completeRow(
  client: PostgresClient,
  call: PreparedTransactionCall,
  claimed: ClaimedRow,
  result: string | null,
): Promise<void> {
  const completed = await firstRow(client, completeSql(call.table), [
    call.key,
    result,
    call.completedTtl,
    claimed.transaction,
  ]);
  if (completed === undefined) throw endedByWork();
}

async function tryClaim(client: PostgresClient, call: PreparedTransactionCall): Promise<Claim | undefined> {
  const { key, tool, fingerprint, table } = call;
  const inserted = await firstRow(client, insertSql(table), [key, tool, fingerprint]);
  if (inserted !== undefined) return { claimed: claimedRow(inserted) };
  const row = await firstRow(client, findSql(table), [key]);
  if (row === undefined) return undefined;
  const found: StoredCall = {
    fingerprint: textIn(row, "fingerprint"),
    state: textIn(row, "state") as StoredCall["state"],
    called_at: textIn(row, "called_at"),
    result: textOrNullIn(row, "result"),
  };
  if (found.state !== "expired") return { found };
  const replaced = await firstRow(client, replaceSql(table), [key, tool, fingerprint]);
  return replaced === undefined ? undefined : { claimed: claimedRow(replaced) };
}

function claimedRow(row: unknown): ClaimedRow {
  return { called_at: textIn(row, "called_at"), transaction: textIn(row, "transaction") };
}

/**
 * Sets it until the transaction ends, and returns what it was. The inner query is evaluated first, since the outer one
 * needs its row; OFFSET 0 keeps the planner from making one of the two.
 */
async function setLockTimeout(client: PostgresClient, setting: string): Promise<string> {
  const row = await firstRow(
    client,
    `SELECT earlier.setting, set_config('lock_timeout', $1, true) AS now
       FROM (SELECT current_setting('lock_timeout') AS setting OFFSET 0) AS earlier`,
    [setting],
  );
  return textIn(row, "setting");
}

/*
 * `clock_timestamp()` is the time of the moment. `now()` is that of the transaction's beginning, which for one that has
 * waited lies before what it has waited for. The id of a transaction tells whether the work has ended it: a savepoint
 * does not change it.
 */

const calledAtText = `to_char(called_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS called_at`;
const claimedColumns = `${calledAtText}, txid_current()::text AS transaction`;

function insertSql(table: string): string {
  return `INSERT INTO ${table} (key, tool, fingerprint, called_at)
    VALUES ($1, $2, $3, clock_timestamp())
    ON CONFLICT (key) DO NOTHING
    RETURNING ${claimedColumns}`;
}

function findSql(table: string): string {
  return `SELECT fingerprint, result, ${calledAtText},
      CASE WHEN completed_at IS NULL THEN 'incomplete'
           WHEN expires_at <= clock_timestamp() THEN 'expired'
           ELSE 'completed' END AS state
    FROM ${table} WHERE key = $1`;
}

function replaceSql(table: string): string {
  return `UPDATE ${table}
    SET tool = $2, fingerprint = $3, called_at = clock_timestamp(), completed_at = NULL, expires_at = NULL, result = NULL
    WHERE key = $1 AND expires_at <= clock_timestamp()
    RETURNING ${claimedColumns}`;
}

function completeSql(table: string): string {
  return `UPDATE ${table}
    SET result = $2, completed_at = clock_timestamp(),
        expires_at = clock_timestamp() + $3::double precision * interval '1 second'
    WHERE key = $1 AND completed_at IS NULL AND txid_current()::text = $4
    RETURNING key`;
}
