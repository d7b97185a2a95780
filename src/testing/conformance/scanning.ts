import assert from "node:assert/strict";
import type { Register } from "./case.js";
import { drain, present, scannedIds, timeless } from "./observing.js";
import { refusesRequest, unchecked } from "./refusals.js";

/** scan. */
export function scanningCases(register: Register): void {
  register("scan gives all documents of a shape, in order, beyond one page", async ({ store, shape }) => {
    const { batchOperationsMax, listDocumentsMax } = store.limits;
    const count = Math.max(1050, listDocumentsMax + 50);
    const ids = Array.from({ length: count }, (_, n) => `d${`${n}`.padStart(6, "0")}`);
    for (let start = 0; start < count; start += batchOperationsMax) {
      await store.batch(
        ids.slice(start, start + batchOperationsMax).map((id) => ({ op: "put" as const, shape, id, set: {} })),
      );
    }
    assert.deepEqual(await scannedIds(store, shape), ids);
    assert.deepEqual(await scannedIds(store, shape, "d00001"), ids.slice(10, 20));
  });

  register("scan gives whole documents", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: { n: 1 }, ttl: 60 });
    for await (const document of store.scan(shape)) {
      assert.deepEqual(timeless(document), timeless(await present(store, shape, "a")));
      assert.equal(new Date(document.as_of).toISOString(), document.as_of);
    }
  });

  register("scan of a shape that was never used, or with a prefix that fits none, gives nothing", async (subject) => {
    const { store, shape } = subject;
    assert.deepEqual(await scannedIds(store, shape), []);
    await store.put({ shape, id: "a", set: {} });
    assert.deepEqual(await scannedIds(store, shape, "b"), []);
    assert.deepEqual(await scannedIds(store, shape, "aa"), []);
    assert.deepEqual(await scannedIds(store, shape, ""), ["a"]);
  });

  register("a scan that is left early harms nothing", async ({ store, shape }) => {
    await store.batch(Array.from({ length: 30 }, (_, n) => ({ op: "put" as const, shape, id: `d${n}`, set: {} })));
    for (let round = 0; round < 10; round++) {
      for await (const document of store.scan(shape)) {
        assert.equal(document.id, "d0");
        break;
      }
    }
    await store.put({ shape, id: "after", set: {} });
    assert.equal((await scannedIds(store, shape)).length, 31);
  });

  register("a scan shows what exists throughout, each once, while others write", async ({ store, shape }) => {
    const lasting = Array.from({ length: 100 }, (_, n) => `d${`${n}`.padStart(3, "0")}`);
    await store.batch(lasting.map((id) => ({ op: "put" as const, shape, id, set: {} })));
    const seen: string[] = [];
    for await (const document of store.scan(shape)) {
      seen.push(document.id);
      if (seen.length % 10 === 0) {
        await store.put({ shape, id: `${document.id}-new`, set: {} });
        await store.put({ shape, id: lasting[99 - seen.length] ?? "d000", set: { again: true } });
      }
    }
    assert.equal(new Set(seen).size, seen.length);
    assert.deepEqual(
      seen.filter((id) => !id.endsWith("-new")),
      lasting,
    );
  });

  register("scan refuses what is not valid, at the latest when iteration begins", async ({ store, shape }) => {
    await refusesRequest(() => drain(() => store.scan("Not a shape")), "shape");
    await refusesRequest(() => drain(() => store.scan(shape, unchecked({ prefix: 5 }))), "prefix");
    await refusesRequest(() => drain(() => store.scan(shape, unchecked({ limit: 5 }))), "limit");
  });
}
