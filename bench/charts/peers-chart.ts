import type { Spec } from "vega";
import type { BenchReport, ReportedTable } from "../report.js";
import { numberText } from "../report-text.js";
import type { BenchRow } from "../table.js";
import { type BarPanel, barChartSpec } from "./bar-chart.js";
import { durabilityInShort, footOf, type MeasuredRow, rowsWith, tablesWith } from "./measured.js";

/** How many create at a time in the tables that are drawn. */
const drawnCallers = [64, 512] as const;

const drawnKey = "operations_per_second";

/** Ours beside what a user would pick instead, the fastest one first. */
export function peersChart(report: BenchReport): Spec | undefined {
  const tables = drawnCallers.flatMap((callers) => tablesWith(report, "peers", { durability: "durable", callers }));
  if (tables.length === 0) return undefined;
  return barChartSpec({
    title: "Creates per second, beside what one would pick instead",
    subtitle: [
      `The same documents of about 300 bytes, in turns, in one run; ${durabilityInShort.durable}.`,
      "Below each name its version, and what its answer rests on.",
    ],
    panels: tables.map(panelOf),
    foot: [...namesOfUnmeasured(tables), ...footOf(report)],
  });
}

function panelOf({ setting, rows }: ReportedTable): BarPanel {
  const fastestFirst = (one: MeasuredRow, other: MeasuredRow): number => other.value - one.value;
  return {
    heading: `${setting["callers"]} callers`,
    axis: "creates per second (more is better)",
    bars: rowsWith({ rows }, drawnKey)
      .toSorted(fastestFirst)
      .map(({ row, value }) => ({
        name: row.case,
        note: noteOf(row),
        value,
        label: `${numberText(value, 0)}/s`,
        emphasis: row.case.startsWith("oncekv"),
      })),
  };
}

/** What a note says of the latency is not about these bars. */
function noteOf({ note = "" }: BenchRow): string {
  return note
    .split("; ")
    .filter((part) => !part.startsWith("latency"))
    .join("; ");
}

function namesOfUnmeasured(tables: readonly ReportedTable[]): string[] {
  const names = tables.flatMap(({ rows }) => rows.filter((row) => (row.values[drawnKey] ?? null) === null));
  const different = [...new Set(names.map((row) => row.case))];
  return different.length === 0 ? [] : [`Not measured: ${different.join(", ")}.`];
}
