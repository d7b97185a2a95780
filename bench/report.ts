import { WrongResultError } from "./checks.js";
import type { Machine } from "./machine.js";
import type { RoundPlan } from "./measure.js";
import type { CodeForm } from "./package-code.js";
import { type BenchTable, isReached, type TargetResult } from "./table.js";
import type { SizeName } from "./world.js";

/** What `--json` writes, and what charts are drawn from. */
export interface BenchReport {
  /** ISO 8601, UTC. */
  readonly started_at: string;
  readonly duration_seconds: number;
  readonly machine: Machine;
  /** Why the numbers should not be relied upon, in sentences; empty: nothing known against them. */
  readonly doubts: readonly string[];
  /** `built`: the package as users run it; `sources`: TypeScript, which is slower. */
  readonly code: CodeForm;
  readonly size: ReportedSize;
  /** Whether the sizes that take many minutes were measured, too. */
  readonly large: boolean;
  readonly tables: readonly ReportedTable[];
}

/** How long each case was measured, where a group has no plan of its own. */
interface ReportedSize {
  readonly name: SizeName;
  readonly warmup_rounds: number;
  readonly rounds: number;
  /** 0: a round was ended by the number of its operations. */
  readonly round_ms: number;
  /** 0: a round was ended by its time. */
  readonly operations_per_caller: number;
}

export interface ReportedTable extends BenchTable {
  readonly targets: readonly ReportedTarget[];
}

interface ReportedTarget extends TargetResult {
  readonly reached: boolean;
}

export function reportedSize(name: SizeName, plan: RoundPlan): ReportedSize {
  return {
    name,
    warmup_rounds: plan.warmupRounds,
    rounds: plan.rounds,
    round_ms: plan.roundMs,
    operations_per_caller: plan.operationsPerCaller,
  };
}

/**
 * The table as the report has it.
 *
 * @throws WrongResultError when a number of it is none: JSON would make a null of it, which says that there is no such
 * number, and no comparison with it would be true or false
 */
export function reportedTable(table: BenchTable): ReportedTable {
  for (const { case: name, values } of table.rows) {
    for (const [key, value] of Object.entries(values)) {
      if (value !== null && !Number.isFinite(value)) throw noNumber(table, `${key} of ${name}`, value);
    }
  }
  for (const { name, measured } of table.targets) {
    if (!Number.isFinite(measured)) throw noNumber(table, name, measured);
  }
  return { ...table, targets: table.targets.map((target) => ({ ...target, reached: isReached(target) })) };
}

function noNumber({ group, title }: BenchTable, what: string, value: number): WrongResultError {
  return new WrongResultError(`${group}: ${title}: ${what} is ${value}`);
}
