import { tmpdir } from "node:os";
import { Argument, Command, Option } from "commander";
import type { RoundPlan } from "./measure.js";
import type { CodeForm } from "./package-code.js";
import { type BenchPlan, type GroupName, groups } from "./run.js";
import type { Durability, TargetKind } from "./targets.js";

/** How much is measured, by name. */
const sizes = {
  full: { warmupRounds: 2, rounds: 32, roundMs: 100, operationsPerCaller: 0 },
  quick: { warmupRounds: 1, rounds: 6, roundMs: 50, operationsPerCaller: 0 },
  tiny: { warmupRounds: 0, rounds: 2, roundMs: 0, operationsPerCaller: 3 },
} as const satisfies { readonly [name: string]: RoundPlan };

/** What the command line asks for. */
export interface BenchArguments {
  readonly plan: BenchPlan;
  readonly size: keyof typeof sizes;
  readonly code: CodeForm;
  /** Where the stores' folders are made. */
  readonly folder: string;
  readonly jsonFile: string | undefined;
}

interface Options {
  readonly quick?: boolean;
  readonly tiny?: boolean;
  readonly json?: string;
  readonly only?: TargetKind;
  readonly durability?: Durability;
  readonly dir: string;
  readonly sources?: boolean;
}

/**
 * Reads the command line, without Node and file.
 *
 * @throws CommanderError after it has explained what is wrong, or has shown the help
 */
export function parseArguments(args: readonly string[]): BenchArguments {
  const names = Object.keys(groups) as GroupName[];
  const command = new Command("npm run bench --")
    .description("Measures what a condition adds to a write. Every result is checked; a wrong one ends the run.")
    .addArgument(new Argument("[groups...]", "what to measure; everything when absent").choices(names))
    .option("--quick", "about half a minute in place of three; the numbers are rough")
    .addOption(new Option("--tiny", "a few operations of each, to see that all works").conflicts("quick"))
    .option("--json <file>", "writes the numbers, with the machine and all versions, to a file")
    .addOption(
      new Option("--only <target>", "only the store in this process, or only over HTTP").choices(["embedded", "http"]),
    )
    .addOption(new Option("--durability <mode>", "only this one").choices(["durable", "buffered"]))
    .option("--dir <folder>", "where the stores are made, and removed in the end", tmpdir())
    .option("--sources", "measures the TypeScript sources, not the built package; they are slower")
    .exitOverride()
    .parse(args, { from: "user" });
  const { quick = false, tiny = false, json, only, durability, dir, sources = false } = command.opts<Options>();
  const asked = command.processedArgs[0] as GroupName[] | undefined;
  const size = tiny ? "tiny" : quick ? "quick" : "full";
  return {
    plan: {
      groups: asked === undefined || asked.length === 0 ? names : asked,
      targets: only === undefined ? ["embedded", "http"] : [only],
      durabilities: durability === undefined ? ["durable", "buffered"] : [durability],
      callers: [1, 64],
      rounds: sizes[size],
    },
    size,
    code: sources ? "sources" : "built",
    folder: dir,
    jsonFile: json,
  };
}
