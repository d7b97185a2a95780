import { casComparisons } from "./cas.js";
import { type Comparison, measureInterleaved, type RoundPlan } from "./measure.js";
import { overheadOver, type Round, summarize } from "./statistics.js";
import type { Durability, OpenTarget, TargetChoice, TargetKind } from "./targets.js";

/** The groups of benchmarks, by the name that the command line takes. */
export const groups = { cas: casComparisons } as const;

export type GroupName = keyof typeof groups;

/** What to measure. Every combination is. */
export interface BenchPlan {
  readonly groups: readonly GroupName[];
  readonly targets: readonly TargetKind[];
  readonly durabilities: readonly Durability[];
  /** How many operations are under way at a time, each begun when the one before it has been answered. */
  readonly callers: readonly number[];
  readonly rounds: RoundPlan;
}

/** Under which conditions the rows of one table were measured. */
export interface BenchSetting extends TargetChoice {
  readonly group: GroupName;
  readonly callers: number;
}

/** One case under one setting: a row of a table, and of the JSON report. */
export interface BenchRow extends BenchSetting {
  readonly case: string;
  readonly operations: number;
  readonly p50_us: number;
  readonly p99_us: number;
  /** Of all callers together. */
  readonly operations_per_second: number;
  /** The plain write that this one is compared with; null: it is one. */
  readonly compared_with: string | null;
  /** The difference of the medians; null for a plain write. */
  readonly cas_overhead_us: number | null;
  /** First and third quartile of that difference, taken round by round. */
  readonly cas_overhead_quartiles_us: readonly [number, number] | null;
}

export interface BenchTable {
  readonly setting: BenchSetting;
  readonly rows: readonly BenchRow[];
}

/**
 * Measures, and gives each table as soon as it is complete. Stops at the first wrong result. All targets are closed in the
 * end, also when the caller reads no further.
 */
export async function* runPlan(
  plan: BenchPlan,
  openTarget: OpenTarget,
  signal?: AbortSignal,
): AsyncGenerator<BenchTable, void, undefined> {
  for (const target of plan.targets) {
    for (const durability of plan.durabilities) {
      const opened = await openTarget({ target, durability });
      try {
        for (const group of plan.groups) {
          for (const callers of plan.callers) {
            const comparisons = await groups[group](opened.store, { shape: `${group}-${callers}`, callers });
            const setting = { group, target, durability, callers };
            yield { setting, rows: await measureTable(comparisons, setting, { ...plan.rounds, callers, signal }) };
          }
        }
      } finally {
        await opened.close();
      }
    }
  }
}

async function measureTable(
  comparisons: readonly Comparison[],
  setting: BenchSetting,
  plan: Parameters<typeof measureInterleaved>[1],
): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const comparison of comparisons) {
    const [plain] = comparison;
    const measured = await measureInterleaved(comparison, plan);
    for (const [index, { name }] of comparison.entries()) {
      const comparedWith = index === 0 ? undefined : { name: plain.name, rounds: measured[0] ?? [] };
      rows.push(toRow(setting, name, measured[index] ?? [], comparedWith));
    }
  }
  return rows;
}

function toRow(
  setting: BenchSetting,
  name: string,
  rounds: readonly Round[],
  comparedWith: { readonly name: string; readonly rounds: readonly Round[] } | undefined,
): BenchRow {
  const { operations, p50Us, p99Us, operationsPerSecond } = summarize(rounds);
  const overhead = comparedWith === undefined ? undefined : overheadOver(comparedWith.rounds, rounds);
  return {
    ...setting,
    case: name,
    operations,
    p50_us: p50Us,
    p99_us: p99Us,
    operations_per_second: operationsPerSecond,
    compared_with: comparedWith?.name ?? null,
    cas_overhead_us: overhead?.medianUs ?? null,
    cas_overhead_quartiles_us: overhead?.quartilesUs ?? null,
  };
}
