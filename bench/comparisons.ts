import { type Comparison, measureInterleaved } from "./measure.js";
import type { Round } from "./statistics.js";
import { type BenchRow, comparedRow } from "./table.js";
import type { BenchWorld } from "./world.js";

/** The rounds of each case, by its name. */
export type Measured = ReadonlyMap<string, readonly Round[]>;

/** Measures comparison after comparison; the cases of each take turns. Gives the rounds, and a row for each case. */
export async function measureComparisons(
  comparisons: readonly Comparison[],
  { rounds, signal }: Pick<BenchWorld, "rounds" | "signal">,
  callers: number,
): Promise<{ readonly measured: Measured; readonly rows: readonly BenchRow[] }> {
  const measured = new Map<string, readonly Round[]>();
  const rows: BenchRow[] = [];
  for (const comparison of comparisons) {
    const results = await measureInterleaved(comparison, { ...rounds, callers, signal });
    for (const [index, { name }] of comparison.entries()) measured.set(name, results[index] ?? []);
    for (const { name, comparedWith } of comparison) {
      const baseline =
        comparedWith === undefined ? undefined : { name: comparedWith, rounds: roundsIn(measured, comparedWith) };
      rows.push(comparedRow(name, roundsIn(measured, name), baseline));
    }
  }
  return { measured, rows };
}

/** The rounds of a case. @throws RangeError when it was not measured */
export function roundsIn(measured: Measured, name: string): readonly Round[] {
  const rounds = measured.get(name);
  if (rounds === undefined) throw new RangeError(`there is no case ${name} among those that were measured`);
  return rounds;
}
