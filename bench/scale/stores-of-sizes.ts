import { type BenchChild, startChild } from "../child.js";
import type { RoundPlan } from "../measure.js";
import type { Round } from "../statistics.js";
import type { BenchWorld, Durability } from "../world.js";
import type { ProcessMemory } from "./process-memory.js";
import type { ScaleCaseName } from "./scale-cases.js";
import type { StoreProcessMethods } from "./store-process.js";

/** How long a store is measured. */
export interface ScalePlan extends RoundPlan {
  /** See `untilStill`. */
  readonly stillMs: number;
}

/** A store of one size. */
export interface StoreOfSize {
  readonly dataDir: string;
  readonly documents: number;
}

/** What a store of one size gave. */
export interface MeasuredStore extends ProcessMemory {
  readonly documents: number;
  readonly openMs: number;
  readonly claim: readonly Round[];
  /** None for an empty store. */
  readonly hit: readonly Round[];
  readonly miss: readonly Round[];
  readonly diskBytes: number;
}

type StoreProcess = BenchChild<StoreProcessMethods>;

/** How many documents are loaded between two looks at the signal. */
const loadedAtOnce = 250_000;

/** Loads a store in a process of its own, and closes it. */
export async function loadStore(
  world: BenchWorld,
  { dataDir, documents }: StoreOfSize,
  plan: ScalePlan,
): Promise<void> {
  await withStoreProcesses(1, async ([process]) => {
    await process?.call("open", { code: world.codeForm, dataDir, durability: "durable", documents, claimsFrom: 0 });
    for (let from = 0; from < documents; from += loadedAtOnce) {
      world.signal.throwIfAborted();
      const to = Math.min(documents, from + loadedAtOnce);
      await process?.call("load", { from, to });
      world.say(`loaded ${to} of ${documents} documents`);
    }
    await process?.call("settle", plan.stillMs);
  });
}

/**
 * Opens each store in a process of its own and measures them in turns, each round all of them, every other time in
 * reverse order.
 */
export function measureStores(
  world: BenchWorld,
  stores: readonly (StoreOfSize & { readonly claimsFrom: number })[],
  durability: Durability,
  plan: ScalePlan,
): Promise<readonly MeasuredStore[]> {
  return withStoreProcesses(stores.length, async (processes) => {
    const measuring: StoreMeasuring[] = [];
    for (const [index, process] of processes.entries()) {
      const store = stores[index];
      if (store === undefined) throw new Error("there are more processes than stores");
      world.signal.throwIfAborted();
      const openMs = await process.call("open", { ...store, code: world.codeForm, durability });
      await process.call("settle", plan.stillMs);
      measuring.push(new StoreMeasuring(process, store.documents, openMs));
    }
    for (let number = -plan.warmupRounds; number < plan.rounds; number++) {
      const order = number % 2 === 0 ? measuring : measuring.toReversed();
      for (const one of order) {
        world.signal.throwIfAborted();
        await one.round(plan, number >= 0);
      }
    }
    const measured: MeasuredStore[] = [];
    for (const one of measuring) measured.push(await one.result());
    return measured;
  });
}

/** The rounds of one store. */
class StoreMeasuring {
  readonly #process: StoreProcess;
  readonly #documents: number;
  readonly #openMs: number;
  readonly #rounds: { readonly [name in ScaleCaseName]: Round[] } = { claim: [], hit: [], miss: [] };

  constructor(process: StoreProcess, documents: number, openMs: number) {
    this.#process = process;
    this.#documents = documents;
    this.#openMs = openMs;
  }

  /** @param counts false: it warms up only */
  async round(plan: RoundPlan, counts: boolean): Promise<void> {
    for (const name of ["claim", "hit", "miss"] as const) {
      if (name === "hit" && this.#documents === 0) continue;
      const round = await this.#process.call("measure", { name, plan });
      if (counts) this.#rounds[name].push(round);
    }
  }

  async result(): Promise<MeasuredStore> {
    const size = await this.#process.call("size", undefined);
    return { ...this.#rounds, ...size, documents: this.#documents, openMs: this.#openMs };
  }
}

/** Runs `use` with new processes. All of them have ended when this settles; ending is what closes their stores. */
async function withStoreProcesses<T>(
  count: number,
  use: (processes: readonly StoreProcess[]) => Promise<T>,
): Promise<T> {
  const processes = Array.from({ length: count }, () =>
    startChild<StoreProcessMethods>(new URL("./store-process.ts", import.meta.url)),
  );
  let result: T;
  try {
    result = await use(processes);
  } catch (error) {
    // The first error tells enough.
    await Promise.allSettled(processes.map((process) => process.stop()));
    throw error;
  }
  await Promise.all(processes.map((process) => process.stop()));
  return result;
}
