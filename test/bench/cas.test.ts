import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { benchCas } from "../../bench/cas/cas.js";
import { measureHotKey } from "../../bench/cas/hot-key.js";
import { readCases } from "../../bench/cas/read-cases.js";
import { writeComparisons } from "../../bench/cas/write-cases.js";
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
import { tablesOf, tinyWorld } from "./tiny-world.js";

const all = [
  "put-new",
  "create-if-absent",
  "put-replacing",
  "put-if-revision",
  "put-if-fields",
  "patch",
  "create-if-absent-refused",
  "batch-of-10",
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
  [breaksDown, /the connection is gone/, all.filter((name) => name !== "patch" && name !== "batch-of-10")],
];

let store: DocumentStore;

beforeEach(async () => {
  store = await openMemoryStore();
});

afterEach(() => store.close());

/** The cases over a store, by name. */
async function casesOver(measured: DocumentStore, callers: number): Promise<Map<string, MeasuredCase>> {
  const comparisons = await writeComparisons(measured, { shape: `claims-${callers}`, callers });
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

/** A store whose patches and batches answer, and whose reads give, what `change` makes of it. */
function withAnswers(store: DocumentStore, method: "patch" | "batch" | "get", change: (answer: never) => unknown) {
  return new Proxy(store, {
    get(target, name): unknown {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== method) return value.bind(target);
      return async (...args: unknown[]) => change((await value.apply(target, args)) as never);
    },
  });
}

describe("the other cases", () => {
  it.each([
    ["patch", "patch", (answer: object) => ({ ...answer, created: true }), /not created/],
    ["batch-of-10", "batch", (answer: object) => ({ ...answer, results: [] }), /the answer is/],
    [
      "batch-of-10",
      "batch",
      (answer: { revision: number }) => ({ ...answer, revision: answer.revision + 1 }),
      /answer is/,
    ],
  ] as const)("%s fails on a wrong answer", async (name, method, change, words) => {
    const right = await casesOver(store, 2);
    await expect(measure(right.get(name), 2)).resolves.toBeDefined();
    const faulty = withAnswers(store, method, change);
    const wrong = (
      await writeComparisons(method === "batch" ? lateFault(store, faulty) : faulty, { shape: "w", callers: 2 })
    )
      .flat()
      .find((one) => one.name === name);
    await expect(measure(wrong, 2)).rejects.toThrow(words);
  });

  it("a read fails on another document, and on one that should not be there", async () => {
    const [hit, miss] = await readCases(
      withAnswers(store, "get", () => ({ status: "other" })),
      "read",
    );
    await expect(measure(hit, 1)).rejects.toThrow(/a read gave/);
    await expect(measure(miss, 1)).rejects.toThrow(/a read gave/);
    for (const one of await readCases(store, "other")) await expect(measure(one, 2)).resolves.toBeDefined();
  });

  it("the hot key counts every win, and fails when one is lost", async () => {
    const hot = { shape: "hot", id: "a", callers: 5, winsPerCaller: 4 };
    const { wins, untilWonMs } = await measureHotKey(store, hot);
    expect(wins).toBeGreaterThanOrEqual(20);
    expect(untilWonMs).toHaveLength(wins);
    expect(await store.get("hot", "a")).toEqual({ count: wins });
    await expect(measureHotKey(withFault(store, ignoresConditions), { ...hot, id: "b" })).rejects.toThrow(
      /changes won/,
    );
  });
});

/** Right for its first batch, which makes the documents; as `faulty` afterwards. */
function lateFault(right: DocumentStore, faulty: DocumentStore): DocumentStore {
  let batches = 0;
  return new Proxy(right, {
    get(target, name): unknown {
      const from = name === "batch" && batches++ > 0 ? faulty : target;
      const value: unknown = Reflect.get(from, name, from);
      return typeof value === "function" ? value.bind(from) : value;
    },
  });
}

describe("the group", () => {
  it("gives a table for each number of callers and one for the hot key, and leaves nothing behind", async () => {
    const folder = await mkdtemp(join(tmpdir(), "oncekv-test-"));
    try {
      const tables = await tablesOf(benchCas(await tinyWorld(folder)));
      expect(tables.map(({ setting }) => `${setting["durability"]} ${setting["callers"] ?? setting["table"]}`)).toEqual(
        ["durable 1", "durable 4", "durable hot-key", "buffered 1", "buffered 4", "buffered hot-key"],
      );
      const [alone, together, hot] = tables;
      const reads = ["get-hit", "get-miss"];
      expect(alone?.rows.map((row) => row.case)).toEqual([
        "raw-level-put",
        "raw-level-put-and-log",
        ...all,
        "raw-level-get",
        ...reads,
      ]);
      expect(together?.rows.map((row) => row.case)).toEqual([...all, ...reads]);
      expect(hot?.rows.map((row) => row.case)).toEqual(["1 caller", "4 callers"]);
      for (const { rows, title, setting } of tables) {
        expect(title).toContain(`${setting["durability"]} (a write is answered when`);
        for (const row of rows) {
          for (const [key, value] of Object.entries(row.values)) {
            expect(value === null || Number.isFinite(value), `${row.case} ${key}`).toBe(true);
            if (key.endsWith("_per_second") || key.startsWith("p"))
              expect(value, `${row.case} ${key}`).toBeGreaterThan(0);
          }
        }
      }
      expect(tables.flatMap(({ targets }) => targets.map(({ name }) => name.split(",")[0]))).toEqual([
        "conditional create over plain put",
        "get",
        "durable put of raw classic-level put with sync",
        "hot key",
        "conditional create over plain put",
        "get",
      ]);
      expect(await readdir(folder)).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
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
