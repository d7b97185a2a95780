import { overheadOver, type Round, summarize } from "./statistics.js";

/** One number of every row. */
export interface Column {
  /** The name in the JSON report, with its unit: `p50_us`. */
  readonly key: string;
  /** The heading in the table: `p50 us`. */
  readonly heading: string;
  /** Digits behind the point. */
  readonly digits: number;
  /** Whether a number above zero is shown with its sign. */
  readonly signed?: boolean;
}

/** One case under the table's setting. */
export interface BenchRow {
  readonly case: string;
  /** By the columns' keys; null: there is no such number. */
  readonly values: { readonly [key: string]: number | null };
  /** What a reader must know to compare this row with the others: another durability, say. */
  readonly note?: string;
}

/** What was to be reached, and what was. */
export interface TargetResult {
  readonly name: string;
  readonly measured: number;
  /** "us", "ms", "x" (a ratio), "documents/s", "MB". */
  readonly unit: string;
  readonly relation: "at most" | "at least";
  readonly target: number;
}

/** Rows that were measured in one run under one setting, and may be compared. */
export interface BenchTable {
  /** The group's name on the command line. */
  readonly group: string;
  /** What was measured and under which setting, the durability of the writes in words included. */
  readonly title: string;
  /** The same as facts for programs: durability, callers and so on. */
  readonly setting: { readonly [name: string]: string | number };
  readonly columns: readonly Column[];
  readonly rows: readonly BenchRow[];
  readonly targets: readonly TargetResult[];
}

/** What `durable` and `buffered` mean, for a table's title. */
export const durabilityMeans = {
  durable: "durable (a write is answered when it is on disk)",
  buffered: "buffered (a write is answered when the operating system has it; it survives the process, not the power)",
} as const;

/** The columns of `timedRow`. */
export const timedColumns: readonly Column[] = [
  { key: "p50_us", heading: "p50 us", digits: 1 },
  { key: "p99_us", heading: "p99 us", digits: 1 },
  { key: "operations_per_second", heading: "operations/s", digits: 0 },
];

/** The columns that `comparedRow` adds. */
export const comparedColumns: readonly Column[] = [
  ...timedColumns,
  { key: "overhead_us", heading: "over it, us", digits: 1, signed: true },
  { key: "overhead_q1_us", heading: "from", digits: 1, signed: true },
  { key: "overhead_q3_us", heading: "to", digits: 1, signed: true },
];

/** A case in numbers: nearest-rank percentiles over all rounds; operations of all callers together. */
export function timedRow(name: string, rounds: readonly Round[], note?: string): BenchRow {
  const { operations, p50Us, p99Us, operationsPerSecond } = summarize(rounds);
  const values = { operations, p50_us: p50Us, p99_us: p99Us, operations_per_second: operationsPerSecond };
  return note === undefined ? { case: name, values } : { case: name, values, note };
}

/**
 * The same, with what the case takes beyond another one of the same rounds: the difference of the medians, and the
 * quartiles of that difference taken round by round.
 */
export function comparedRow(
  name: string,
  rounds: readonly Round[],
  comparedWith: { readonly name: string; readonly rounds: readonly Round[] } | undefined,
): BenchRow {
  const row = timedRow(name, rounds);
  if (comparedWith === undefined) {
    return { ...row, values: { ...row.values, overhead_us: null, overhead_q1_us: null, overhead_q3_us: null } };
  }
  const { medianUs, quartilesUs } = overheadOver(comparedWith.rounds, rounds);
  const [overhead_q1_us, overhead_q3_us] = quartilesUs;
  return {
    ...row,
    values: { ...row.values, overhead_us: medianUs, overhead_q1_us, overhead_q3_us },
    note: `over ${comparedWith.name}`,
  };
}

/** A target whose measure is in the unit of the target already. */
export function target(
  name: string,
  measured: number,
  unit: string,
  relation: TargetResult["relation"],
  bound: number,
): TargetResult {
  return { name, measured, unit, relation, target: bound };
}

/** Whether what was to be reached was. */
export function isReached({ measured, relation, target: bound }: TargetResult): boolean {
  return relation === "at most" ? measured <= bound : measured >= bound;
}
