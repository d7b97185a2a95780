import assert from "node:assert/strict";
import type { Fields } from "../../documents/contract.js";
import type { Register } from "./case.js";
import { present, timeless } from "./observing.js";
import { failsOneCondition, refuses, refusesRequest, unchecked } from "./refusals.js";

/** Merge patches: before, patch, after. The first ones are those of RFC 7396 whose documents are objects. */
const merges: [before: Fields, merge: Fields, after: Fields][] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  [{ a: "text" }, { a: { b: 1, c: null } }, { a: { b: 1 } }],
  [{ a: { b: 1 } }, { a: [null, { c: null }] }, { a: [null, { c: null }] }],
  [{ a: { b: { c: 1, d: 2 } }, e: 0 }, { a: { b: { c: null } } }, { a: { b: { d: 2 } }, e: 0 }],
  [
    { a: 0, b: false, c: "" },
    { a: false, b: "", c: 0 },
    { a: false, b: "", c: 0 },
  ],
  [{ a: 1 }, { missing: null }, { a: 1 }],
];

/** patch. */
export function patchingCases(register: Register): void {
  register("patch merges by RFC 7396", async ({ store, shape }) => {
    for (const [n, [before, merge, after]] of merges.entries()) {
      const id = `m${n}`;
      await store.put({ shape, id, set: before });
      await store.patch({ shape, id, merge: unchecked(merge) });
      assert.deepEqual(await store.get(shape, id), after, JSON.stringify([before, merge]));
    }
  });

  register("patch of an absent document is not_found", async ({ store, shape }) => {
    const error = await refuses(() => store.patch({ shape, id: "nobody", merge: { n: 1 } }), "not_found");
    assert.equal(error.status, 404);
    await refuses(() => store.patch({ shape, id: "nobody", ttl: 5 }), "not_found");
    assert.equal(await store.get(shape, "nobody"), undefined);
  });

  register("patch with a condition on an absent document is precondition_failed", async ({ store, shape }) => {
    for (const if_match of [{ exists: true }, { revision: 1 }, { fields: { n: 1 } }]) {
      const failure = await failsOneCondition(() => store.patch({ shape, id: "nobody", merge: { n: 1 }, if_match }));
      assert.equal(failure.current, null);
    }
  });

  register("patch moves the revision and updated_at, and keeps the document's beginning", async (subject) => {
    const { store, shape } = subject;
    await store.put({ shape, id: "a", set: { n: 1 } });
    const first = await present(store, shape, "a");
    await subject.pass(20);
    const result = await store.patch({ shape, id: "a", merge: { m: 2 } });
    const second = await present(store, shape, "a");
    assert.deepEqual(result, { revision: second.revision, expires_at: null, created: false });
    assert.ok(second.revision > first.revision);
    assert.ok(second.updated_at > first.updated_at);
    assert.deepEqual([second.created_revision, second.created_at], [first.created_revision, first.created_at]);
  });

  register("patch keeps the expiry unless a ttl is given", async ({ store, shape, pass }) => {
    const { expires_at } = await store.put({ shape, id: "a", set: { n: 1 }, ttl: 60 });
    await pass(20);
    const kept = await store.patch({ shape, id: "a", merge: { n: 2 } });
    assert.equal(kept.expires_at, expires_at);
    assert.equal((await present(store, shape, "a")).expires_at, expires_at);
    const ended = await store.patch({ shape, id: "a", merge: { n: 3 }, ttl: null });
    assert.equal(ended.expires_at, null);
    assert.equal((await present(store, shape, "a")).expires_at, null);
  });

  register("patch with only a ttl renews the document: revision and updated_at move, fields stay", async (subject) => {
    const { store, shape } = subject;
    await store.put({ shape, id: "a", set: { n: 1 }, ttl: 60 });
    const first = await present(store, shape, "a");
    await subject.pass(20);
    const { expires_at } = await store.patch({ shape, id: "a", ttl: 60 });
    const second = await present(store, shape, "a");
    assert.deepEqual(second.fields, { n: 1 });
    assert.ok(second.revision > first.revision);
    assert.ok(second.updated_at > first.updated_at);
    assert.equal(Date.parse(expires_at ?? "") - Date.parse(second.updated_at), 60_000);
  });

  register('patch answers with the merged document for return: "document"', async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: { a: 1, b: 2 } });
    const result = await store.patch({ shape, id: "a", merge: { b: null, c: 3 }, return: "document" });
    assert.deepEqual(result.document?.fields, { a: 1, c: 3 });
    assert.deepEqual(timeless(result.document), timeless(await present(store, shape, "a")));
  });

  register("concurrent patches of different members all take effect", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: {} });
    const names = Array.from({ length: 50 }, (_, n) => `f${n}`);
    await Promise.all(names.map((name, n) => store.patch({ shape, id: "a", merge: { [name]: n } })));
    assert.deepEqual(await store.get(shape, "a"), Object.fromEntries(names.map((name, n) => [name, n])));
  });

  register("patch judges the merged document, not only the patch", async ({ store, shape }) => {
    const half = "x".repeat(Math.floor(store.limits.fieldsBytesMax * 0.6));
    await store.put({ shape, id: "a", set: { first: half } });
    await refuses(() => store.patch({ shape, id: "a", merge: { second: half } }), "too_large");
    assert.deepEqual(Object.keys((await store.get(shape, "a")) ?? {}), ["first"]);
  });

  register("patch refuses a merge that is not an object", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: { n: 1 } });
    for (const merge of [null, 5, "text", true, ["n"], new Date(0), new Map([["n", 2]])]) {
      await refusesRequest(() => store.patch({ shape, id: "a", merge: unchecked(merge) }), "merge", String(merge));
    }
    assert.deepEqual(await store.get(shape, "a"), { n: 1 });
  });
}
