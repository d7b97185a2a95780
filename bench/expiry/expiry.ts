import { percentile, summarize } from "../statistics.js";
import {
  type BenchTable,
  type Column,
  durabilityMeans,
  type TargetResult,
  target,
  timedColumns,
  timedRow,
} from "../table.js";
import type { BenchWorld, SizeName } from "../world.js";
import { measureBareSweep } from "./bare-sweep.js";
import { type DeadlineKind, deadlineKinds } from "./deadlines.js";
import { measureLag, type TricklePlan } from "./lag.js";
import { measureSweep, type SweepPlan, type SweepResult } from "./sweeping.js";

/** How many documents expire, by the name of the size. */
const sizes: { readonly [size in SizeName]: { readonly sweep: SweepPlan; readonly trickle: TricklePlan } } = {
  full: {
    sweep: { documents: 1_000_000, callers: 16, quietMs: 4000, stillMs: 1000 },
    trickle: { documents: 1000, leadMs: 1500, apartMs: 5 },
  },
  quick: {
    sweep: { documents: 100_000, callers: 16, quietMs: 1500, stillMs: 300 },
    trickle: { documents: 300, leadMs: 500, apartMs: 5 },
  },
  tiny: {
    sweep: { documents: 500, callers: 4, quietMs: 0, stillMs: 0 },
    trickle: { documents: 10, leadMs: 10, apartMs: 3 },
  },
};

/** What expiring documents cost those who write meanwhile, and how late their expiry is told. */
export async function* benchExpiry(world: BenchWorld): AsyncGenerator<BenchTable, void, undefined> {
  // What is swept comes back after a crash when it was not on disk, and is swept again: only durable is worth
  // measuring.
  if (!world.durabilities.includes("durable")) return;
  const { sweep, trickle } = sizes[world.size];
  for (const kind of deadlineKinds) {
    const bare = await measureBareSweep(world, sweep);
    yield sweepTable(kind, sweep, await measureSweep(world, kind, sweep), bare);
  }
  const lags: (readonly [DeadlineKind, Float64Array])[] = [];
  for (const kind of deadlineKinds) lags.push([kind, await measureLag(world, kind, trickle)]);
  yield lagTable(trickle, lags);
}

const sweepColumns: readonly Column[] = [
  ...timedColumns,
  { key: "swept_per_second", heading: "swept documents/s", digits: 0 },
];

/** @param bare documents a second that LevelDB alone sweeps */
function sweepTable(
  kind: DeadlineKind,
  plan: SweepPlan,
  { quiet, sweeping, sweptMs }: SweepResult,
  bare: number,
): BenchTable {
  const { documents, callers } = plan;
  const all = documents.toLocaleString("en-US");
  const sweptPerSecond = (documents / sweptMs) * 1000;
  const besides = timedRow("claim, sweep under way", [sweeping]);
  const without = timedRow("claim, nothing to sweep", quiet);
  return {
    group: "expiry",
    title:
      `${callers} callers claim (create if absent, with a ttl) while ${all} documents expire at once, whose ` +
      `deadlines were ${kind.name} of their write; embedded in this process; ${durabilityMeans.durable}`,
    setting: { measures: "sweep", durability: "durable", callers, documents, deadlines: kind.name },
    columns: sweepColumns,
    rows: [
      { ...without, values: { ...without.values, swept_per_second: null }, note: "before and after the sweep" },
      { ...besides, values: { ...besides.values, swept_per_second: sweptPerSecond } },
      {
        case: "LevelDB alone",
        values: { operations: null, p50_us: null, p99_us: null, operations_per_second: null, swept_per_second: bare },
        note: "lookups, synced deletes and a log, and no claims",
      },
    ],
    targets: sweepTargets(kind, sweptPerSecond, summarize([sweeping]).p99Us / summarize(quiet).p99Us),
  };
}

function sweepTargets(kind: DeadlineKind, sweptPerSecond: number, ratio: number): TargetResult[] {
  const which = `deadlines ${kind.name}`;
  return [
    target(`sweep, ${which}`, sweptPerSecond, "documents/s", "at least", 100_000),
    target(`claim p99 while sweeping, of p99 without, ${which}`, ratio, "x", "at most", 2),
  ];
}

const lagColumns: readonly Column[] = [
  { key: "events", heading: "events", digits: 0 },
  { key: "p50_ms", heading: "p50 ms", digits: 1 },
  { key: "p99_ms", heading: "p99 ms", digits: 1 },
  { key: "max_ms", heading: "slowest ms", digits: 1 },
];

function lagTable(
  { documents, apartMs }: TricklePlan,
  lags: readonly (readonly [DeadlineKind, Float64Array])[],
): BenchTable {
  return {
    group: "expiry",
    title:
      `from a document's deadline to the event that a watcher gets; one document expires every ${apartMs} ms; ` +
      `embedded in this process; ${durabilityMeans.durable}`,
    setting: { measures: "lag", durability: "durable", documents, apart_ms: apartMs },
    columns: lagColumns,
    rows: lags.map(([kind, sorted]) => ({
      case: `deadline ${kind.name} of its write`,
      values: {
        events: sorted.length,
        p50_ms: percentile(sorted, 0.5),
        p99_ms: percentile(sorted, 0.99),
        max_ms: percentile(sorted, 1),
      },
    })),
    targets: [],
  };
}
