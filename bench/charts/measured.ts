import type { GroupName } from "../groups.js";
import type { BenchReport, ReportedTable } from "../report.js";
import { doubtsText, machineText } from "../report-text.js";
import type { BenchRow } from "../table.js";
import type { Durability } from "../world.js";

/** What `durable` and `buffered` mean, for a chart. */
export const durabilityInShort: { readonly [durability in Durability]: string } = {
  durable: "durable: answered when it is on disk",
  buffered: "buffered: answered when the operating system has it",
};

/** The tables of a group whose setting has these values. */
export function tablesWith(report: BenchReport, group: GroupName, setting: ReportedTable["setting"]): ReportedTable[] {
  const wanted = Object.entries(setting);
  return report.tables.filter(
    (table) => table.group === group && wanted.every(([name, value]) => table.setting[name] === value),
  );
}

/** A row that has the number that is to be drawn. */
export interface MeasuredRow {
  readonly row: BenchRow;
  readonly value: number;
}

/** The rows of a table that have a number under this key, in the table's order. */
export function rowsWith(table: Pick<ReportedTable, "rows">, key: string): MeasuredRow[] {
  return table.rows.flatMap((row) => {
    const value = row.values[key] ?? null;
    return value === null ? [] : [{ row, value }];
  });
}

/** The row of this case, when it has a number under this key. */
export function rowOf(table: Pick<ReportedTable, "rows">, name: string, key: string): MeasuredRow | undefined {
  return rowsWith(table, key).find(({ row }) => row.case === name);
}

/** Where and when it was measured, and what speaks against the numbers, for the foot of a chart. */
export function footOf({ machine, started_at, doubts }: BenchReport): string[] {
  const version = machine.packages["oncekv"] ?? "";
  return [
    machineText(machine, "the folder of the stores"),
    `oncekv ${version}, measured on ${started_at.slice(0, 10)}`,
    // A line each: they must not be cut off at the edge.
    ...doubts.map((doubt, index) => (index === 0 ? doubtsText([doubt]) : doubt)),
  ];
}
