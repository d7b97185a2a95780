import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import fc from "fast-check";
import { Keyv, type KeyvStoreAdapter } from "keyv";
import { describe, expect, it, onTestFinished } from "vitest";
import { type KeyvStore, keyvStore } from "../../client/adapters/keyv/index.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import { type EmbeddedStore, type MemoryStoreOptions, openMemoryStore } from "../../src/level/index.js";

async function open(options: MemoryStoreOptions = {}): Promise<EmbeddedStore> {
  const store = await openMemoryStore(options);
  onTestFinished(() => store.close());
  return store;
}

async function entriesOf(adapter: KeyvStore, namespace?: string): Promise<Map<unknown, unknown>> {
  const entries = new Map<unknown, unknown>();
  for await (const [key, value] of adapter.iterator(namespace)) {
    expect(entries.has(key), `${String(key)} comes twice`).toBe(false);
    entries.set(key, value);
  }
  return entries;
}

/** Keyv's errors, as an application hears of them. */
function errorsOf(keyv: Keyv): unknown[] {
  const errors: unknown[] = [];
  keyv.on("error", (error) => errors.push(error));
  return errors;
}

describe("an adapter of Keyv", () => {
  it("has the type that Keyv wants", async () => {
    const adapter: KeyvStoreAdapter = keyvStore(await open());
    expect(await new Keyv(adapter).get("nothing")).toBeUndefined();
  });

  it("tells a missing key from a stored null", async () => {
    const adapter = keyvStore(await open());
    await adapter.set("null", null);
    await adapter.set("undefined", undefined);
    expect(await adapter.get("null")).toBeNull();
    expect(await adapter.getMany(["null", "undefined", "missing"])).toEqual([null, undefined, undefined]);
    expect(await adapter.hasMany(["null", "undefined", "missing"])).toEqual([true, true, false]);
    expect(await adapter.getMany([])).toEqual([]);
  });

  it("answers a delete with whether something was there, and a delete of many with whether anything was", async () => {
    const adapter = keyvStore(await open());
    await adapter.setMany(["a", "b", "c"].map((key) => ({ key, value: key })));
    expect(await adapter.delete("a")).toBe(true);
    expect(await adapter.delete("a")).toBe(false);
    expect(await adapter.deleteMany(["a", "b", "b", "x"])).toBe(true);
    expect(await adapter.deleteMany(["a", "b"])).toBe(false);
    expect(await adapter.deleteMany([])).toBe(false);
    expect([...(await entriesOf(adapter)).keys()]).toEqual(["c"]);
  });

  it("keeps objects and texts as they are when serialisation is off, and refuses what is not JSON", async () => {
    const store = await open();
    const keyv = new Keyv({ store: keyvStore(store), serialize: undefined, deserialize: undefined } as object);
    const errors = errorsOf(keyv);
    const value = { list: [1, { deep: "é" }], text: ":base64:AAAA" };
    expect(await keyv.set("a", value, 60_000)).toBe(true);
    expect(await keyv.get("a")).toEqual(value);
    expect(await keyv.getMany(["a", "b"])).toEqual([value, undefined]);
    for await (const entry of keyv.iterator?.(undefined) ?? []) expect(entry).toEqual(["a", value]);
    expect(await keyv.set("a", new Map([["x", 1]]))).toBe(false);
    expect(errors).toMatchObject([{ code: "invalid_request", path: "value.value" }]);
    expect(await keyv.get("a")).toEqual(value);
  });

  it("carries compressed values", async () => {
    const compression = {
      compress: async (value: unknown) => (await promisify(gzip)(JSON.stringify(value))).toString("base64"),
      decompress: async (value: string) => JSON.parse(String(await promisify(gunzip)(Buffer.from(value, "base64")))),
    };
    const keyv = new Keyv({ store: keyvStore(await open()), compression });
    await keyv.set("a", { b: ["c"] });
    expect(await keyv.get("a")).toEqual({ b: ["c"] });
  });

  it("works for two Keyvs that share it, except that it clears the namespace of the later one", async () => {
    const adapter = keyvStore(await open());
    const first = new Keyv({ store: adapter, namespace: "first" });
    const second = new Keyv({ store: adapter, namespace: "second" });
    await first.set("a", 1);
    await second.set("a", 2);
    expect([await first.get("a"), await second.get("a")]).toEqual([1, 2]);
    await first.clear();
    expect([await first.get("a"), await second.get("a")]).toEqual([1, undefined]);
  });

  it("has a shape of its own for keys that Keyv leaves without a namespace", async () => {
    const store = await open();
    const adapters = ["rates", "names"].map((shape) => keyvStore(store, { shape }));
    const [rates, names] = adapters.map((adapter) => new Keyv({ store: adapter, useKeyPrefix: false, namespace: "" }));
    await rates?.set("a:b", 1);
    await names?.set("a:b", 2);
    expect(await entriesOf(keyvStore(store, { shape: "rates" }))).toEqual(new Map([["a:b", '{"value":1}']]));
    await rates?.clear();
    expect([await rates?.get("a:b"), await names?.get("a:b")]).toEqual([undefined, 2]);
  });

  it("judges its options", async () => {
    const store = await open();
    expect(() => keyvStore(store, { shape: "Not A Shape" })).toThrow(/shape/);
    expect(() => keyvStore(store, { namespace: "n" } as object)).toThrow(/namespace/);
    expect(() => keyvStore(store, { closeStore: "yes" } as object)).toThrow(/closeStore/);
  });

  it("closes the store only when it was told so", async () => {
    const store = await open();
    const keyv = new Keyv({ store: keyvStore(store) });
    await keyv.set("a", 1);
    await keyv.disconnect();
    expect(await keyv.get("a")).toBe(1);
    await new Keyv({ store: keyvStore(store, { closeStore: true }) }).disconnect();
    await expect(store.get("keyv", "keyv:a")).rejects.toMatchObject({ code: "store_closed" });
  });
});

describe("the keys of an adapter", () => {
  const unusual = ["", "sha256:", `sha256:${"0".repeat(64)}`, "\ud800", "\udfff:a", "k".repeat(1025), "é".repeat(513)];
  const usual = [".", "..", "a/b?c#d", "\u0000", "a\u0301", "á", "k".repeat(1024), "keyv:a:b"];

  it("may be any text, and each is a key of its own", async () => {
    const adapter = keyvStore(await open());
    const keys = [...unusual, ...usual];
    for (const [n, key] of keys.entries()) await adapter.set(key, n);
    expect(await adapter.getMany(keys)).toEqual(keys.map((_, n) => n));
    expect(await entriesOf(adapter)).toEqual(new Map(keys.map((key, n) => [key, n])));
    expect(await adapter.deleteMany(keys)).toBe(true);
    expect(await entriesOf(adapter)).toEqual(new Map());
  });

  it("come back from the iterator, whatever they are", async () => {
    const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(...unusual, ...usual));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(text, { maxLength: 20 }), async (keys) => {
        const store = await openMemoryStore();
        const adapter = keyvStore(store);
        await adapter.setMany(keys.map((key) => ({ key, value: key.length })));
        expect(await entriesOf(adapter)).toEqual(new Map(keys.map((key) => [key, key.length])));
        await store.close();
      }),
      { numRuns: 50 },
    );
  });

  it("lie in the store under their own names when those can be ids", async () => {
    const store = await open();
    await new Keyv({ store: keyvStore(store) }).set("user-7", "ana");
    expect(await store.get("keyv", "keyv:user-7")).toEqual({ value: '{"value":"ana"}' });
  });

  it("must be texts", async () => {
    const adapter = keyvStore(await open());
    await expect(adapter.get(7 as unknown as string)).rejects.toMatchObject({ code: "invalid_request", path: "key" });
    const keys = ["a", null] as string[];
    await expect(adapter.deleteMany(keys)).rejects.toMatchObject({ code: "invalid_request", path: "keys[1]" });
  });
});

describe("clearing", () => {
  for (const namespace of ["first", "sha256", "\ud800", "n".repeat(1100), "first:inner"]) {
    it(`removes the whole namespace ${JSON.stringify(namespace.slice(0, 20))} and nothing else`, async () => {
      const store = await open();
      const cleared = new Keyv({ store: keyvStore(store), namespace });
      const kept = new Keyv({ store: keyvStore(store), namespace: "second" });
      const keys = ["a", "b".repeat(2000), "\ud801"];
      for (const key of keys) await Promise.all([cleared.set(key, 1), kept.set(key, 2)]);
      await store.put({ shape: "other", id: "first:a", set: { n: 1 } });
      await cleared.clear();
      expect(await cleared.getMany(keys)).toEqual([undefined, undefined, undefined]);
      expect(await kept.getMany(keys)).toEqual([2, 2, 2]);
      expect(await store.get("other", "first:a")).toEqual({ n: 1 });
    });
  }

  it("removes everything when there is no namespace", async () => {
    const adapter = keyvStore(await open());
    await adapter.setMany(["a", "b:c", "", "\ud800"].map((key) => ({ key, value: 1 })));
    await adapter.clear();
    expect(await entriesOf(adapter)).toEqual(new Map());
  });

  it("takes more documents than one batch", async () => {
    const store = await open();
    const adapter = keyvStore(store);
    adapter.namespace = "n";
    await adapter.setMany(Array.from({ length: 2500 }, (_, n) => ({ key: `n:${n}`, value: n })));
    await adapter.set("m:1", "stays");
    await adapter.clear();
    expect(await entriesOf(adapter)).toEqual(new Map([["m:1", "stays"]]));
  });

  it("takes documents that are too large to be read or removed together", async () => {
    const adapter = keyvStore(await open());
    const text = "x".repeat(1024 * 1024 - 100);
    const keys = Array.from({ length: 70 }, (_, n) => `${n}`);
    await adapter.setMany(keys.map((key) => ({ key, value: text })));
    expect((await adapter.getMany<string>(keys)).every((value) => value === text)).toBe(true);
    await adapter.clear();
    expect(await adapter.deleteMany(keys)).toBe(false);
  });
});

describe("setting many", () => {
  it("is one commit when one can hold them", async () => {
    const store = await open();
    const keyv = new Keyv({ store: keyvStore(store) });
    const entries = Array.from({ length: 1000 }, (_, n) => ({ key: `${n}`, value: n }));
    expect(await keyv.setMany(entries)).toEqual(entries.map(() => true));
    expect(store.stats().revision).toBe(1);
  });

  it("sets the last of two entries with one key", async () => {
    const adapter = keyvStore(await open());
    await adapter.setMany([1, 2, 3].map((value) => ({ key: "a", value })));
    expect(await adapter.get("a")).toBe(3);
  });

  it("is several commits when there are too many entries or bytes for one", async () => {
    const store = await open();
    const adapter = keyvStore(store);
    await adapter.setMany(Array.from({ length: 1001 }, (_, n) => ({ key: `${n}`, value: n })));
    expect(store.stats().revision).toBe(2);
    const text = "x".repeat(1000 * 1000);
    await adapter.setMany(Array.from({ length: 20 }, (_, n) => ({ key: `large-${n}`, value: text })));
    expect(store.stats().revision).toBe(5);
    expect((await entriesOf(adapter)).size).toBe(1021);
  });

  it("refuses what is too large before anything is set, in one commit and in several", async () => {
    const store = await open();
    const keyv = new Keyv({ store: keyvStore(store) });
    const errors = errorsOf(keyv);
    const large = { key: "large", value: "x".repeat(1024 * 1024) };
    for (const count of [1, 1500]) {
      const entries = [...Array.from({ length: count }, (_, n) => ({ key: `${n}`, value: n })), large];
      expect(await keyv.setMany(entries)).toEqual(entries.map(() => false));
      expect(errors.pop()).toMatchObject({ code: "too_large" });
      expect(store.stats().revision).toBe(0);
    }
    expect(await keyv.set(large.key, large.value)).toBe(false);
    expect(errors).toMatchObject([{ code: "too_large", path: "set" }]);
  });

  it("refuses what is not valid before anything is set, and names it", async () => {
    const store = await open();
    const adapter = keyvStore(store);
    const good = Array.from({ length: 1500 }, (_, n) => ({ key: `${n}`, value: n, ttl: 1000 }));
    for (const [entry, path] of [
      [{ key: "a", value: () => 1 }, "entries[1500].value"],
      [{ key: "a", value: 1, ttl: Number.NaN }, "entries[1500].ttl"],
      [{ key: 5, value: 1 }, "entries[1500].key"],
    ] as const) {
      const entries = [...good, entry] as typeof good;
      await expect(adapter.setMany(entries)).rejects.toMatchObject({ code: "invalid_request", path });
    }
    expect(store.stats().revision).toBe(0);
  });
});

describe("a time to live", () => {
  it("is in milliseconds, and the store ends it by its own clock", async () => {
    const clock = new ManualClock();
    const adapter = keyvStore(await open({ clock }));
    await adapter.set("a", 1, 1500);
    clock.advance(1499);
    expect(await adapter.has("a")).toBe(true);
    clock.advance(1);
    expect(await adapter.has("a")).toBe(false);
    expect(await entriesOf(adapter)).toEqual(new Map());
  });

  it.each([
    ["a fraction of a millisecond", 0.2, 1],
    ["what is over already", -5, 1],
    ["ten years", 315_360_000_000, 315_360_000_000],
  ])("%s is in bounds", async (_name, ttl, livesFor) => {
    const clock = new ManualClock();
    const store = await open({ clock });
    await keyvStore(store).set("a", 1, ttl);
    const document = await store.getDocument("keyv", "a");
    expect(Date.parse(document?.expires_at ?? "") - clock.wallNow()).toBe(livesFor);
  });

  it.each([undefined, 0, 315_360_000_001, Number.POSITIVE_INFINITY])("%s has no end", async (ttl) => {
    const store = await open();
    await keyvStore(store).set("a", 1, ttl);
    expect((await store.getDocument("keyv", "a"))?.expires_at).toBeNull();
  });

  it("that is none is what the store says of the shape", async () => {
    const clock = new ManualClock();
    const store = await open({ clock, shapes: { keyv: { ttl: 60 } } });
    await keyvStore(store).set("a", 1);
    clock.advance(60_000);
    expect(await keyvStore(store).get("a")).toBeUndefined();
  });

  it("that is no number is refused", async () => {
    const adapter = keyvStore(await open());
    for (const ttl of [Number.NaN, "100"]) {
      await expect(adapter.set("a", 1, ttl as number)).rejects.toMatchObject({ code: "invalid_request", path: "ttl" });
    }
  });
});

describe("a store that fails", () => {
  it("is told of once by each call, also by a get, which Keyv takes for a miss", async () => {
    const store = await open();
    const keyv = new Keyv({ store: keyvStore(store) });
    const errors = errorsOf(keyv);
    await store.close();
    expect(await keyv.get("a")).toBeUndefined();
    expect(errors).toMatchObject([{ code: "store_closed" }]);
    expect(await keyv.set("a", 1)).toBe(false);
    expect(await keyv.delete("a")).toBe(false);
    await keyv.clear();
    expect(errors).toHaveLength(4);
    await expect(keyv.getMany(["a"])).rejects.toMatchObject({ code: "store_closed" });
    await expect(keyv.has("a")).rejects.toMatchObject({ code: "store_closed" });
    expect(errors).toHaveLength(4);
  });

  it("ends a get with its error when Keyv was told to throw", async () => {
    const store = await open();
    const keyv = new Keyv({ store: keyvStore(store), throwOnErrors: true, emitErrors: false });
    await store.close();
    await expect(keyv.get("a")).rejects.toMatchObject({ code: "store_closed" });
    await expect(keyv.set("a", 1)).rejects.toMatchObject({ code: "store_closed" });
  });

  it("does not end the process when nobody listens", async () => {
    const store = await open();
    await store.close();
    await expect(keyvStore(store).get("a")).rejects.toMatchObject({ code: "store_closed" });
  });
});
