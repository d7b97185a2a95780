import assert from "node:assert/strict";
import type { DocumentStore, ListOptions } from "../../documents/contract.js";
import type { Register } from "./case.js";
import { during, listedIds, present, timeless } from "./observing.js";
import { refuses, refusesRequest, unchecked } from "./refusals.js";

async function putAll(store: DocumentStore, shape: string, ids: readonly string[]): Promise<void> {
  await store.batch(ids.map((id) => ({ op: "put" as const, shape, id, set: { id } })));
}

async function pageIds(store: DocumentStore, shape: string, options: ListOptions): Promise<string[]> {
  return (await store.list(shape, options)).documents.map((document) => document.id);
}

/** list. */
export function listingCases(register: Register): void {
  register("the list of a shape that was never used is empty", async ({ store, shape }) => {
    const page = await store.list(shape);
    assert.deepEqual(page, { documents: [], next: null, revision: page.revision });
    assert.equal(typeof page.revision, "number");
  });

  register("list shows whole documents, in the order of their ids", async ({ store, shape }) => {
    await putAll(store, shape, ["b", "a", "c"]);
    await store.put({ shape, id: "c", set: { n: 1 }, ttl: 60 });
    await store.delete({ shape, id: "a" });
    const { documents, next } = await store.list(shape);
    assert.equal(next, null);
    assert.deepEqual(documents.map(timeless), [
      timeless(await present(store, shape, "b")),
      timeless(await present(store, shape, "c")),
    ]);
    assert.equal(new Set(documents.map((document) => document.as_of)).size, 1, "a page is made at one instant");
  });

  register("pages follow one another by next, and only next: null ends the list", async ({ store, shape }) => {
    const ids = Array.from({ length: 23 }, (_, n) => `d${`${n}`.padStart(2, "0")}`);
    await putAll(store, shape, ids);
    for (const limit of [1, 7, 22, 23, 24]) {
      assert.deepEqual(await listedIds(store, shape, { limit }), ids, `limit ${limit}`);
      assert.deepEqual(await listedIds(store, shape, { limit, reverse: true }), ids.toReversed(), `reverse ${limit}`);
    }
    const page = await store.list(shape, { limit: 7 });
    assert.ok(page.documents.length <= 7);
    assert.ok(page.next !== null);
  });

  register("a page holds 100 documents when no limit is given", async ({ store, shape }) => {
    const ids = Array.from({ length: 120 }, (_, n) => `d${`${n}`.padStart(3, "0")}`);
    await putAll(store, shape, ids);
    assert.deepEqual(await pageIds(store, shape, {}), ids.slice(0, 100));
    assert.deepEqual(await listedIds(store, shape), ids);
  });

  register("a page holds as many documents as its limit says", async ({ store, shape }) => {
    const { listDocumentsMax, batchOperationsMax } = store.limits;
    const ids = Array.from({ length: listDocumentsMax + 5 }, (_, n) => `d${`${n}`.padStart(6, "0")}`);
    for (let start = 0; start < ids.length; start += batchOperationsMax) {
      await putAll(store, shape, ids.slice(start, start + batchOperationsMax));
    }
    assert.deepEqual(await pageIds(store, shape, { limit: listDocumentsMax }), ids.slice(0, listDocumentsMax));
    assert.deepEqual(await listedIds(store, shape, { limit: listDocumentsMax }), ids);
  });

  register("a page ends early at its bytes, and the list goes on", async ({ store, shape }) => {
    const { listBytesMax, fieldsBytesMax } = store.limits;
    const size = fieldsBytesMax - 1024;
    const count = Math.ceil(listBytesMax / size) + 2;
    for (let n = 0; n < count; n++) await store.put({ shape, id: `d${n}`, set: { text: "x".repeat(size) } });
    const first = await store.list(shape, { limit: count });
    assert.ok(first.documents.length >= 1 && first.documents.length < count);
    assert.ok(first.next !== null);
    const ids = Array.from({ length: count }, (_, n) => `d${n}`);
    assert.deepEqual(await listedIds(store, shape, { limit: count }), ids);
    assert.deepEqual(await listedIds(store, shape, { limit: count, reverse: true }), ids.toReversed());
  });

  register("prefix keeps the ids that begin with it", async ({ store, shape }) => {
    await putAll(store, shape, ["a", "aa", "ab", "ab/c", "abb", "ac", "b", "ba"]);
    assert.deepEqual(await listedIds(store, shape, { prefix: "ab" }), ["ab", "ab/c", "abb"]);
    assert.deepEqual(await listedIds(store, shape, { prefix: "ab", limit: 1 }), ["ab", "ab/c", "abb"]);
    assert.deepEqual(await listedIds(store, shape, { prefix: "ab", reverse: true, limit: 2 }), ["abb", "ab/c", "ab"]);
    assert.deepEqual(await listedIds(store, shape, { prefix: "" }), ["a", "aa", "ab", "ab/c", "abb", "ac", "b", "ba"]);
    assert.deepEqual(await listedIds(store, shape, { prefix: "abc" }), []);
    assert.deepEqual(await listedIds(store, shape, { prefix: "b" }), ["b", "ba"]);
  });

  register("after begins beyond an id and until ends before one, whether or not they are there", async (subject) => {
    const { store, shape } = subject;
    await putAll(store, shape, ["b", "d", "f", "h"]);
    const cases: [options: ListOptions, ids: string[]][] = [
      [{ after: "d" }, ["f", "h"]],
      [{ after: "e" }, ["f", "h"]],
      [{ after: "a" }, ["b", "d", "f", "h"]],
      [{ after: "h" }, []],
      [{ after: "z" }, []],
      [{ until: "f" }, ["b", "d"]],
      [{ until: "e" }, ["b", "d"]],
      [{ until: "b" }, []],
      [{ until: "z" }, ["b", "d", "f", "h"]],
      [{ after: "b", until: "h" }, ["d", "f"]],
      [{ after: "f", until: "d" }, []],
      [{ after: "d", until: "d" }, []],
      [{ reverse: true, after: "f" }, ["d", "b"]],
      [{ reverse: true, after: "e" }, ["d", "b"]],
      [{ reverse: true, after: "z" }, ["h", "f", "d", "b"]],
      [{ reverse: true, after: "b" }, []],
      [{ reverse: true, until: "d" }, ["h", "f"]],
      [{ reverse: true, until: "c" }, ["h", "f", "d"]],
      [{ reverse: true, after: "h", until: "b" }, ["f", "d"]],
      [{ reverse: true, after: "b", until: "f" }, []],
    ];
    for (const [options, ids] of cases) {
      const about = JSON.stringify(options);
      assert.deepEqual(await pageIds(store, shape, options), ids, about);
      assert.deepEqual(await listedIds(store, shape, { ...options, limit: 1 }), ids, `${about} by pages of one`);
    }
  });

  register("prefix, after and until work together", async ({ store, shape }) => {
    await putAll(store, shape, ["a1", "b1", "b2", "b3", "b4", "c1"]);
    assert.deepEqual(await pageIds(store, shape, { prefix: "b", after: "b1", until: "b4" }), ["b2", "b3"]);
    assert.deepEqual(await pageIds(store, shape, { prefix: "b", after: "a", until: "c1" }), ["b1", "b2", "b3", "b4"]);
    assert.deepEqual(await pageIds(store, shape, { prefix: "b", after: "c" }), []);
    assert.deepEqual(await pageIds(store, shape, { prefix: "b", after: "b4", reverse: true }), ["b3", "b2", "b1"]);
    assert.deepEqual(await pageIds(store, shape, { prefix: "b", after: "a", reverse: true }), []);
  });

  register("a page is one snapshot: it never shows half of a batch", async ({ store, shape }) => {
    const ids = Array.from({ length: 20 }, (_, n) => `d${n}`);
    const write = (token: number) => store.batch(ids.map((id) => ({ op: "put" as const, shape, id, set: { token } })));
    await write(0);
    const writing = (async () => {
      for (let token = 1; token <= 40; token++) await write(token);
    })();
    await during(writing, async () => {
      const { documents, revision } = await store.list(shape);
      assert.equal(documents.length, ids.length);
      assert.equal(new Set(documents.map((document) => document.fields["token"])).size, 1);
      assert.ok(documents.every((document) => document.revision <= revision));
    });
  });

  register("documents that exist throughout are listed once, while others come and go", async ({ store, shape }) => {
    const lasting = Array.from({ length: 60 }, (_, n) => `d${`${n}`.padStart(2, "0")}-lasting`);
    await putAll(store, shape, lasting);
    const writing = (async () => {
      for (let n = 0; n < 60; n++) {
        const id = `d${`${n}`.padStart(2, "0")}-fleeting`;
        await store.put({ shape, id, set: {} });
        await store.put({ shape, id: lasting[n] ?? "", set: { n } });
        await store.delete({ shape, id });
      }
    })();
    await during(writing, async () => {
      const ids = await listedIds(store, shape, { limit: 7 });
      assert.equal(new Set(ids).size, ids.length);
      assert.deepEqual(
        ids.filter((id) => id.endsWith("lasting")),
        lasting,
      );
    });
  });

  register("list refuses options that are wrong or unknown", async ({ store, shape }) => {
    const { listDocumentsMax } = store.limits;
    const wrong: object[] = [
      { limit: 0 },
      { limit: -1 },
      { limit: 1.5 },
      { limit: listDocumentsMax + 1 },
      { limit: Number.NaN },
      { limit: "10" },
      { limit: null },
      { prefix: 5 },
      { prefix: null },
      { prefix: "\ud800" },
      { after: 5 },
      { until: null },
      { until: ["b"] },
      { reverse: "true" },
      { reverse: 1 },
      { prefx: "a" },
      { start: "a" },
    ];
    for (const options of wrong) {
      const [name] = Object.keys(options);
      const about = JSON.stringify(options);
      await refusesRequest(() => store.list(shape, unchecked(options)), name, about);
    }
    for (const options of [null, "a", 5, ["a"]]) {
      await refusesRequest(() => store.list(shape, unchecked(options)), undefined, String(options));
    }
    await refuses(() => store.list("Not a shape"), "invalid_request");
  });
}
