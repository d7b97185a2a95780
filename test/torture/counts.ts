/** How often what was tried or found. */
export interface Counts {
  readonly [what: string]: number;
}

/** Counts that grow while work goes on. */
export interface Tally {
  [what: string]: number;
}

export function count(tally: Tally, what: string, by = 1): void {
  tally[what] = (tally[what] ?? 0) + by;
}

/** The sum of both, without changing either. */
export function addCounts(one: Counts, other: Counts): Counts {
  const sum: Tally = { ...one };
  for (const [what, by] of Object.entries(other)) count(sum, what, by);
  return sum;
}
