import assert from "node:assert/strict";
import type { Register } from "./case.js";
import { present, revisionOf, timeless } from "./observing.js";

/** put and delete, without conditions. */
export function writingCases(register: Register): void {
  register("put creates a document", async ({ store, shape }) => {
    const result = await store.put({ shape, id: "a", set: { n: 1 } });
    const { revision } = await present(store, shape, "a");
    assert.deepEqual(result, { revision, expires_at: null, created: true });
  });

  register("put replaces all fields and keeps the document's beginning", async ({ store, shape, pass }) => {
    await store.put({ shape, id: "a", set: { n: 1, old: true } });
    const first = await present(store, shape, "a");
    await pass(20);
    const result = await store.put({ shape, id: "a", set: { n: 2 } });
    const second = await present(store, shape, "a");
    assert.equal(result.created, false);
    assert.deepEqual(second.fields, { n: 2 });
    assert.equal(second.created_revision, first.revision);
    assert.equal(second.created_at, first.created_at);
    assert.ok(second.updated_at > first.updated_at);
    assert.ok(second.revision > first.revision);
  });

  register("put of the same fields is a write of its own", async ({ store, shape }) => {
    const first = await store.put({ shape, id: "a", set: { n: 1 } });
    const second = await store.put({ shape, id: "a", set: { n: 1 } });
    assert.ok(second.revision > first.revision);
  });

  register("put may set no fields at all", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: {} });
    assert.deepEqual(await store.get(shape, "a"), {});
  });

  register('put answers with the new document for return: "document", else without one', async ({ store, shape }) => {
    const plain = await store.put({ shape, id: "a", set: { n: 1 } });
    assert.ok(!("document" in plain));
    const full = await store.put({ shape, id: "a", set: { n: 2 }, ttl: 60, return: "document" });
    const { document, ...result } = full;
    assert.deepEqual(timeless(document), timeless(await present(store, shape, "a")));
    assert.deepEqual(result, { revision: document?.revision, expires_at: document?.expires_at, created: false });
    assert.equal(typeof document?.as_of, "string");
  });

  register("put with a ttl tells when the document ends", async ({ store, shape }) => {
    const { expires_at } = await store.put({ shape, id: "a", set: {}, ttl: 90.5 });
    const document = await present(store, shape, "a");
    assert.equal(document.expires_at, expires_at);
    assert.equal(Date.parse(expires_at ?? "") - Date.parse(document.updated_at), 90_500);
  });

  register("put without ttl, or with null, ends the expiry that was there", async ({ store, shape }) => {
    for (const ttl of [undefined, null]) {
      await store.put({ shape, id: "a", set: {}, ttl: 60 });
      const result = await store.put({ shape, id: "a", set: {}, ...(ttl === undefined ? {} : { ttl }) });
      assert.equal(result.expires_at, null);
      assert.equal((await present(store, shape, "a")).expires_at, null);
    }
  });

  register("the same id in two shapes is two documents", async (subject) => {
    const { store, shape } = subject;
    const other = subject.freshShape();
    await store.put({ shape, id: "a", set: { n: 1 } });
    const second = await store.put({ shape: other, id: "a", set: { n: 2 } });
    assert.equal(second.created, true);
    await store.delete({ shape: other, id: "a" });
    assert.deepEqual(await store.get(shape, "a"), { n: 1 });
  });

  register("delete removes a document", async ({ store, shape }) => {
    const put = await store.put({ shape, id: "a", set: { n: 1 } });
    const result = await store.delete({ shape, id: "a" });
    assert.ok(result.revision > put.revision);
    assert.deepEqual(result, { revision: result.revision, expires_at: null, created: false });
    assert.equal(await store.get(shape, "a"), undefined);
    assert.equal(await store.getDocument(shape, "a"), undefined);
  });

  register("deleting what is absent is not an error", async ({ store, shape }) => {
    const result = await store.delete({ shape, id: "nobody" });
    assert.deepEqual(result, { revision: result.revision, expires_at: null, created: false });
    assert.ok(result.revision <= (await revisionOf(store, shape)));
  });

  register('delete answers with the document that went for return: "document"', async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: { n: 1 } });
    const before = await present(store, shape, "a");
    const gone = await store.delete({ shape, id: "a", return: "document" });
    assert.deepEqual(timeless(gone.document), timeless(before));
    const nothing = await store.delete({ shape, id: "a", return: "document" });
    assert.equal(nothing.document, null);
  });

  register("a document that is put again after its deletion begins a new life", async ({ store, shape, pass }) => {
    await store.put({ shape, id: "a", set: { n: 1 } });
    const first = await present(store, shape, "a");
    const { revision: deleted } = await store.delete({ shape, id: "a" });
    await pass(20);
    const again = await store.put({ shape, id: "a", set: { n: 2 } });
    const second = await present(store, shape, "a");
    assert.equal(again.created, true);
    assert.ok(again.revision > deleted);
    assert.equal(second.created_revision, again.revision);
    assert.ok(second.created_at > first.created_at);
  });

  register("writes to many documents at once all land", async ({ store, shape }) => {
    const ids = Array.from({ length: 200 }, (_, n) => `d${n}`);
    await Promise.all(ids.map((id, n) => store.put({ shape, id, set: { n } })));
    const documents = await store.getMany(ids.map((id) => ({ shape, id })));
    assert.deepEqual(
      documents.map((document) => document?.fields),
      ids.map((_, n) => ({ n })),
    );
  });
}
