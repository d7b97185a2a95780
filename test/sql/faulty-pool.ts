import type { Pool, PoolClient } from "pg";
import type { PostgresAnswer, PostgresPool, PostgresPoolClient } from "../../src/sql/index.js";

/** Stands in for a statement: it may do it, do something else, or fail. */
export type Fault = (client: PoolClient, proceed: () => Promise<PostgresAnswer>) => Promise<PostgresAnswer>;

/** A real pool whose connections meet faults at some statements, each once. */
export class FaultyPool implements PostgresPool {
  readonly #pool: Pool;
  readonly #faults = new Map<string, Fault>();
  /** How each connection was given back: whether it was to be destroyed. */
  readonly released: boolean[] = [];
  readonly statements: string[] = [];

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  get totalCount(): number {
    return this.#pool.totalCount;
  }

  /** @param beginning of the statement that meets the fault */
  at(beginning: string, fault: Fault): void {
    this.#faults.set(beginning, fault);
  }

  async connect(): Promise<PostgresPoolClient> {
    const client = await this.#pool.connect();
    return {
      query: (text, values) => {
        this.statements.push(text);
        const proceed = (): Promise<PostgresAnswer> => client.query(text, values);
        const met = [...this.#faults].find(([beginning]) => text.startsWith(beginning));
        if (met === undefined) return proceed();
        this.#faults.delete(met[0]);
        return met[1](client, proceed);
      },
      release: (destroy) => {
        this.released.push(destroy === true);
        client.release(destroy);
      },
      on: (event, listener) => client.on(event, listener),
      removeListener: (event, listener) => client.removeListener(event, listener),
    };
  }
}
