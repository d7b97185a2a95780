import { type BenchRow, type BenchTable, type Column, durabilityMeans, type TargetResult, target } from "../table.js";
import type { BenchWorld } from "../world.js";
import { wakeBarely, withBarePlace } from "./bare-waking.js";
import { CallNumbers } from "./protocol-cases.js";
import { type WaitingPlace, withEmbeddedPlace, withHttpPlace } from "./waiting-places.js";
import { summarizeWakings, type Waking, wakeOnce } from "./waking.js";

/** How many are woken, and how often. */
export interface WakingPlan {
  /** Callers that wait for one claim together. */
  readonly waiters: number;
  /** Rounds before those that count: code is compiled and connections are made in them. */
  readonly warmupRounds: number;
  /** Times that so many are woken. */
  readonly rounds: number;
  /** Times that a single waiter is woken in each round. */
  readonly singlesPerRound: number;
}

const columns: readonly Column[] = [
  { key: "wakings", heading: "times", digits: 0 },
  { key: "waiter_p50_ms", heading: "p50 ms", digits: 2 },
  { key: "waiter_p99_ms", heading: "p99 ms", digits: 2 },
  { key: "last_p50_ms", heading: "last one, p50 ms", digits: 2 },
  { key: "last_max_ms", heading: "slowest ms", digits: 2 },
  { key: "last_after_completed_p50_ms", heading: "after the answer, p50 ms", digits: 2, signed: true },
];

/** How fast those have the result who wait for a call. */
export async function wakingTable(world: BenchWorld, plan: WakingPlan): Promise<BenchTable> {
  const wakings = await measureWakings(world, plan);
  return {
    group: "calls",
    title:
      "from the call of complete to a waiter that has the result, as a replay; embedded in this process, and over " +
      "HTTP through one client in this process to a server in a process of its own; beside it, a bare node:http " +
      `server that answers held requests, without a store and without a client of ours; ${durabilityMeans.durable}`,
    setting: { measures: "waking", durability: "durable", waiters: plan.waiters },
    columns,
    rows: [...wakings].map(([name, list]) => wakingRow(name, list)),
    targets: wakingTargets(wakings, plan.waiters),
  };
}

type PlaceName = WaitingPlace["name"] | "bare node:http";
type WakeOne = (waiters: number) => Promise<Waking>;
type WakingsByCase = ReadonlyMap<string, readonly Waking[]>;

/** Wakes in turns, so that one and many, in this process and over HTTP, meet the same machine. */
async function measureWakings(world: BenchWorld, plan: WakingPlan): Promise<WakingsByCase> {
  const wakings = new Map<string, Waking[]>();
  const numbers = new CallNumbers();
  const wake = async (name: PlaceName, waiters: number, round: number, wakeOne: WakeOne): Promise<void> => {
    const list = wakings.get(caseName(name, waiters)) ?? [];
    wakings.set(caseName(name, waiters), list);
    const times = waiters === 1 ? plan.singlesPerRound : 1;
    for (let time = 0; time < times; time++) {
      world.signal.throwIfAborted();
      const waking = await wakeOne(waiters);
      if (round >= 0) list.push(waking);
    }
  };
  const wakeIn = async (name: PlaceName, round: number, wakeOne: WakeOne): Promise<void> => {
    await wake(name, 1, round, wakeOne);
    await wake(name, plan.waiters, round, wakeOne);
  };
  await withEmbeddedPlace(world, (embedded) =>
    withHttpPlace(world, (http) =>
      withBarePlace(async (bare) => {
        for (let round = -plan.warmupRounds; round < plan.rounds; round++) {
          for (const place of [embedded, http]) {
            await wakeIn(place.name, round, (waiters) => wakeOnce(place, numbers, waiters));
          }
          await wakeIn("bare node:http", round, (waiters) => wakeBarely(bare, waiters));
        }
      }),
    ),
  );
  return wakings;
}

function wakingRow(name: string, wakings: readonly Waking[]): BenchRow {
  const { waiterP50Ms, waiterP99Ms, lastP50Ms, lastMaxMs, lastAfterCompletedP50Ms } = summarizeWakings(wakings);
  return {
    case: name,
    values: {
      wakings: wakings.length,
      waiter_p50_ms: waiterP50Ms,
      waiter_p99_ms: waiterP99Ms,
      last_p50_ms: lastP50Ms,
      last_max_ms: lastMaxMs,
      last_after_completed_p50_ms: lastAfterCompletedP50Ms,
    },
  };
}

function wakingTargets(wakings: WakingsByCase, waiters: number): TargetResult[] {
  const one = summarizeWakings(wakings.get(caseName("http", 1)) ?? []);
  const many = summarizeWakings(wakings.get(caseName("http", waiters)) ?? []);
  const all = waitersText(waiters);
  return [
    target("complete to waiter awake, over HTTP, median", one.waiterP50Ms, "ms", "at most", 2),
    target(`${all} awake, over HTTP, the last one, median`, many.lastP50Ms, "ms", "at most", 50),
  ];
}

function caseName(place: PlaceName, waiters: number): string {
  return `${place}, ${waitersText(waiters)}`;
}

function waitersText(count: number): string {
  return count === 1 ? "1 waiter" : `${count.toLocaleString("en-US")} waiters`;
}
