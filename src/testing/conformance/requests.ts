import assert from "node:assert/strict";
import type { Register } from "./case.js";
import { listedIds } from "./observing.js";
import { refuses, refusesRequest, unchecked, untyped } from "./refusals.js";

/** Limits, and requests that are wrong in themselves. */
export function requestCases(register: Register): void {
  register("the limits of a store are positive numbers", async ({ store }) => {
    const names = ["idBytesMax", "fieldsBytesMax", "depthMax", "ttlSecondsMin", "ttlSecondsMax", "batchOperationsMax"];
    names.push("batchBytesMax", "listDocumentsMax", "listBytesMax", "listExaminedMax", "getManyKeysMax");
    names.push("waitSecondsMax", "writeIdLengthMax", "currentBytesMax");
    for (const name of names) {
      const limit: unknown = Reflect.get(store.limits, name);
      assert.ok(typeof limit === "number" && limit > 0 && Number.isFinite(limit), name);
    }
  });

  register("fields up to the limit are stored, beyond it they are too_large, and nothing is lost", async (subject) => {
    const { store, shape } = subject;
    const { fieldsBytesMax } = store.limits;
    const text = "x".repeat(fieldsBytesMax - 64);
    await store.put({ shape, id: "a", set: { text } });
    assert.equal((await store.get(shape, "a"))?.["text"], text);
    for (const size of [fieldsBytesMax + 1, fieldsBytesMax * 2]) {
      const set = { text: "y".repeat(size) };
      const error = await refuses(() => store.put({ shape, id: "a", set }), "too_large", `put of ${size}`);
      assert.equal(error.status, 413);
    }
    const wide = "é".repeat(Math.floor(fieldsBytesMax / 2) + 1);
    await refuses(() => store.put({ shape, id: "a", set: { wide } }), "too_large", "two bytes a character");
    const list = Array.from({ length: fieldsBytesMax + 1 }, () => 0);
    await refuses(() => store.put({ shape, id: "a", set: { list } }), "too_large", "many small values");
    assert.equal((await store.get(shape, "a"))?.["text"], text);
    await store.put({ shape, id: "after", set: {} });
    assert.deepEqual(await listedIds(store, shape), ["a", "after"]);
  });

  register("a member that a write does not know is refused, never ignored", async (subject) => {
    const { shape } = subject;
    const store = untyped(subject.store);
    await subject.store.put({ shape, id: "a", set: { n: 1 } });
    const call = (write: object): (() => Promise<unknown>)[] => [
      () => store.put({ shape, id: "a", set: { n: 2 }, ...write }),
      () => store.patch({ shape, id: "a", merge: { n: 2 }, ...write }),
      () => store.delete({ shape, id: "a", ...write }),
    ];
    const unknown = { iff_match: { exists: false }, ifMatch: { exists: false }, writeId: "w", TTL: 5, op: "put" };
    for (const [name, value] of Object.entries(unknown)) {
      for (const write of call({ [name]: value })) await refusesRequest(write, name, name);
    }
    await refusesRequest(() => store.put({ shape, id: "a", set: {}, merge: {} }), "merge");
    await refusesRequest(() => store.patch({ shape, id: "a", set: {} }), "set");
    await refusesRequest(() => store.delete({ shape, id: "a", ttl: 5 }), "ttl");
    await refusesRequest(() => store.batch([{ op: "delete", shape, id: "a" }], { writeId: "w" }), "writeId");
    assert.deepEqual(await store.get(shape, "a"), { n: 1 });
  });

  register("a write without what it needs is refused", async (subject) => {
    const { shape } = subject;
    const store = untyped(subject.store);
    await refusesRequest(() => store.put({ shape, id: "a" }), "set");
    await refusesRequest(() => store.put({ shape, set: {} }), "id");
    await refusesRequest(() => store.put({ id: "a", set: {} }), "shape");
    await refusesRequest(() => store.patch({ shape, id: "a" }));
    await refusesRequest(() => store.delete({ shape }), "id");
    await refusesRequest(() => store.batch([]));
    for (const wrong of [undefined, null, "a", 5, [], [{ shape, id: "a", set: {} }]]) {
      await refusesRequest(() => store.put(wrong), undefined, `put ${String(wrong)}`);
      await refusesRequest(() => store.patch(wrong), undefined, `patch ${String(wrong)}`);
      await refusesRequest(() => store.delete(wrong), undefined, `delete ${String(wrong)}`);
    }
    assert.deepEqual(await listedIds(subject.store, shape), []);
  });

  register('return takes "document" only', async ({ store, shape }) => {
    for (const value of ["fields", "Document", "", true, null, 1, ["document"]]) {
      const wrong: { return: "document" } = unchecked({ return: value });
      await refusesRequest(() => store.put({ shape, id: "a", set: {}, ...wrong }), "return", String(value));
      await refusesRequest(() => store.delete({ shape, id: "a", ...wrong }), "return", String(value));
    }
    assert.deepEqual(await listedIds(store, shape), []);
  });

  register("a bad request among many good ones harms none of them", async ({ store, shape }) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 60 }, (_, n) => store.put({ shape, id: `d${n}`, set: { n: n % 3 === 0 ? Number.NaN : n } })),
    );
    for (const [n, { status }] of outcomes.entries()) assert.equal(status, n % 3 === 0 ? "rejected" : "fulfilled");
    assert.equal((await listedIds(store, shape)).length, 40);
  });
}
