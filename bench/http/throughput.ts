import { percentile, type Round, summarize } from "../statistics.js";

/** How many times the operations per second of another case one case has. */
export interface ThroughputRatio {
  /** Over all rounds. */
  readonly ratio: number;
  /** The first and third quartile of the same ratio taken round by round. */
  readonly quartiles: readonly [number, number];
}

/** Compares two cases that were measured in the same rounds. */
export function throughputOver(other: readonly Round[], rounds: readonly Round[]): ThroughputRatio {
  if (other.length !== rounds.length) throw new RangeError("only cases with the same rounds can be compared");
  const ratios = Float64Array.from(other, (one, index) => rate(rounds.slice(index, index + 1)) / rate([one])).sort();
  return { ratio: rate(rounds) / rate(other), quartiles: [percentile(ratios, 0.25), percentile(ratios, 0.75)] };
}

function rate(rounds: readonly Round[]): number {
  return summarize(rounds).operationsPerSecond;
}
