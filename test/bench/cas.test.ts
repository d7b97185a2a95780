import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { casComparisons } from "../../bench/cas.js";
import { type MeasuredCase, measureInterleaved } from "../../bench/measure.js";
import type { DocumentStore } from "../../src/documents/contract.js";
import { openMemoryStore } from "../../src/index.js";
import {
  breaksDown,
  hidesTheWinner,
  ignoresConditions,
  type PutFault,
  refusesAll,
  storesNothing,
  storesOtherFields,
  withFault,
} from "./faulty-store.js";

const all = [
  "put-new",
  "create-if-absent",
  "put-replacing",
  "put-if-revision",
  "put-if-fields",
  "create-if-absent-refused",
] as const;
const winning = ["create-if-absent", "put-if-revision", "put-if-fields"] as const;
const writing = ["put-new", "put-replacing", ...winning] as const;

/** Which faults of a store must end the benchmark of which cases, and with which words. */
const faults: readonly (readonly [PutFault, RegExp, readonly string[]])[] = [
  [ignoresConditions, /had to be refused/, [...winning, "create-if-absent-refused"]],
  [storesNothing, /must hold/, writing],
  [storesOtherFields, /must hold/, writing],
  [refusesAll, /the condition does not hold/, winning],
  [hidesTheWinner, /must show revision/, [...winning, "create-if-absent-refused"]],
  [breaksDown, /the connection is gone/, all],
];

let store: DocumentStore;

beforeEach(async () => {
  store = await openMemoryStore();
});

afterEach(() => store.close());

/** The cases over a store, by name. */
async function casesOver(measured: DocumentStore, callers: number): Promise<Map<string, MeasuredCase>> {
  const comparisons = await casComparisons(measured, { shape: `claims-${callers}`, callers });
  return new Map(comparisons.flat().map((one) => [one.name, one]));
}

function measure(one: MeasuredCase | undefined, callers: number): Promise<unknown> {
  if (one === undefined) throw new Error("there is no such case");
  return measureInterleaved([one], { callers, warmupRounds: 0, rounds: 2, roundMs: 0, operationsPerCaller: 2 });
}

describe("the cases of a conditional write", () => {
  it("all pass on a store that is right, with one caller and with more", async () => {
    for (const callers of [1, 8]) {
      const cases = await casesOver(store, callers);
      expect([...cases.keys()]).toEqual(all);
      for (const name of all) await expect(measure(cases.get(name), callers)).resolves.toBeDefined();
    }
  });

  for (const [fault, words, names] of faults) {
    it.each(names)(`fail on a store that ${fault.name}: %s`, async (name) => {
      const cases = await casesOver(withFault(store, fault), 2);
      await expect(measure(cases.get(name), 2)).rejects.toThrow(words);
    });
  }
});

describe("measuring", () => {
  it("runs every case in every round, every other round in reverse, and checks after each", async () => {
    const seen: string[] = [];
    const note = (name: string): MeasuredCase => ({
      name,
      once: async () => {
        seen.push(name);
        return 0.5;
      },
      check: async () => {
        seen.push(`${name} checked`);
      },
    });
    const plan = { callers: 1, warmupRounds: 1, rounds: 2, roundMs: 0, operationsPerCaller: 1 };
    const rounds = await measureInterleaved([note("plain"), note("conditional")], plan);
    const forth = ["plain", "plain checked", "conditional", "conditional checked"];
    const back = ["conditional", "conditional checked", "plain", "plain checked"];
    expect(seen).toEqual([...back, ...forth, ...back]);
    expect(rounds.map((one) => one.map(({ latenciesMs }) => latenciesMs))).toEqual([
      [[0.5], [0.5]],
      [[0.5], [0.5]],
    ]);
  });

  it("keeps as many operations under way as there are callers, and no more", async () => {
    let underWay = 0;
    const seen: number[] = [];
    const one: MeasuredCase = {
      name: "concurrent",
      once: async () => {
        seen.push(++underWay);
        await new Promise(setImmediate);
        underWay--;
        return 1;
      },
      check: () => Promise.resolve(),
    };
    const plan = { callers: 5, warmupRounds: 0, rounds: 1, roundMs: 0, operationsPerCaller: 4 };
    const [[round] = []] = await measureInterleaved([one], plan);
    expect(Math.max(...seen)).toBe(5);
    expect(round?.latenciesMs).toHaveLength(20);
    expect(underWay).toBe(0);
  });

  it("ends between rounds when it is interrupted", async () => {
    const interrupted = new AbortController();
    const one: MeasuredCase = {
      name: "interrupted",
      once: async () => 1,
      check: async () => interrupted.abort(new Error("enough")),
    };
    const plan = { callers: 1, warmupRounds: 0, rounds: 9, roundMs: 0, operationsPerCaller: 1 };
    await expect(measureInterleaved([one], { ...plan, signal: interrupted.signal })).rejects.toThrow("enough");
  });
});
