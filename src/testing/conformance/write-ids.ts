import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { BatchOperation, Fields } from "../../documents/contract.js";
import type { Register } from "./case.js";
import { present, timeless } from "./observing.js";
import { failsOneCondition, refuses, refusesRequest, unchecked } from "./refusals.js";

/** Repeating a write with its write id. Ids are drawn at random: a store remembers them for minutes. */
export function writeIdCases(register: Register): void {
  register("a put that is repeated with its write id gets the first answer", async ({ store, shape }) => {
    const write = { shape, id: "a", set: { n: 1 }, ttl: 60, write_id: randomUUID() };
    const first = await store.put(write);
    assert.ok(!("replayed" in first));
    const again = await store.put(write);
    assert.deepEqual(again, { ...first, replayed: true });
    assert.equal((await present(store, shape, "a")).revision, first.revision);
  });

  register("without a write id, or with another one, a write is a new write", async ({ store, shape }) => {
    const write = { shape, id: "a", set: { n: 1 } };
    const results = [
      await store.put(write),
      await store.put(write),
      await store.put({ ...write, write_id: randomUUID() }),
      await store.put({ ...write, write_id: randomUUID() }),
    ];
    assert.equal(new Set(results.map(({ revision }) => revision)).size, 4);
    assert.ok(results.every((result) => !("replayed" in result)));
  });

  register("a create that is repeated with its write id does not lose against itself", async ({ store, shape }) => {
    const write = { shape, id: "a", set: { n: 1 }, if_match: { exists: false }, write_id: randomUUID() };
    const first = await store.put(write);
    assert.deepEqual(await store.put(write), { ...first, replayed: true });
    await failsOneCondition(() => store.put({ ...write, write_id: randomUUID() }));
  });

  register("a compare-and-swap that is repeated with its write id is not a false 412", async ({ store, shape }) => {
    const { revision } = await store.put({ shape, id: "a", set: { n: 1 } });
    const patch = { shape, id: "a", merge: { n: 2 }, if_match: { revision }, write_id: randomUUID() };
    const patched = await store.patch(patch);
    assert.deepEqual(await store.patch(patch), { ...patched, replayed: true });
    const remove = { shape, id: "a", if_match: { revision: patched.revision }, write_id: randomUUID() };
    const removed = await store.delete(remove);
    assert.deepEqual(await store.delete(remove), { ...removed, replayed: true });
    assert.deepEqual(await store.patch(patch), { ...patched, replayed: true });
    assert.equal(await store.get(shape, "a"), undefined);
  });

  register("a repeated write changes nothing that others wrote since", async ({ store, shape }) => {
    const put = { shape, id: "a", set: { by: "first" }, write_id: randomUUID() };
    const first = await store.put(put);
    const { revision } = await store.put({ shape, id: "a", set: { by: "other" } });
    assert.deepEqual(await store.put(put), { ...first, replayed: true });
    const document = await present(store, shape, "a");
    assert.deepEqual([document.revision, document.fields], [revision, { by: "other" }]);
  });

  register("a repeated delete does not remove what was put since, even if it had found nothing", async (subject) => {
    const { store, shape } = subject;
    await store.put({ shape, id: "a", set: { by: "first" } });
    const deletes = [
      { shape, id: "a", write_id: randomUUID() },
      { shape, id: "nobody", write_id: randomUUID() },
    ];
    for (const write of deletes) {
      const first = await store.delete(write);
      await store.put({ shape, id: write.id, set: { by: "other" } });
      assert.deepEqual(await store.delete(write), { ...first, replayed: true }, write.id);
      assert.deepEqual(await store.get(shape, write.id), { by: "other" }, write.id);
    }
  });

  register('the first answer to return: "document" holds the document of that time', async ({ store, shape }) => {
    const write = { shape, id: "a", set: { n: 1 }, return: "document" as const, write_id: randomUUID() };
    const first = await store.put(write);
    await store.put({ shape, id: "a", set: { n: 2 } });
    const again = await store.put(write);
    assert.deepEqual([again.revision, again.created, again.replayed], [first.revision, true, true]);
    assert.deepEqual(timeless(again.document), timeless(first.document));
    const remove = { shape, id: "a", return: "document" as const, write_id: randomUUID() };
    const removed = await store.delete(remove);
    const removedAgain = await store.delete(remove);
    assert.equal(removedAgain.replayed, true);
    assert.deepEqual(timeless(removedAgain.document), timeless(removed.document));
  });

  register("a write id that comes with another request is refused, and nothing is written", async (subject) => {
    const { store, shape } = subject;
    const other = subject.freshShape();
    const write_id = randomUUID();
    const write = { shape, id: "a", set: { n: 1 }, write_id };
    const { revision } = await store.put(write);
    const others: [about: string, call: () => Promise<unknown>][] = [
      ["other fields", () => store.put({ ...write, set: { n: 2 } })],
      ["another id", () => store.put({ ...write, id: "b" })],
      ["another shape", () => store.put({ ...write, shape: other })],
      ["a ttl", () => store.put({ ...write, ttl: 60 })],
      ["a condition", () => store.put({ ...write, if_match: { revision } })],
      ["a failing condition", () => store.put({ ...write, if_match: { exists: false } })],
      ["a patch", () => store.patch({ shape, id: "a", merge: { n: 1 }, write_id })],
      ["a delete", () => store.delete({ shape, id: "a", write_id })],
      ["a batch", () => store.batch([{ op: "put", shape, id: "c", set: { n: 1 } }], { write_id })],
    ];
    for (const [about, call] of others) {
      const error = await refuses(call, "write_id_conflict", about);
      assert.equal(error.status, 422);
    }
    assert.equal((await present(store, shape, "a")).revision, revision);
    assert.deepEqual(
      await store.getMany([
        { shape, id: "b" },
        { shape, id: "c" },
        { shape: other, id: "a" },
      ]),
      [undefined, undefined, undefined],
    );
    assert.equal((await store.put(write)).replayed, true);
  });

  register("a batch that is repeated with its write id gets the first answer", async ({ store, shape }) => {
    const options = { write_id: randomUUID() };
    await store.put({ shape, id: "patched", set: {}, ttl: 60 });
    const operations: BatchOperation[] = [
      { op: "put", shape, id: "a", set: { n: 1 }, if_match: { exists: false } },
      { op: "put", shape, id: "b", set: { n: 1 }, ttl: 60 },
      { op: "patch", shape, id: "patched", merge: { n: 1 } },
      { op: "check", shape, id: "nobody", if_match: { exists: false } },
    ];
    const first = await store.batch(operations, options);
    const again = await store.batch(operations, options);
    assert.equal(again.replayed, true);
    assert.equal(again.revision, first.revision);
    const plain = (results: typeof first.results) =>
      results.map(({ revision, expires_at, created }) => ({ revision, expires_at, created }));
    assert.deepEqual(plain(again.results), plain(first.results));
    await refuses(() => store.batch(operations.slice(1), options), "write_id_conflict");
    await refuses(() => store.batch(operations.toReversed(), options), "write_id_conflict");
  });

  register("duplicates that arrive together are one write with one answer", async ({ store, shape }) => {
    const write = { shape, id: "a", set: { n: 1 }, if_match: { exists: false }, write_id: randomUUID() };
    const results = await Promise.all(Array.from({ length: 20 }, () => store.put(write)));
    assert.equal(new Set(results.map(({ revision }) => revision)).size, 1);
    assert.ok(results.every(({ created }) => created));
    assert.equal(results.filter(({ replayed }) => replayed !== true).length, 1, "one of them is the first");
    assert.equal((await present(store, shape, "a")).revision, results[0]?.revision);
  });

  register("different requests under one write id that arrive together: one happens, the others are 422", async (s) => {
    const { store, shape } = s;
    const write_id = randomUUID();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, n) => store.put({ shape, id: `d${n}`, set: {}, write_id })),
    );
    const won = outcomes.filter((outcome) => outcome.status === "fulfilled");
    assert.equal(won.length, 1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") await refuses(() => Promise.reject(outcome.reason), "write_id_conflict");
    }
    assert.equal((await store.list(shape)).documents.length, 1);
  });

  register("a write that failed its condition may be tried again under the same write id", async ({ store, shape }) => {
    const write = { shape, id: "a", set: { n: 1 }, if_match: { exists: true }, write_id: randomUUID() };
    await failsOneCondition(() => store.put(write));
    await failsOneCondition(() => store.put(write));
    assert.equal(await store.get(shape, "a"), undefined);
  });

  register("the deepest fields that may be written may be written with a write id", async (s) => {
    const { store, shape } = s;
    const { depthMax } = store.limits;
    let deep: Fields = { bottom: true };
    for (let level = 1; level < depthMax; level++) deep = { in: deep };
    const write = { shape, id: "deep", set: deep, write_id: randomUUID() };
    const first = await store.put(write);
    assert.deepEqual(await store.put(write), { ...first, replayed: true });
    assert.deepEqual(await store.get(shape, "deep"), deep);
  });

  register("a write id has 1 to as many characters as its limit says", async ({ store, shape }) => {
    const longest = randomUUID().padEnd(store.limits.writeIdLengthMax, "x");
    await store.put({ shape, id: "a", set: {}, write_id: longest });
    for (const write_id of ["", `${longest}x`, 5, null, {}, ["w"], true]) {
      const wrong: { write_id: string } = unchecked({ write_id });
      const about = JSON.stringify(write_id);
      await refusesRequest(() => store.put({ shape, id: "b", set: {}, ...wrong }), "write_id", `put ${about}`);
      await refusesRequest(() => store.patch({ shape, id: "a", ttl: 60, ...wrong }), "write_id", `patch ${about}`);
      await refusesRequest(() => store.delete({ shape, id: "a", ...wrong }), "write_id", `delete ${about}`);
      await refusesRequest(() => store.batch([{ op: "delete", shape, id: "a" }], wrong), "write_id", `batch ${about}`);
    }
    assert.equal(await store.get(shape, "b"), undefined);
    assert.deepEqual(await store.get(shape, "a"), {});
  });
}
