import type { Spec } from "vega";
import { serverNames } from "../http/loaded-servers.js";
import type { BenchReport } from "../report.js";
import { numberText } from "../report-text.js";
import type { BenchRow } from "../table.js";
import { type BarPanel, barChartSpec } from "./bar-chart.js";
import { durabilityInShort, footOf, rowsWith, tablesWith } from "./measured.js";

/**
 * The server under load, beside a bare handler over the same store. The one without a store is not drawn: a sync takes so
 * much longer than HTTP that beside it nobody would see a difference between the others.
 */
export function httpChart(report: BenchReport): Spec | undefined {
  const panels = tablesWith(report, "http", { durability: "durable", client: "load generator" }).map(
    ({ setting, rows }): BarPanel => ({
      heading: `${setting["connections"]} ${setting["connections"] === 1 ? "connection" : "connections"}`,
      axis: "creates per second (more is better)",
      bars: rowsWith({ rows: rows.filter(isDrawn) }, "operations_per_second").map(({ row, value }) => ({
        name: row.case,
        note: row.note ?? "checks, writes and answers as the contract says",
        value,
        label: labelOf(value, row.values["of_bare"]),
        emphasis: row.case === serverNames.ours,
      })),
    }),
  );
  if (panels.length === 0) return undefined;
  return barChartSpec({
    title: "HTTP: creates per second against the bare floor",
    subtitle: [
      `Each request creates a document of about 300 bytes if it is absent; ${durabilityInShort.durable}.`,
      "Servers and load generator are processes of one machine and share its processors; the servers take turns.",
    ],
    panels,
    foot: footOf(report),
  });
}

function isDrawn({ case: name }: BenchRow): boolean {
  return name !== serverNames.empty;
}

function labelOf(perSecond: number, ofBare: number | null | undefined): string {
  const rate = `${numberText(perSecond, 0)}/s`;
  return typeof ofBare === "number" ? `${rate} (${numberText(ofBare, 2)} of bare)` : rate;
}
