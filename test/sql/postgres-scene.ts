import type { Pool, PoolClient } from "pg";
import {
  createTableSql,
  onceInTransaction,
  type PostgresRequest,
  type TransactionOutcome,
} from "../../src/sql/index.js";
import type { PostgresServer } from "./postgres-server.js";

/** A table of calls, a table that work writes to, and a way to count what it wrote. */
export interface Scene {
  readonly pool: Pool;
  readonly calls: string;
  readonly orders: string;
  /** Makes the call that writes one order. */
  order(request: Partial<PostgresRequest>, work?: Work): Promise<TransactionOutcome<unknown>>;
  /** Writes the order alone. */
  insert(client: PoolClient, note?: string): Promise<number>;
  /** What stands, as everybody sees it. */
  orderCount(): Promise<number>;
  rows(): Promise<CallRow[]>;
  /** Ends the windows of all calls that are done. */
  expireAll(): Promise<void>;
}

export type Work = (client: PoolClient) => Promise<unknown> | unknown;

export interface CallRow {
  readonly key: string;
  readonly tool: string;
  readonly fingerprint: string;
  readonly called_at: Date;
  readonly completed_at: Date | null;
  readonly expires_at: Date | null;
  readonly result: string | null;
}

let scenes = 0;

/** Each test has tables of its own, and a pool of its own. */
export async function openScene(server: PostgresServer, connections: number = 10): Promise<Scene> {
  scenes += 1;
  const calls = `calls_${scenes}`;
  const orders = `orders_${scenes}`;
  const pool = server.pool({ max: connections });
  await pool.query(createTableSql({ dialect: "postgres", table: calls }));
  await pool.query(`CREATE TABLE ${orders} (id serial PRIMARY KEY, note text)`);
  const insert = async (client: PoolClient, note = "ordered"): Promise<number> => {
    const { rows } = await client.query<{ id: number }>(`INSERT INTO ${orders} (note) VALUES ($1) RETURNING id`, [
      note,
    ]);
    return rows[0]?.id ?? 0;
  };
  return {
    pool,
    calls,
    orders,
    insert,
    order: (request, work = async (client) => ({ order: await insert(client) })) =>
      onceInTransaction(pool, { tool: "place_order", args: { user: "U" }, table: calls, ...request }, work),
    async orderCount() {
      const { rows } = await pool.query<{ count: string }>(`SELECT count(*) FROM ${orders}`);
      return Number(rows[0]?.count);
    },
    async rows() {
      const { rows } = await pool.query<CallRow>(`SELECT * FROM ${calls} ORDER BY key`);
      return rows;
    },
    async expireAll() {
      await pool.query(`UPDATE ${calls} SET expires_at = clock_timestamp()`);
    },
  };
}

/** Ends a connection from outside, as an operator or a failing network does, and waits until it is gone. */
export async function terminate(pool: Pool, client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  await pool.query("SELECT pg_terminate_backend($1, 5000)", [rows[0]?.pid]);
}

/** Resolves when so many sessions wait for a lock. */
export async function waitingSessions(pool: Pool, count: number): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ count: string }>(
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
    );
    if (Number(rows[0]?.count) >= count) return;
  }
}

/** A gate that work stops at until the test opens it. */
export class Gate {
  readonly reached: Promise<void>;
  readonly #opened: Promise<void>;
  #reach: () => void = () => {};
  open: () => void = () => {};

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#reach = resolve;
    });
    this.#opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }

  async pass(): Promise<void> {
    this.#reach();
    await this.#opened;
  }
}
