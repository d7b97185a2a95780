import { access, constants, mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { inspect } from "node:util";
import { CommanderError } from "commander";
import { type BenchArguments, parseArguments } from "./arguments.js";
import { describeMachine, doubtsAbout } from "./machine.js";
import { loadPackage, NotBuiltError } from "./package-code.js";
import { type BenchReport, type ReportedTable, reportedSize, reportedTable } from "./report.js";
import { doubtsText, machineText, tableText, targetsText } from "./report-text.js";
import type { BenchTable } from "./table.js";
import { type BenchGroup, type BenchWorld, roundsOf } from "./world.js";

/** What the command works with. */
export interface CommandSurroundings {
  /** By the names that the command line takes, in the order in which they run. */
  readonly groups: { readonly [name: string]: BenchGroup };
  /** Aborts at an interrupt. */
  readonly signal: AbortSignal;
  /** Gives out results. */
  print(text: string): void;
  /** Tells whoever waits what is going on, and what went wrong. */
  say(line: string): void;
}

/**
 * Measures what the command line asks for. A target that is missed is marked and is no failure: machines are noisy.
 *
 * @returns the exit code: 0 measured, 1 a wrong result or another failure, 2 a wrong command line, 130 interrupted
 */
export async function runCommand(args: readonly string[], surroundings: CommandSurroundings): Promise<number> {
  const { groups, signal, say } = surroundings;
  let parsed: BenchArguments;
  try {
    parsed = parseArguments(args, Object.keys(groups));
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
  try {
    await checkOutputs(parsed);
    const report = await measure(parsed, surroundings);
    await writeOutputs(report, parsed, say);
    return 0;
  } catch (error) {
    if (signal.aborted) {
      say("interrupted");
      return 130;
    }
    say(error instanceof NotBuiltError ? error.message : inspect(error));
    return 1;
  }
}

async function measure(parsed: BenchArguments, surroundings: CommandSurroundings): Promise<BenchReport> {
  const { size, large, code, folder, durabilities } = parsed;
  const { signal, print } = surroundings;
  const started = new Date();
  const world: BenchWorld = {
    code: await loadPackage(code),
    codeForm: code,
    folder,
    size,
    rounds: roundsOf[size],
    large,
    durabilities,
    signal,
    say: surroundings.say,
  };
  const machine = await describeMachine(folder);
  const doubts = [...doubtsAbout(machine), ...doubtsAboutRun(parsed)];
  print(`${machineText(machine, folder)}\n`);
  const tables: ReportedTable[] = [];
  for await (const table of tablesOf(parsed.groups, surroundings.groups, world)) {
    const reported = reportedTable(table);
    print(`${tableText(reported)}\n`);
    tables.push(reported);
  }
  for (const text of [targetsText(tables), doubtsText(doubts)]) if (text !== "") print(`${text}\n`);
  return {
    started_at: started.toISOString(),
    duration_seconds: (Date.now() - started.getTime()) / 1000,
    machine,
    doubts,
    code,
    size: reportedSize(size, world.rounds),
    large,
    tables,
  };
}

/** The tables of the groups, one group after the other. Whoever reads no further ends the group under way in order. */
async function* tablesOf(
  names: readonly string[],
  groups: CommandSurroundings["groups"],
  world: BenchWorld,
): AsyncGenerator<BenchTable, void, undefined> {
  for (const name of names) {
    const group = groups[name];
    if (group === undefined) throw new RangeError(`there is no group ${name}`);
    world.signal.throwIfAborted();
    world.say(`${name} ...`);
    for await (const table of group(world)) {
      yield table;
      world.signal.throwIfAborted();
    }
  }
}

function doubtsAboutRun({ code, size }: BenchArguments): string[] {
  return [
    ...(code === "sources" ? ["The TypeScript sources were measured, not the built package."] : []),
    ...(size === "full" ? [] : [`The size was ${size}.`]),
  ];
}

/** Fails before anything is measured, not after many minutes, when the results could not be written. */
async function checkOutputs({ jsonFile, chartFolder }: BenchArguments): Promise<void> {
  if (jsonFile !== undefined) await access(dirname(jsonFile), constants.W_OK);
  if (chartFolder !== undefined) await mkdir(chartFolder, { recursive: true });
}

async function writeOutputs(report: BenchReport, parsed: BenchArguments, say: (line: string) => void): Promise<void> {
  const { jsonFile, chartFolder } = parsed;
  if (jsonFile !== undefined) await writeFile(jsonFile, `${JSON.stringify(report, undefined, 2)}\n`);
  if (chartFolder === undefined) return;
  // Loaded now, so that a library which draws is not in the process while it measures.
  const { writeCharts } = await import("./charts/charts.js");
  await writeCharts(report, chartFolder, say);
}
