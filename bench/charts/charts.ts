import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Spec } from "vega";
import type { BenchReport } from "../report.js";
import { conditionChart } from "./condition-chart.js";
import { httpChart } from "./http-chart.js";
import { peersChart } from "./peers-chart.js";
import { scaleChart } from "./scale-chart.js";
import { svgOf } from "./sheet.js";

/** Makes a chart of a report; undefined: the report has no numbers for it. */
type Chart = (report: BenchReport) => Spec | undefined;

/** All charts, by the names of their files. */
const charts: { readonly [file: string]: Chart } = {
  "condition.svg": conditionChart,
  "peers.svg": peersChart,
  "http.svg": httpChart,
  "scale.svg": scaleChart,
};

/**
 * Draws every chart that the report has numbers for, from the report alone: the same report gives the same files. Files of
 * the other charts stay as they are.
 *
 * @param folder must be there
 * @param say is told which charts were drawn, and which ones were not
 */
export async function writeCharts(report: BenchReport, folder: string, say: (line: string) => void): Promise<void> {
  for (const [file, chart] of Object.entries(charts)) {
    const spec = chart(report);
    if (spec === undefined) {
      say(`no ${file}: the report has no numbers for it`);
      continue;
    }
    await writeFile(join(folder, file), await svgOf(spec));
    say(`drawn: ${join(folder, file)}`);
  }
}
