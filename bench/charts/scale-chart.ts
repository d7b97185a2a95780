import type { Spec } from "vega";
import type { BenchReport, ReportedTable } from "../report.js";
import { numberText } from "../report-text.js";
import { type BarPanel, barChartSpec } from "./bar-chart.js";
import { durabilityInShort, footOf, rowsWith, tablesWith } from "./measured.js";

/** What is drawn of each store, a panel each. */
const drawn = [
  { key: "claim_p50_us", ratioKey: "claim_of_empty", heading: "a claim, median", emphasis: true },
  { key: "claim_p99_us", ratioKey: undefined, heading: "a claim, 99th percentile", emphasis: false },
  { key: "hit_p50_us", ratioKey: undefined, heading: "a get of a document that is there, median", emphasis: false },
] as const;

/** What the number of documents in a store does to a claim and to a get. */
export function scaleChart(report: BenchReport): Spec | undefined {
  const [table] = tablesWith(report, "scale", { durability: "durable" });
  if (table === undefined) return undefined;
  const panels = drawn.map((one) => panelOf(table, one)).filter(({ bars }) => bars.length > 0);
  if (panels.length === 0) return undefined;
  return barChartSpec({
    title: "A claim in a store of any size",
    subtitle: [
      `One caller creates documents of about 300 bytes if they are absent; ${durabilityInShort.durable}.`,
      "The stores were opened full, each in a process of its own, and take turns.",
    ],
    panels,
    foot: footOf(report),
  });
}

function panelOf(table: ReportedTable, { key, ratioKey, heading, emphasis }: (typeof drawn)[number]): BarPanel {
  return {
    heading,
    axis: "microseconds from the call to its answer (less is better)",
    bars: rowsWith(table, key).map(({ row, value }) => {
      const ratio = ratioKey === undefined ? null : (row.values[ratioKey] ?? null);
      const ofEmpty = ratio === null ? "" : ` (${numberText(ratio, 2)} of empty)`;
      return { name: row.case, note: "", value, label: `${numberText(value, 1)} us${ofEmpty}`, emphasis };
    }),
  };
}
