import { tmpdir } from "node:os";
import { Argument, Command, Option } from "commander";
import type { CodeForm } from "./package-code.js";
import type { Durability, SizeName } from "./world.js";

/** What the command line asks for. */
export interface BenchArguments {
  /** In the order in which they run. Each once. */
  readonly groups: readonly string[];
  readonly durabilities: readonly Durability[];
  readonly size: SizeName;
  readonly large: boolean;
  readonly code: CodeForm;
  /** Where the stores' folders are made. */
  readonly folder: string;
  readonly jsonFile: string | undefined;
  readonly chartFolder: string | undefined;
}

interface Options {
  readonly quick?: boolean;
  readonly tiny?: boolean;
  readonly large?: boolean;
  readonly json?: string;
  readonly chart?: string;
  readonly durability?: Durability;
  readonly dir: string;
  readonly sources?: boolean;
}

/**
 * Reads the command line, without Node and file.
 *
 * @param names of all groups there are
 * @throws CommanderError after it has explained what is wrong, or has shown the help
 */
export function parseArguments(args: readonly string[], names: readonly string[]): BenchArguments {
  const command = new Command("npm run bench --")
    .description("Measures oncekv. Every result is checked; a wrong one ends the run.")
    .addArgument(new Argument("[groups...]", "what to measure; everything when absent").choices(names))
    .option("--quick", "rough numbers in a fraction of the time")
    .addOption(new Option("--tiny", "a few operations of each, to see that all works").conflicts("quick"))
    .option("--large", "the group scale goes up to 10 million documents, which takes many minutes")
    .option("--json <file>", "writes the numbers, with the machine and all versions, to a file")
    .option("--chart <folder>", "draws the numbers, an SVG for each chart that they suffice for")
    .addOption(new Option("--durability <mode>", "only this one").choices(["durable", "buffered"]))
    .option("--dir <folder>", "where the stores are made, and removed in the end", tmpdir())
    .option("--sources", "measures the TypeScript sources, not the built package; they are slower")
    .exitOverride()
    .parse(args, { from: "user" });
  const options = command.opts<Options>();
  const { quick = false, tiny = false, large = false, sources = false } = options;
  const asked = (command.processedArgs[0] as string[] | undefined) ?? [];
  return {
    groups: asked.length === 0 ? names : [...new Set(asked)],
    durabilities: options.durability === undefined ? ["durable", "buffered"] : [options.durability],
    size: tiny ? "tiny" : quick ? "quick" : "full",
    large,
    code: sources ? "sources" : "built",
    folder: options.dir,
    jsonFile: options.json,
    chartFolder: options.chart,
  };
}
