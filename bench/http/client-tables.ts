import type { DocumentStore } from "../../src/documents/contract.js";
import { readCases } from "../cas/read-cases.js";
import { writeComparisons } from "../cas/write-cases.js";
import { type Measured, measureComparisons, roundsIn } from "../comparisons.js";
import type { RoundPlan } from "../measure.js";
import { openOverHttp } from "../opened-stores.js";
import { ratioOver } from "../statistics.js";
import {
  type BenchRow,
  type BenchTable,
  comparedColumns,
  durabilityMeans,
  type TargetResult,
  target,
} from "../table.js";
import type { BenchWorld, Durability, SizeName } from "../world.js";

interface ClientSize {
  /** Callers in this process. The client opens up to 64 connections, so each caller has one. */
  readonly callers: readonly number[];
  /** How long each writing case runs with 64 callers before anything counts. */
  readonly warmUpMs: number;
  /** How many times as many rounds decide what a condition adds to one caller's create: a few parts in a hundred. */
  readonly decidingTimes: number;
}

const sizes: { readonly [size in SizeName]: ClientSize } = {
  full: { callers: [1, 64], warmUpMs: 500, decidingTimes: 3 },
  quick: { callers: [1, 64], warmUpMs: 150, decidingTimes: 2 },
  tiny: { callers: [1, 4], warmUpMs: 0, decidingTimes: 1 },
};

/** The cases of the group cas through a server and our client, a table for each number of callers. */
export async function* clientTables(
  world: BenchWorld,
  durability: Durability,
): AsyncGenerator<BenchTable, void, undefined> {
  const { callers: callerCounts, warmUpMs } = sizes[world.size];
  const { store, close } = await openOverHttp(world, durability);
  try {
    if (warmUpMs > 0) await warmUp(store, world, warmUpMs);
    for (const callers of callerCounts) {
      const connections = callers === 1 ? "1 caller on 1 connection" : `${callers} callers on ${callers} connections`;
      world.say(`http: through the client, ${durability}, ${connections}`);
      const { measured, rows } = await measureCases(store, world, callers);
      yield {
        group: "http",
        title: `through oncekv serve and our client, ${connections}; ${durabilityMeans[durability]}`,
        setting: { durability, callers, client: "oncekv/client" },
        columns: comparedColumns,
        rows,
        targets: callers === 1 ? [conditionTarget(measured, durability)] : [],
      };
    }
  } finally {
    await close();
  }
}

/**
 * Has client and server compile what they run all the time. One caller on one connection would take many rounds for that,
 * and the first cases would be compared while they become faster.
 */
async function warmUp(store: DocumentStore, { signal }: BenchWorld, roundMs: number): Promise<void> {
  const callers = 64;
  const rounds: RoundPlan = { warmupRounds: 0, rounds: 1, roundMs, operationsPerCaller: 0 };
  await measureComparisons(await writeComparisons(store, { shape: "warm-up", callers }), { rounds, signal }, callers);
}

async function measureCases(
  store: DocumentStore,
  world: BenchWorld,
  callers: number,
): Promise<{ readonly measured: Measured; readonly rows: readonly BenchRow[] }> {
  const [creating = [], ...others] = await writeComparisons(store, { shape: `written-${callers}`, callers });
  const reads = await readCases(store, `read-${callers}`);
  const { rounds, signal } = world;
  const times = callers === 1 ? sizes[world.size].decidingTimes : 1;
  const deciding: RoundPlan = { ...rounds, rounds: times * rounds.rounds };
  const creates = await measureComparisons([creating], { rounds: deciding, signal }, callers);
  const rest = await measureComparisons([...others, reads], world, callers);
  return {
    measured: new Map([...creates.measured, ...rest.measured]),
    rows: [...creates.rows, ...rest.rows],
  };
}

/** What a condition may add to a create. */
function conditionTarget(measured: Measured, durability: Durability): TargetResult {
  const ratio = ratioOver(roundsIn(measured, "put-new"), roundsIn(measured, "create-if-absent"));
  return target(`HTTP conditional over plain put, one connection, median, ${durability}`, ratio, "x", "at most", 1.03);
}
