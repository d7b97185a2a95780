import { parseArgs } from "node:util";
import { SeededRandom } from "../crash/seeded-random.js";
import { trials } from "./trials.js";

/*
 * The long form of everything that tries to break a promise: `npm run torture -- --minutes N --seed S`. The trials take turns,
 * each piece of work with a seed of its own, until the time is over or one of them finds something.
 */

const { values } = parseArgs({
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
const minutes = numberOf(values.minutes, "--minutes");
const repeated = values.repeat === undefined ? undefined : numberOf(values.repeat, "--repeat");
const pieces = repeated === undefined ? values.pieces : "1";
const piecesMax = pieces === undefined ? Number.POSITIVE_INFINITY : numberOf(pieces, "--pieces");
const random = values.seed === undefined ? new SeededRandom() : new SeededRandom(numberOf(values.seed, "--seed"));
const chosen = trials.filter(({ name }) => values.only === undefined || name === values.only);
if (chosen.length === 0) throw new Error(`--only must be one of ${trials.map(({ name }) => name).join(", ")}`);

const end = piecesMax === Number.POSITIVE_INFINITY ? performance.now() + minutes * 60_000 : Number.POSITIVE_INFINITY;
const sums = new Map<string, Map<string, number>>(chosen.map(({ name }) => [name, new Map()]));
process.stdout.write(`seed ${random.seed}\n`);
for (let piece = 0; piece < piecesMax && performance.now() < end; piece++) {
  for (const trial of chosen) {
    // Each piece has a seed of its own, so that it can be repeated alone: --only <trial> --repeat <seed>.
    const seed = repeated ?? random.below(2 ** 31);
    const counts = await trial.run(new SeededRandom(seed)).catch((error: unknown) => {
      process.stdout.write(`FAILED ${trial.name}, piece ${piece} with the seed ${seed}\n`);
      throw error;
    });
    const sum = sums.get(trial.name);
    for (const [what, count] of Object.entries({ pieces: 1, ...counts })) sum?.set(what, (sum.get(what) ?? 0) + count);
    process.stdout.write(`${trial.name} ${seed}: ${textOf(Object.entries(counts))}\n`);
  }
}
for (const [name, sum] of sums) process.stdout.write(`${name} in all: ${textOf([...sum])}\n`);

function textOf(counts: readonly (readonly [string, number])[]): string {
  return counts.map(([what, count]) => `${count} ${what}`).join(", ");
}

function numberOf(text: string, option: string): number {
  const value = Number(text);
  if (text === "" || !Number.isFinite(value) || value < 0) throw new Error(`${option} must be a number, not ${text}`);
  return value;
}
