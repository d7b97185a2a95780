/*
 * What is used of a client of PostgreSQL. Those of `pg` fit, and whatever is made like them.
 */

/** One connection. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresAnswer>;
}

/** What a statement came to. */
export interface PostgresAnswer {
  readonly rows: readonly unknown[];
  /** The word that the server answered with: "COMMIT". */
  readonly command?: string;
}

/** A connection that was taken from a pool. */
export interface PostgresPoolClient extends PostgresClient {
  /** @param destroy whether the connection is of no more use */
  release(destroy?: boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
}

/** A pool of connections. */
export interface PostgresPool {
  /** Tells a pool from a connection, which has a `connect` too. */
  readonly totalCount: number;
  connect(): Promise<PostgresPoolClient>;
}

export function isPool(database: PostgresPool | PostgresClient): database is PostgresPool {
  return "totalCount" in database && "connect" in database && typeof database.connect === "function";
}

/** The first row of a statement's answer; undefined when there is none. */
export async function firstRow(client: PostgresClient, text: string, values: unknown[]): Promise<unknown> {
  const { rows } = await client.query(text, values);
  return rows[0];
}
