import type { RoundPlan } from "./measure.js";
import type { CodeForm, PackageCode } from "./package-code.js";
import type { BenchTable } from "./table.js";

export type Durability = "durable" | "buffered";

/** How much is measured. `tiny` only shows that everything works: the tests run it. */
export type SizeName = "full" | "quick" | "tiny";

/** How long a case is measured, by the name of the size. */
export const roundsOf: { readonly [size in SizeName]: RoundPlan } = {
  full: { warmupRounds: 2, rounds: 16, roundMs: 100, operationsPerCaller: 0 },
  quick: { warmupRounds: 1, rounds: 6, roundMs: 50, operationsPerCaller: 0 },
  tiny: { warmupRounds: 0, rounds: 2, roundMs: 0, operationsPerCaller: 3 },
};

/** What a group of benchmarks is given. */
export interface BenchWorld {
  /** The code that is measured. */
  readonly code: PackageCode;
  /** Whether that is the built package or its sources; child processes load the same. */
  readonly codeForm: CodeForm;
  /** Where stores' folders are made, and removed in the end. */
  readonly folder: string;
  readonly size: SizeName;
  readonly rounds: RoundPlan;
  /** Measures the sizes that take many minutes, too. */
  readonly large: boolean;
  readonly durabilities: readonly Durability[];
  /** Aborts when the run is interrupted: measuring ends after the round under way. */
  readonly signal: AbortSignal;
  /** Tells the person who waits what is going on. Not part of the results. */
  say(line: string): void;
}

/**
 * Measures one group and gives each table as soon as it is complete. Throws at the first wrong result. Closes and removes
 * all that it has opened, also when the caller reads no further.
 */
export type BenchGroup = (world: BenchWorld) => AsyncGenerator<BenchTable, void, undefined>;
