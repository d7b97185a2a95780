import { parseArgs } from "node:util";
import { SeededRandom } from "../crash/seeded-random.js";
import { addCounts, type Counts } from "./counts.js";
import type { Trial } from "./trial.js";

/** A command line that cannot be followed; its message says why. */
export class TortureUsageError extends Error {}

/**
 * Runs trials in turn, each piece of work with a seed of its own, until the time is over or one of them finds something.
 *
 * @param args `--minutes N`, or `--pieces N` of each trial; `--seed N`; `--only <trial>`; `--repeat N`, one piece with this seed
 * @param write takes the lines that say what was tried
 * @param now milliseconds that only grow; no piece is begun when the minutes are over
 * @throws TortureUsageError, and what a trial finds
 */
export async function torture(
  args: readonly string[],
  trials: readonly Trial[],
  write: (line: string) => void,
  now: () => number = () => performance.now(),
): Promise<void> {
  const { values } = parse(args);
  const minutes = numberOf(values.minutes, "--minutes");
  const repeated = values.repeat === undefined ? undefined : numberOf(values.repeat, "--repeat");
  const pieces = repeated === undefined ? values.pieces : "1";
  const piecesMax = pieces === undefined ? Number.POSITIVE_INFINITY : numberOf(pieces, "--pieces");
  const random = values.seed === undefined ? new SeededRandom() : new SeededRandom(numberOf(values.seed, "--seed"));
  const chosen = trials.filter(({ name }) => values.only === undefined || name === values.only);
  if (chosen.length === 0) {
    throw new TortureUsageError(`--only must be one of ${trials.map(({ name }) => name).join(", ")}`);
  }
  const end = piecesMax === Number.POSITIVE_INFINITY ? now() + minutes * 60_000 : Number.POSITIVE_INFINITY;
  const sums = new Map<string, Counts>(chosen.map(({ name }) => [name, {}]));
  write(`seed ${random.seed}`);
  for (let piece = 0; piece < piecesMax && now() < end; piece++) {
    for (const trial of chosen) {
      if (now() >= end) break;
      // Each piece has a seed of its own, so that it can be repeated alone: --only <trial> --repeat <seed>.
      const seed = repeated ?? random.below(2 ** 31);
      const counts = await trial.run(new SeededRandom(seed)).catch((error: unknown) => {
        write(`FAILED ${trial.name}, piece ${piece} with the seed ${seed}`);
        throw error;
      });
      sums.set(trial.name, addCounts(sums.get(trial.name) ?? {}, { pieces: 1, ...counts }));
      write(`${trial.name} ${seed}: ${textOf(counts)}`);
    }
  }
  for (const [name, sum] of sums) write(`${name} in all: ${textOf(sum)}`);
}

/** Runs trials as this process' command line says, and ends the process. */
export async function runTorture(trials: readonly Trial[]): Promise<void> {
  try {
    await torture(process.argv.slice(2), trials, (line) => process.stdout.write(`${line}\n`));
  } catch (error) {
    const isUsage = error instanceof TortureUsageError;
    process.stderr.write(`${isUsage ? error.message : describe(error)}\n`);
    // What a failed trial has left open would keep the process alive.
    process.exit(isUsage ? 2 : 1);
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        minutes: { type: "string", default: "10" },
        seed: { type: "string" },
        /** Only this trial. */
        only: { type: "string" },
        /** Pieces of work of each trial, in the place of minutes. */
        pieces: { type: "string" },
        /** One piece of work with this very seed. */
        repeat: { type: "string" },
      },
    });
  } catch (error) {
    throw new TortureUsageError((error as Error).message, { cause: error });
  }
}

function textOf(counts: Counts): string {
  return Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(", ");
}

function numberOf(text: string, option: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new TortureUsageError(`${option} must be a number, not ${text}`);
  return Number(text);
}
