import type { Machine } from "./machine.js";
import type { RoundPlan } from "./measure.js";
import type { CodeForm } from "./package-code.js";
import type { BenchRow, BenchSetting, BenchTable } from "./run.js";

/** What `--json` writes. */
export interface BenchReport {
  /** ISO 8601, UTC. */
  readonly started_at: string;
  readonly duration_seconds: number;
  readonly machine: Machine;
  /** Why the numbers should not be relied upon; empty: nothing known against them. */
  readonly doubts: readonly string[];
  /** `built`: the package as users run it; `sources`: TypeScript, which is slower. */
  readonly code: CodeForm;
  readonly size: {
    readonly name: string;
    readonly warmup_rounds: number;
    readonly rounds: number;
    /** 0: a round was ended by the number of its operations. */
    readonly round_ms: number;
  };
  readonly rows: readonly BenchRow[];
}

/** The published cost of a conditional write in a system of this kind, over a plain one. */
const published = "20 to 50 us";

const durabilityMeans = {
  durable: "a write is answered when it is on disk",
  buffered: "a write is answered when the operating system has it; it survives the process, not the power",
} as const;

const targetMeans = {
  embedded: "embedded in this process",
  http: "over HTTP, server in a process of its own",
} as const;

export function sizeOf(name: string, { warmupRounds, rounds, roundMs }: RoundPlan): BenchReport["size"] {
  return { name, warmup_rounds: warmupRounds, rounds, round_ms: roundMs };
}

/** One table, with the durability of its writes above it. */
export function tableText({ setting, rows }: BenchTable): string {
  const head = ["", "p50 us", "p99 us", "operations/s", "CAS overhead over a plain write, us"];
  return [titleOf(setting), ...alignedLines([head, ...rows.map(cellsOf)])].join("\n");
}

/** The overheads of the conditional writes that win, for one caller: what the published figure is about. */
export function summaryText(rows: readonly BenchRow[]): string {
  const winners = rows.filter((row) => row.callers === 1 && row.cas_overhead_us !== null && !isRefused(row));
  const lines = winners.map((row) => [
    `${row.target}, ${row.durability}: ${row.case}`,
    `${signed(row.cas_overhead_us ?? 0)} us`,
    `over ${row.compared_with}`,
  ]);
  const title = `CAS overhead over a plain write, one caller (published elsewhere: ${published})`;
  return [title, ...alignedLines(lines)].join("\n");
}

function isRefused(row: BenchRow): boolean {
  return row.case.endsWith("-refused");
}

function titleOf({ group, target, durability, callers }: BenchSetting): string {
  const who = callers === 1 ? "1 caller" : `${callers} callers`;
  return `${group}: ${targetMeans[target]}; ${who}; ${durability} (${durabilityMeans[durability]})`;
}

function cellsOf(row: BenchRow): string[] {
  return [
    row.case,
    row.p50_us.toFixed(1),
    row.p99_us.toFixed(1),
    Math.round(row.operations_per_second).toLocaleString("en-US"),
    overheadText(row),
  ];
}

/** Such as `+3.1 (+2.8 to +3.3)`: the difference of the medians, and its quartiles over the rounds. */
function overheadText({ cas_overhead_us: overhead, cas_overhead_quartiles_us: quartiles }: BenchRow): string {
  if (overhead === null || quartiles === null) return "-";
  return `${signed(overhead)} (${signed(quartiles[0])} to ${signed(quartiles[1])})`;
}

function signed(microseconds: number): string {
  return `${microseconds < 0 ? "" : "+"}${microseconds.toFixed(1)}`;
}

/** The first column to the left, the others to the right. */
function alignedLines(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return rows.map((row) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    return `  ${cells.join("  ")}`;
  });
}
