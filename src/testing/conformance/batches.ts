import assert from "node:assert/strict";
import type { BatchOperation } from "../../documents/contract.js";
import type { Register } from "./case.js";
import { listedIds, present, timeless } from "./observing.js";
import { failsCondition, refuses, refusesRequest, unchecked } from "./refusals.js";

/** batch. */
export function batchCases(register: Register): void {
  register("a batch carries out each kind of operation and answers in their order", async ({ store, shape }) => {
    await store.put({ shape, id: "patched", set: { a: 1 } });
    await store.put({ shape, id: "deleted", set: { b: 2 } });
    await store.put({ shape, id: "checked", set: {} });
    const { revision, results, ...rest } = await store.batch([
      { op: "put", shape, id: "put", set: { c: 3 }, ttl: 60, return: "document" },
      { op: "patch", shape, id: "patched", merge: { a: null, d: 4 }, return: "document" },
      { op: "delete", shape, id: "deleted", return: "document" },
      { op: "check", shape, id: "checked", if_match: { exists: true } },
      { op: "put", shape, id: "quiet", set: {} },
    ]);
    assert.deepEqual(rest, {});
    assert.deepEqual(
      results.map((result) => [result.created, result.document?.fields]),
      [
        [true, { c: 3 }],
        [false, { d: 4 }],
        [false, { b: 2 }],
        [false, undefined],
        [true, undefined],
      ],
    );
    assert.ok(results.every((result) => result.revision === revision));
    const put = await present(store, shape, "put");
    assert.equal(results[0]?.expires_at, put.expires_at);
    assert.deepEqual(timeless(results[0]?.document), timeless(put));
    assert.deepEqual(await listedIds(store, shape), ["checked", "patched", "put", "quiet"]);
  });

  register("a batch may span shapes", async (subject) => {
    const { store, shape } = subject;
    const other = subject.freshShape();
    await store.batch([
      { op: "put", shape, id: "a", set: { n: 1 } },
      { op: "put", shape: other, id: "a", set: { n: 2 } },
    ]);
    assert.deepEqual([await store.get(shape, "a"), await store.get(other, "a")], [{ n: 1 }, { n: 2 }]);
  });

  register("if one condition of a batch fails, nothing of it happens", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: { n: 1 } });
    for (const place of [0, 1, 2]) {
      const operations: BatchOperation[] = [
        { op: "put", shape, id: "a", set: { n: 2 } },
        { op: "put", shape, id: "b", set: {} },
      ];
      operations.splice(place, 0, { op: "check", shape, id: "c", if_match: { exists: true } });
      const failures = await failsCondition(() => store.batch(operations));
      assert.deepEqual(
        failures.map((failure) => failure.index),
        [place],
      );
    }
    assert.deepEqual(await store.get(shape, "a"), { n: 1 });
    assert.equal(await store.get(shape, "b"), undefined);
  });

  register("if a batch patches what is absent, nothing of it happens", async ({ store, shape }) => {
    await refuses(
      () =>
        store.batch([
          { op: "put", shape, id: "a", set: {} },
          { op: "patch", shape, id: "nobody", merge: { n: 1 } },
        ]),
      "not_found",
    );
    assert.equal(await store.get(shape, "a"), undefined);
  });

  register(
    "if one operation of a batch is not valid, nothing of it happens, and the error names it",
    async (subject) => {
      const { store, shape } = subject;
      const wrong: object[] = [
        { op: "put", shape, id: "", set: {} },
        { op: "put", shape, id: "b", set: { n: Number.NaN } },
        { op: "put", shape, id: "b", set: { at: new Date(0) } },
        { op: "put", shape, id: "b" },
        { op: "put", shape, id: "b", set: {}, ttl: 0 },
        { op: "put", shape: "Not a shape", id: "b", set: {} },
        { op: "put", shape, id: "b", set: {}, iff_match: { exists: false } },
        { op: "replace", shape, id: "b", set: {} },
        { shape, id: "b", set: {} },
        { op: "patch", shape, id: "b", set: {} },
        { op: "delete", shape, id: "b", set: {} },
        { op: "delete", shape, id: "b", ttl: 5 },
        { op: "check", shape, id: "b" },
        { op: "check", shape, id: "b", if_match: { exists: false }, set: {} },
        { op: "put", shape, id: "b", set: {}, write_id: "w" },
      ];
      for (const operation of wrong) {
        const operations = [{ op: "put", shape, id: "a", set: {} }, operation, { op: "put", shape, id: "c", set: {} }];
        const about = Object.entries(operation).flat().map(String).join(" ");
        await refusesRequest(() => store.batch(unchecked(operations)), "operations[1]", about);
      }
      for (const operations of [null, undefined, {}, "put", 5]) {
        await refusesRequest(() => store.batch(unchecked(operations)), undefined, String(operations));
      }
      await refusesRequest(() => store.batch(unchecked([null])), "operations[0]");
      assert.deepEqual(await listedIds(store, shape), []);
    },
  );

  register("a batch with two operations on one document is refused", async ({ store, shape }) => {
    const put = (n: number) => ({ op: "put" as const, shape, id: "a", set: { n } });
    const remove = { op: "delete" as const, shape, id: "a" };
    const check = { op: "check" as const, shape, id: "a", if_match: { exists: false } };
    const between: BatchOperation = { op: "put", shape, id: "between", set: {} };
    const pairs: [BatchOperation, BatchOperation][] = [
      [put(1), put(2)],
      [put(1), remove],
      [remove, put(1)],
      [{ ...put(1), ttl: 60 }, put(2)],
      [check, put(1)],
      [put(1), check],
      [check, check],
      [put(1), { op: "patch", shape, id: "a", merge: { n: 2 } }],
    ];
    for (const [first, second] of pairs) {
      const about = `${first.op}, ${second.op}`;
      await refusesRequest(() => store.batch([first, between, second]), "operations[2]", about);
    }
    assert.deepEqual(await listedIds(store, shape), []);
  });

  register("conditions of a batch see the state before it", async ({ store, shape }) => {
    await store.put({ shape, id: "old", set: { n: 1 } });
    await store.batch([
      { op: "put", shape, id: "new", set: {} },
      { op: "delete", shape, id: "old", if_match: { fields: { n: 1 } } },
      { op: "check", shape, id: "third", if_match: { exists: false } },
    ]);
    await failsCondition(() =>
      store.batch([
        { op: "put", shape, id: "third", set: {} },
        { op: "check", shape, id: "old", if_match: { exists: true } },
      ]),
    );
    assert.deepEqual(await listedIds(store, shape), ["new"]);
  });

  register("a batch holds as many operations as its limit says, and no more", async ({ store, shape }) => {
    const { batchOperationsMax } = store.limits;
    const put = (n: number) => ({ op: "put" as const, shape, id: `d${n}`, set: { n } });
    const operations = Array.from({ length: batchOperationsMax }, (_, n) => put(n));
    const { results } = await store.batch(operations);
    assert.equal(results.length, batchOperationsMax);
    await refuses(
      () => store.batch([...operations, put(batchOperationsMax)]),
      ["invalid_request", "too_large"],
      "one operation more",
    );
    assert.equal(await store.get(shape, `d${batchOperationsMax}`), undefined);
    assert.deepEqual(await store.get(shape, "d7"), { n: 7 });
  });

  register("a batch with more bytes than its limit is refused, and the store goes on", async ({ store, shape }) => {
    const { batchBytesMax, fieldsBytesMax } = store.limits;
    const size = fieldsBytesMax - 1024;
    const count = Math.ceil(batchBytesMax / size) + 1;
    const text = "x".repeat(size);
    const operations = Array.from({ length: count }, (_, n) => ({
      op: "put" as const,
      shape,
      id: `d${n}`,
      set: { text },
    }));
    await refuses(() => store.batch(operations), "too_large");
    assert.deepEqual(await listedIds(store, shape), []);
    await store.put({ shape, id: "after", set: {} });
    assert.deepEqual(await listedIds(store, shape), ["after"]);
  });

  register("batches that name the same documents in another order all come to an end", async ({ store, shape }) => {
    const ids = ["a", "b", "c"];
    const batches = Array.from({ length: 60 }, (_, n) => {
      const order = n % 2 === 0 ? ids : ids.toReversed();
      return store.batch(order.map((id) => ({ op: "put" as const, shape, id, set: { n } })));
    });
    const results = await Promise.all(batches);
    const last = results.reduce((one, other) => (other.revision > one.revision ? other : one));
    for (const id of ids) assert.equal((await present(store, shape, id)).revision, last.revision);
  });

  register("of batches that need the same document absent, exactly one happens, whole", async ({ store, shape }) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, (_, n) =>
        store.batch([
          { op: "put", shape, id: `mine-${n}`, set: {} },
          { op: "put", shape, id: "shared", set: { n }, if_match: { exists: false } },
        ]),
      ),
    );
    const winners = outcomes.flatMap((outcome, n) => (outcome.status === "fulfilled" ? [n] : []));
    assert.equal(winners.length, 1);
    assert.deepEqual(await listedIds(store, shape), [`mine-${winners[0]}`, "shared"]);
    assert.deepEqual(await store.get(shape, "shared"), { n: winners[0] });
  });
}
