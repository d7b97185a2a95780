import type { BenchTable } from "../table.js";
import type { BenchWorld, SizeName } from "../world.js";
import { costTable } from "./cost-table.js";
import { type WakingPlan, wakingTable } from "./waking-table.js";

/** Numbers of callers and waiters, by the name of the size. */
const sizes: { readonly [size in SizeName]: { readonly callers: readonly number[]; readonly waking: WakingPlan } } = {
  full: { callers: [1, 64], waking: { waiters: 1000, warmupRounds: 5, rounds: 20, singlesPerRound: 20 } },
  quick: { callers: [1, 64], waking: { waiters: 1000, warmupRounds: 4, rounds: 6, singlesPerRound: 10 } },
  tiny: { callers: [4], waking: { waiters: 5, warmupRounds: 0, rounds: 2, singlesPerRound: 2 } },
};

/** What a tool call costs around its effect, and how fast those hear of it who wait for it. */
export async function* benchCalls(world: BenchWorld): AsyncGenerator<BenchTable, void, undefined> {
  const { callers, waking } = sizes[world.size];
  for (const durability of world.durabilities) {
    for (const count of callers) yield await costTable(world, { where: "embedded", durability, callers: count });
  }
  if (!world.durabilities.includes("durable")) return;
  for (const count of callers) yield await costTable(world, { where: "http", durability: "durable", callers: count });
  yield await wakingTable(world, waking);
}
