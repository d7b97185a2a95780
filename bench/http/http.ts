import type { BenchTable } from "../table.js";
import type { BenchWorld } from "../world.js";
import { clientTables } from "./client-tables.js";
import { loadTables } from "./load-tables.js";

/**
 * The cost of HTTP: the same writes and reads as embedded, through a server in a process of its own and our client in
 * this one; and what the server can do, beside a bare handler over the same store.
 */
export async function* benchHttp(world: BenchWorld): AsyncGenerator<BenchTable, void, undefined> {
  for (const durability of world.durabilities) {
    yield* clientTables(world, durability);
    yield* loadTables(world, durability);
  }
}
