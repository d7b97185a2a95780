/** What one round of one case gave: the operations that were begun within a stretch of time. */
export interface Round {
  /** How long each operation took, in milliseconds, from the call to its answer. In no particular order. */
  readonly latenciesMs: readonly number[];
  /** From the start of the first operation to the end of the last one, in milliseconds. */
  readonly elapsedMs: number;
}

/** All rounds of one case, in numbers. */
export interface Summary {
  readonly operations: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** Of all callers together. */
  readonly operationsPerSecond: number;
}

/** How much longer one case takes than another, in microseconds. Below zero: it is faster. */
export interface Overhead {
  /** The difference of the medians over all rounds. */
  readonly medianUs: number;
  /**
   * The first and third quartile of the same difference taken round by round. Where they lie far apart, or on both sides
   * of zero, the machine was too restless to tell.
   */
  readonly quartilesUs: readonly [number, number];
}

/**
 * The value below or at which the given part of the values lies (nearest rank: always a value that was seen).
 *
 * @param sorted ascending, at least one
 * @param fraction above 0, at most 1
 */
export function percentile(sorted: ArrayLike<number>, fraction: number): number {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)];
  if (value === undefined) throw new RangeError("there is no percentile of nothing");
  return value;
}

export function summarize(rounds: readonly Round[]): Summary {
  const latencies = sortedLatencies(rounds);
  const elapsedMs = rounds.reduce((sum, round) => sum + round.elapsedMs, 0);
  return {
    operations: latencies.length,
    p50Us: percentile(latencies, 0.5) * 1000,
    p99Us: percentile(latencies, 0.99) * 1000,
    operationsPerSecond: (latencies.length / elapsedMs) * 1000,
  };
}

/**
 * Compares two cases that were measured in the same rounds.
 *
 * @param plain what is subtracted
 */
export function overheadOver(plain: readonly Round[], rounds: readonly Round[]): Overhead {
  if (plain.length !== rounds.length) throw new RangeError("only cases with the same rounds can be compared");
  const differences = Float64Array.from(
    plain,
    (one, index) => medianMs(rounds.slice(index, index + 1)) - medianMs([one]),
  );
  differences.sort();
  return {
    medianUs: (medianMs(rounds) - medianMs(plain)) * 1000,
    quartilesUs: [percentile(differences, 0.25) * 1000, percentile(differences, 0.75) * 1000],
  };
}

/** How many times the median of another case of the same rounds this one's median is. */
export function ratioOver(other: readonly Round[], rounds: readonly Round[]): number {
  return medianMs(rounds) / medianMs(other);
}

function medianMs(rounds: readonly Round[]): number {
  return percentile(sortedLatencies(rounds), 0.5);
}

function sortedLatencies(rounds: readonly Round[]): Float64Array {
  return Float64Array.from(rounds.flatMap((round) => round.latenciesMs)).sort();
}
