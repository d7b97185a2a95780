import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { folderBytes, untilStill } from "../../bench/folder-state.js";
import { loadDocuments } from "../../bench/loading.js";
import { type MeasuredCase, measureRound } from "../../bench/measure.js";
import { numberedFields, numberedId } from "../../bench/numbered-documents.js";
import { missingFrom, scaleShape as shape } from "../../bench/scale/number-ranges.js";
import { benchScale } from "../../bench/scale/scale.js";
import { claimCase, hitCase, missCase } from "../../bench/scale/scale-cases.js";
import { roundsOf } from "../../bench/world.js";
import type { DocumentStore } from "../../src/documents/contract.js";
import { openMemoryStore } from "../../src/index.js";
import { ignoresConditions, refusesAll, storesNothing, storesOtherFields, withFault } from "./faulty-store.js";
import { tinyWorld } from "./tiny-world.js";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "oncekv-test-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe("the group scale", () => {
  it("measures an empty and a full store of each durability, and leaves nothing behind", async () => {
    const said: string[] = [];
    const tables = [];
    for await (const table of benchScale(await tinyWorld(folder, { say: (line) => said.push(line) })))
      tables.push(table);
    expect(said).toEqual(["loaded 1000 of 1000 documents"]);
    expect(tables.map(({ setting }) => setting)).toEqual([
      { durability: "durable", callers: 1 },
      { durability: "buffered", callers: 1 },
    ]);
    for (const { title, setting, columns, rows, targets } of tables) {
      expect(title).toContain(`${setting["durability"]} (`);
      expect(rows.map((row) => row.case)).toEqual(["empty", "1,000 documents"]);
      for (const { values } of rows) {
        for (const { key } of columns) {
          const value = values[key];
          // An empty store holds nothing to get, and not every system tells memory apart.
          if (value === null) expect(["hit_p50_us", "hit_p99_us", "private_mb"]).toContain(key);
          else expect(value, key).toBeGreaterThan(0);
        }
      }
      expect(rows.map(({ values }) => values["hit_p50_us"] === null)).toEqual([true, false]);
      expect(rows[0]?.values["claim_of_empty"]).toBe(1);
      expect(targets.map(({ name, unit }) => `${name} ${unit}`)).toEqual([
        `claim median of an empty store's, 1,000 documents, ${setting["durability"]} x`,
        `opens, 1,000 documents, ${setting["durability"]} ms`,
        `memory, 1,000 documents, ${setting["durability"]} MB`,
      ]);
    }
    expect(await readdir(folder)).toEqual([]);
  }, 180_000);

  it("leaves nothing behind when it is read no further, or is interrupted", async () => {
    for await (const _ of benchScale(await tinyWorld(folder))) break;
    expect(await readdir(folder)).toEqual([]);
    const interrupted = new AbortController();
    const say = (): void => interrupted.abort(new Error("enough"));
    const tables = benchScale(await tinyWorld(folder, { signal: interrupted.signal, say }));
    await expect(tables.next()).rejects.toThrow("enough");
    expect(await readdir(folder)).toEqual([]);
  }, 180_000);
});

describe("the cases of a store of any size", () => {
  let store: DocumentStore;

  beforeEach(async () => {
    store = await openMemoryStore();
    const document = (number: number) => ({ id: numberedId(number), fields: numberedFields(number) });
    await loadDocuments(store, { shape, from: 0, to: 2500, document });
  });

  afterEach(() => store.close());

  async function measure(one: MeasuredCase): Promise<unknown> {
    const round = await measureRound(one, { ...roundsOf.tiny, callers: 1 });
    await one.check();
    return round;
  }

  it("pass on a store that is right", async () => {
    for (const one of [claimCase(store, 2 ** 20), hitCase(store, 2500), missCase(store)]) {
      await expect(measure(one)).resolves.toBeDefined();
    }
  });

  it("fail on a store that takes claims wrongly", async () => {
    for (const fault of [storesNothing, storesOtherFields, refusesAll]) {
      await expect(measure(claimCase(withFault(store, fault), 2 ** 21)), fault.name).rejects.toThrow();
    }
    await expect(measure(claimCase(withFault(store, ignoresConditions), 0))).rejects.toThrow("did not create it");
    await expect(measure(claimCase(store, 0))).rejects.toThrow("the condition does not hold");
  });

  it("fail on a store that has lost a document, or holds another", async () => {
    await store.put({ shape, id: numberedId(0), set: numberedFields(1) });
    await expect(measure(hitCase(store, 1))).rejects.toThrow("must hold attempt 0");
    await store.delete({ shape, id: numberedId(0) });
    await expect(measure(hitCase(store, 1))).rejects.toThrow("must hold attempt 0");
  });

  it("fail on a store that finds what was never written", async () => {
    const found = new Proxy(store, {
      get(target, name): unknown {
        if (name === "get") return () => Promise.resolve(numberedFields(missingFrom));
        return Reflect.get(target, name, target);
      },
    });
    await expect(measure(missCase(found))).rejects.toThrow("was never written");
  });
});

describe("loading", () => {
  it("writes every document once, also those of a batch that is not full", async () => {
    const store = await openMemoryStore();
    const document = (number: number) => ({ id: `${number}`, fields: { number } });
    await loadDocuments(store, { shape, from: 3, to: 2105, document });
    const ids: number[] = [];
    for await (const { fields } of store.scan(shape)) ids.push(Number(fields["number"]));
    expect(ids.sort((one, other) => one - other)).toEqual(Array.from({ length: 2102 }, (_, index) => index + 3));
    await expect(loadDocuments(store, { shape, from: 0, to: 4, document })).rejects.toThrow("was there already");
    await store.close();
  });
});

describe("a store's folder", () => {
  it("is measured by its files, and waited for until they are still", async () => {
    await mkdir(join(folder, "lost"));
    await writeFile(join(folder, "000001.ldb"), "1234");
    await writeFile(join(folder, "LOG"), "123");
    expect(await folderBytes(folder)).toBe(7);
    await untilStill(folder, { stillMs: 1 });
    await untilStill(folder, { stillMs: 0 });
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(untilStill(folder, { stillMs: 1, signal })).rejects.toThrow("enough");
  });
});
