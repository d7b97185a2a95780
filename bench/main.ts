import { writeFile } from "node:fs/promises";
import { CommanderError } from "commander";
import { type BenchArguments, parseArguments } from "./arguments.js";
import { describeMachine, doubtsAbout } from "./machine.js";
import { loadPackage, NotBuiltError } from "./package-code.js";
import { type BenchReport, sizeOf, summaryText, tableText } from "./report.js";
import { type BenchRow, runPlan } from "./run.js";
import { targetsIn } from "./targets.js";

/** Exit codes: 0 measured, 1 a wrong result or another failure, 2 a wrong command line, 130 interrupted. */
process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  let parsed: BenchArguments;
  try {
    parsed = parseArguments(args);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
  // The round under way is finished, then servers are stopped and folders removed.
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
  try {
    const report = await measure(parsed, interrupted.signal);
    if (parsed.jsonFile !== undefined) await writeFile(parsed.jsonFile, `${JSON.stringify(report, undefined, 2)}\n`);
    return 0;
  } catch (error) {
    if (interrupted.signal.aborted) {
      console.error("interrupted");
      return 130;
    }
    console.error(error instanceof NotBuiltError ? error.message : error);
    return 1;
  }
}

async function measure(parsed: BenchArguments, signal: AbortSignal): Promise<BenchReport> {
  const { plan, size, code, folder } = parsed;
  const openTarget = targetsIn(folder, await loadPackage(code));
  const started = new Date();
  const machine = await describeMachine(folder);
  const doubts = [
    ...doubtsAbout(machine),
    ...(code === "sources" ? ["The TypeScript sources were measured, not the built package."] : []),
    ...(size === "full" ? [] : [`The size was ${size}.`]),
  ];
  console.log(
    `${machine.cpu}, ${machine.cores} cores, ${machine.system}, Node ${machine.node}; ` +
      `${folder} is ${machine.filesystem}, where a sync takes ${machine.fdatasync_p50_us.toFixed(0)} us\n`,
  );
  const rows: BenchRow[] = [];
  for await (const table of runPlan(plan, openTarget, signal)) {
    console.log(`${tableText(table)}\n`);
    rows.push(...table.rows);
  }
  console.log(summaryText(rows));
  if (doubts.length > 0) console.log(`\nDo not rely on these numbers. ${doubts.join(" ")}`);
  return {
    started_at: started.toISOString(),
    duration_seconds: (Date.now() - started.getTime()) / 1000,
    machine,
    doubts,
    code,
    size: sizeOf(size, plan.rounds),
    rows,
  };
}
