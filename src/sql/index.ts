export { type ClientOf, onceInTransaction, type PostgresRequest } from "./once-in-transaction.js";
export { onceInTransactionSync, type SqliteRequest } from "./once-in-transaction-sync.js";
export type { PostgresAnswer, PostgresClient, PostgresPool, PostgresPoolClient } from "./postgres-client.js";
export type { IsolationLevel } from "./postgres-transaction.js";
export { type PurgeOptions, purgeExpired, purgeExpiredSync } from "./purge.js";
export type { TransactionCall, TransactionOutcome, TransactionRequest } from "./request.js";
export type { SqliteDatabase, SqliteStatement } from "./sqlite-database.js";
export { type CreateTableOptions, createTableSql, type SqlDialect } from "./table.js";
