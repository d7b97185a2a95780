import type { Machine } from "./machine.js";
import { type BenchRow, type BenchTable, type Column, isReached, type TargetResult } from "./table.js";

/** The line above all tables. `folder` is where the stores are. */
export function machineText(machine: Machine, folder: string): string {
  const { cpu, cores, system, node, filesystem, fdatasync_p50_us: syncUs } = machine;
  return `${cpu}, ${cores} cores, ${system}, Node ${node}; ${folder} is ${filesystem}, where a sync takes ${syncUs.toFixed(0)} us`;
}

/** A title, a line of headings and a line for each row, with the row's note at its end. */
export function tableText({ group, title, columns, rows }: BenchTable): string {
  const head = ["", ...columns.map(({ heading }) => heading)];
  const lines = alignedLines([head, ...rows.map((row) => cellsOf(row, columns))]);
  const notes = ["", ...rows.map(({ note }) => note ?? "")];
  return [`${group}: ${title}`, ...lines.map((line, index) => `  ${line}  ${notes[index]}`.trimEnd())].join("\n");
}

/** What was to be reached, what was, and whether that is enough, over all tables. Empty when nothing was to be reached. */
export function targetsText(tables: readonly BenchTable[]): string {
  const all = tables.flatMap(({ group, targets }) => targets.map((target) => ({ group, target })));
  if (all.length === 0) return "";
  const missed = all.filter(({ target }) => !isReached(target)).length;
  const lines = all.map(({ group, target }) => [
    `${group}: ${target.name}`,
    amount(target.measured, target.unit),
    `${target.relation} ${amount(target.target, target.unit)}`,
  ]);
  const verdicts = all.map(({ target }) => (isReached(target) ? "reached" : "NOT reached"));
  const title = `Targets: ${all.length - missed} of ${all.length} reached`;
  return [title, ...alignedLines(lines).map((line, index) => `  ${line}  ${verdicts[index]}`)].join("\n");
}

/** Why the numbers should not be relied upon. Empty when nothing is known against them. */
export function doubtsText(doubts: readonly string[]): string {
  return doubts.length === 0 ? "" : `Do not rely on these numbers. ${doubts.join(" ")}`;
}

/** With a comma between thousands, and nothing that the rounding made up: neither `-0` nor `+0`. */
export function numberText(value: number, digits: number, signed = false): string {
  return value.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    signDisplay: signed ? "exceptZero" : "negative",
  });
}

function cellsOf({ case: name, values }: BenchRow, columns: readonly Column[]): string[] {
  return [
    name,
    ...columns.map(({ key, digits, signed }) => {
      const value = values[key] ?? null;
      return value === null ? "-" : numberText(value, digits, signed);
    }),
  ];
}

/** A ratio needs its hundredths, thousands a second need no fraction. */
function amount(value: number, unit: TargetResult["unit"]): string {
  const magnitude = Math.abs(value);
  const digits = magnitude >= 1000 || Number.isInteger(value) ? 0 : magnitude >= 100 ? 1 : 2;
  return unit === "x" ? `${numberText(value, digits)}x` : `${numberText(value, digits)} ${unit}`;
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
    return cells.join("  ");
  });
}
