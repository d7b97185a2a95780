import { mkdir, readFile } from "node:fs/promises";
import { writeCharts } from "./charts/charts.js";
import type { BenchReport } from "./report.js";

/**
 * Draws the charts of a report again, without measuring: `npm run bench:chart -- results.json docs/benchmarks`.
 *
 * Exit codes: 0 drawn, 1 a failure, 2 a wrong command line.
 */
process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const [file, folder] = args;
  if (file === undefined || folder === undefined || args.length > 2) {
    console.error("usage: npm run bench:chart -- <report.json> <folder>");
    return 2;
  }
  try {
    const report = JSON.parse(await readFile(file, "utf8")) as Partial<BenchReport>;
    if (!Array.isArray(report.tables))
      throw new Error(`${file} has no tables: is it from \`npm run bench -- --json\`?`);
    await mkdir(folder, { recursive: true });
    await writeCharts(report as BenchReport, folder, (line) => console.error(line));
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}
