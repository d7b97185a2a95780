import { InvalidRequestError } from "../base/errors.js";
import { readMembers } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";

/** The databases whose SQL is spoken here. */
export type SqlDialect = (typeof dialects)[number];
const dialects = ["postgres", "sqlite"] as const;

/** Which table, and in whose SQL. */
export interface CreateTableOptions {
  readonly dialect: SqlDialect;
  /** `oncekv_calls` when absent; `schema.table` will do. */
  readonly table?: string | undefined;
}

/** The table of calls when none is named. */
export const defaultTable = "oncekv_calls";

/**
 * One part of a table's name. Names are quoted, so that upper and lower case are kept and reserved words will do. What
 * would need an escape inside of the quotes is refused: no real table is called so, and an attempt at an injection is.
 */
const namePart = /^[A-Za-z_][A-Za-z0-9_$]*$/;

/** PostgreSQL cuts names at 63 bytes in silence, and the name of the index is longer than that of its table. */
const nameLengthMax = 48;

const indexSuffix = "_expires_at";

/**
 * The statements that create the table of calls and its index, for a migration. They change nothing when both exist.
 *
 * @throws InvalidRequestError
 */
export function createTableSql(options: CreateTableOptions): string {
  readMembers(options, "", "the options", new Set(["dialect", "table"]));
  const { dialect, table = defaultTable } = options;
  if (!dialects.includes(dialect)) {
    throw new InvalidRequestError("dialect", `must be one of ${dialects.join(", ")}, not ${shownDialect(dialect)}`);
  }
  const name = quoteTable(table);
  const parts = table.split(".");
  const last = parts.at(-1) ?? "";
  const index = `"${last}${indexSuffix}"`;
  if (dialect === "postgres") return postgresTable(name, index);
  // SQLite wants the schema in front of the index, and none in front of the index's table.
  const schema = parts.length === 1 ? "" : `"${parts[0]}".`;
  return sqliteTable(name, `${schema}${index}`, `"${last}"`);
}

/** The quoted name of a table, with its schema when it has one. @throws InvalidRequestError */
export function quoteTable(table: unknown): string {
  if (typeof table !== "string") throw new InvalidRequestError("table", `must be a string, not ${kindOf(table)}`);
  const parts = table.split(".");
  if (parts.length > 2 || !parts.every((part) => namePart.test(part) && part.length <= nameLengthMax)) {
    throw new InvalidRequestError(
      "table",
      `must be a name, or a schema and a name with a "." between: each 1 to ${nameLengthMax} of A-Z, a-z, 0-9, "_" and "$", not beginning with a digit or "$"`,
    );
  }
  return parts.map((part) => `"${part}"`).join(".");
}

/*
 * A row is visible to others only with the transaction that did the work, so that it has no status: without
 * `completed_at` it belongs to a call that runs in the very same transaction. The result is text and not `jsonb`, which
 * refuses U+0000 inside of strings and does not keep numbers as they were.
 */

function postgresTable(table: string, index: string): string {
  return `CREATE TABLE IF NOT EXISTS ${table} (
  key text COLLATE "C" PRIMARY KEY,
  tool text NOT NULL,
  fingerprint text NOT NULL,
  called_at timestamptz NOT NULL,
  completed_at timestamptz,
  expires_at timestamptz,
  result text
);
CREATE INDEX IF NOT EXISTS ${index} ON ${table} (expires_at);
`;
}

function sqliteTable(table: string, index: string, bareTable: string): string {
  return `CREATE TABLE IF NOT EXISTS ${table} (
  key text NOT NULL PRIMARY KEY,
  tool text NOT NULL,
  fingerprint text NOT NULL,
  called_at text NOT NULL,
  completed_at text,
  expires_at text,
  result text
);
CREATE INDEX IF NOT EXISTS ${index} ON ${bareTable} (expires_at);
`;
}

function shownDialect(dialect: unknown): string {
  return typeof dialect === "string" ? JSON.stringify(dialect.slice(0, 64)) : kindOf(dialect);
}
