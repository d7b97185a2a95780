import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Argument, Command, CommanderError, Option } from "commander";
import { type BenchChild, startChild } from "../child.js";
import { percentile } from "../statistics.js";
import { type Durability, roundsOf } from "../world.js";
import type { BuildProcessMethods, BuildRound } from "./build-process.js";

/**
 * Compares this checkout's build with another one: `npm run bench:builds -- ../before/dist create-if-absent`. Each is in
 * a process of its own, and they take turns, so that what is said of a change is a ratio within one run.
 *
 * Exit codes: 0 measured, 1 a wrong result or another failure, 2 a wrong command line.
 */
process.exitCode = await main(process.argv.slice(2));

interface Options {
  readonly callers: string;
  readonly durability: Durability;
  readonly rounds: string;
  readonly dir: string;
  readonly this: string;
  readonly tiny?: boolean;
}

async function main(args: readonly string[]): Promise<number> {
  const command = new Command("npm run bench:builds --")
    .description("Compares this checkout's build with another one, in turns")
    .addArgument(new Argument("<dist>", "the other build: the folder dist of another checkout"))
    .addArgument(new Argument("[case]", "a case of the group cas").default("create-if-absent"))
    .option("--callers <number>", "operations under way at a time", "64")
    .addOption(new Option("--durability <mode>").choices(["durable", "buffered"]).default("buffered"))
    .option("--rounds <number>", "rounds of each build", "40")
    .option("--this <dist>", "what is compared with it", fileURLToPath(new URL("../../dist", import.meta.url)))
    .option("--tiny", "a few operations, to see that all works")
    .option("--dir <folder>", "where the stores are made, and removed in the end", tmpdir())
    .exitOverride();
  try {
    command.parse(args, { from: "user" });
    const [other = "", name = ""] = command.processedArgs as string[];
    await compare(resolve(other), name, command.opts<Options>());
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    console.error(error);
    return 1;
  }
}

async function compare(other: string, name: string, options: Options): Promise<void> {
  const { durability, dir: folder } = options;
  const callers = Number(options.callers);
  const builds = [other, options.this];
  const plan = options.tiny === true ? { ...roundsOf.tiny, callers } : { ...roundsOf.full, roundMs: 250, callers };
  const rounds = options.tiny === true ? 2 : Number(options.rounds);
  const children: BenchChild<BuildProcessMethods>[] = [];
  const measured: BuildRound[][] = builds.map(() => []);
  try {
    for (const build of builds) {
      const child = startChild<BuildProcessMethods>(new URL("./build-process.ts", import.meta.url));
      children.push(child);
      await child.call("open", { build, folder, durability, callers, name });
    }
    for (let number = -plan.warmupRounds; number < rounds; number++) {
      const order = [...children.entries()];
      if (number % 2 !== 0) order.reverse();
      for (const [index, child] of order) {
        const round = await child.call("round", plan);
        if (number >= 0) measured[index]?.push(round);
      }
    }
  } finally {
    await Promise.all(children.map((child) => child.stop()));
  }
  const [theirs = [], ours = []] = measured;
  console.log(
    `${name}, ${callers} callers, ${durability}; the other build against this one, ${rounds} rounds in turns`,
  );
  report("operations/s", theirs, ours, ({ round }) => (round.latenciesMs.length / round.elapsedMs) * 1000);
  report("processor us an operation", theirs, ours, ({ processorUs }) => processorUs);
}

/** The medians of a number, and the median and the quartiles of its ratio round by round. */
function report(
  what: string,
  theirs: readonly BuildRound[],
  ours: readonly BuildRound[],
  read: (round: BuildRound) => number,
): void {
  const ratios = sorted(ours.map((round, index) => read(round) / read(theirs[index] as BuildRound)));
  const median = (rounds: readonly BuildRound[]): string => percentile(sorted(rounds.map(read)), 0.5).toFixed(1);
  const [low, middle, high] = [0.25, 0.5, 0.75].map((fraction) => percentile(ratios, fraction).toFixed(2));
  console.log(`  ${what}: ${median(theirs)} -> ${median(ours)}, ${middle} times (quartiles ${low} to ${high})`);
}

function sorted(values: readonly number[]): Float64Array {
  return Float64Array.from(values).sort();
}
