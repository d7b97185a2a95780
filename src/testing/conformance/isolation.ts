import assert from "node:assert/strict";
import type { Document, Fields } from "../../documents/contract.js";
import type { Register } from "./case.js";
import { CommitReader, revisionOf } from "./observing.js";
import { failsOneCondition, unchecked } from "./refusals.js";

/** Overwrites all that can be reached, frozen or not, as a careless caller would. */
function spoil(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    spoil(Reflect.get(value, key));
    Reflect.set(value, key, "spoilt");
  }
  Reflect.set(value, "added", "spoilt");
}

const original = (): Fields => ({ n: 1, deep: { list: [1, { a: 1 }] } });

/** What the caller does with its objects, before or after, changes nothing that is stored. */
export function isolationCases(register: Register): void {
  register("changing what was given to a write, once it was called, changes nothing", async ({ store, shape }) => {
    const put = { shape, id: "a", set: original() };
    const putting = store.put(put);
    spoil(put);
    await putting;
    assert.deepEqual(await store.get(shape, "a"), original());
    const patch = { shape, id: "a", merge: { deep: { more: { x: 1 } } }, if_match: { fields: original() } };
    const patching = store.patch(patch);
    spoil(patch);
    await patching;
    assert.deepEqual(await store.get(shape, "a"), { n: 1, deep: { list: [1, { a: 1 }], more: { x: 1 } } });
    const operations = [{ op: "put" as const, shape, id: "b", set: original() }];
    const batching = store.batch(operations);
    spoil(operations);
    await batching;
    assert.deepEqual(await store.get(shape, "b"), original());
    spoil(put);
    assert.deepEqual(await store.get(shape, "b"), original());
  });

  register("changing what a read or a write gave back changes nothing", async ({ store, shape }) => {
    const put = await store.put({ shape, id: "a", set: original(), return: "document" });
    spoil(put);
    const unharmed = async (after: string): Promise<Document> => {
      const document = await store.getDocument(shape, "a");
      assert.deepEqual(document?.fields, original(), `after changing what ${after} gave`);
      assert.deepEqual([document?.shape, document?.id], [shape, "a"], after);
      return document ?? assert.fail();
    };
    await unharmed("put");
    spoil(await store.get(shape, "a"));
    spoil(await unharmed("get"));
    await unharmed("getDocument");
    spoil(await store.getMany([{ shape, id: "a" }]));
    await unharmed("getMany");
    spoil(await store.list(shape));
    await unharmed("list");
    for await (const document of store.scan(shape)) spoil(document);
    await unharmed("scan");
    spoil(await store.waitFor(shape, "a", { after: 0, timeout: 0 }));
    await unharmed("waitFor");
    spoil(await failsOneCondition(() => store.put({ shape, id: "a", set: {}, if_match: { exists: false } })));
    await unharmed("a failed condition");
  });

  register("the same key twice in one getMany gives two objects", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: original() });
    const [one, other] = await store.getMany([
      { shape, id: "a" },
      { shape, id: "a" },
    ]);
    spoil(one);
    assert.deepEqual(other?.fields, original());
  });

  register("watchers and waiters share nothing that one of them could change", async ({ store, shape }) => {
    const since = await revisionOf(store, shape);
    const readers = [0, 1, 2].map(() => new CommitReader(store.watch({ shape, since })));
    const pending = readers.map((reader) => reader.next());
    const waiting = [0, 1].map(() => store.waitFor(shape, "a", { after: 0, timeout: 60 }));
    const put = await store.put({ shape, id: "a", set: original(), return: "document" });
    spoil(put);
    for (const commit of pending) {
      const { changes } = await commit;
      assert.deepEqual(changes[0]?.document?.fields, original());
      spoil(changes);
    }
    for (const waiter of waiting) {
      const result = await waiter;
      assert.deepEqual(result.document?.fields, original());
      spoil(result);
    }
    for (const reader of readers) await reader.end();
    const again = new CommitReader(store.watch({ shape, since }));
    assert.deepEqual((await again.next()).changes[0]?.document?.fields, original());
    await again.end();
    assert.deepEqual(await store.get(shape, "a"), original());
  });

  register("losers of the same create share nothing that one of them could change", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: original() });
    const outcomes = await Promise.allSettled(
      [0, 1, 2].map(() => store.put({ shape, id: "a", set: {}, if_match: { exists: false } })),
    );
    for (const outcome of outcomes) {
      assert.equal(outcome.status, "rejected");
      if (outcome.status !== "rejected") continue;
      const failure = await failsOneCondition(() => Promise.reject(outcome.reason));
      assert.deepEqual(failure.current?.fields, original());
      spoil(failure.current);
    }
  });

  register("the store does not change what it was given", async ({ store, shape }) => {
    const set = unchecked<Fields>(Object.freeze({ n: -0, gone: undefined, deep: Object.freeze({ list: [1] }) }));
    await store.put(Object.freeze({ shape, id: "a", set }));
    assert.deepEqual(Object.keys(set), ["n", "gone", "deep"]);
    assert.ok(Object.is(set["n"], -0));
    const key = Object.freeze({ shape, id: "a" });
    await store.getMany(Object.freeze([key]));
    await store.batch(Object.freeze([Object.freeze({ op: "put" as const, shape, id: "b", set })]));
  });
}
