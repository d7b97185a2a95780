import type { Spec } from "vega";
import type { BenchReport, ReportedTable } from "../report.js";
import { numberText } from "../report-text.js";
import { type Bar, type BarPanel, barChartSpec } from "./bar-chart.js";
import { durabilityInShort, footOf, rowOf, tablesWith } from "./measured.js";

/** The writes that are drawn, beside what each of them is. The refused one is not: it writes nothing. */
const writes = [
  { name: "put-new", note: "a plain put of a document that is not there", isConditional: false },
  { name: "create-if-absent", note: "the same, if it is not there", isConditional: true },
  { name: "put-replacing", note: "a plain put of a document that is there", isConditional: false },
  { name: "put-if-revision", note: "the same, if it has this revision", isConditional: true },
  { name: "put-if-fields", note: "the same, if two fields are these", isConditional: true },
] as const;

/** The settings that are drawn: one caller, since with many of them most of the time is waiting for one another. */
const panels = [
  { group: "cas", setting: { durability: "durable", callers: 1 }, where: "embedded" },
  { group: "cas", setting: { durability: "buffered", callers: 1 }, where: "embedded" },
  { group: "http", setting: { durability: "durable", callers: 1 }, where: "over HTTP, one connection" },
] as const;

/** What a condition costs: the median of each plain put beside those of the conditional ones that do the same. */
export function conditionChart(report: BenchReport): Spec | undefined {
  const found = panels.flatMap(({ group, setting, where }): BarPanel[] => {
    const table = tablesWith(report, group, setting).find((one) => rowOf(one, "create-if-absent", "p50_us"));
    if (table === undefined) return [];
    return [
      {
        heading: `${where}; ${durabilityInShort[setting.durability]}`,
        axis: "median microseconds from the call to its answer (less is better)",
        bars: barsOf(table),
      },
    ];
  });
  if (found.length === 0) return undefined;
  return barChartSpec({
    title: "What a condition costs",
    subtitle: [
      "One caller puts documents of about 300 bytes; plain and conditional puts in turns, in one run.",
      "In blue the conditional ones, in parentheses what the condition adds to the plain put that does the same work.",
    ],
    panels: found,
    foot: footOf(report),
  });
}

function barsOf(table: ReportedTable): Bar[] {
  return writes.flatMap(({ name, note, isConditional }) => {
    const measured = rowOf(table, name, "p50_us");
    if (measured === undefined) return [];
    const overhead = isConditional ? (measured.row.values["overhead_us"] ?? null) : null;
    const added = overhead === null ? "" : ` (${numberText(overhead, 1, true)} us)`;
    const { value } = measured;
    return [{ name, note, value, label: `${numberText(value, 1)} us${added}`, emphasis: isConditional }];
  });
}
