import assert from "node:assert/strict";
import type { Register } from "./case.js";
import { during, present } from "./observing.js";
import { refuses, refusesRequest, untyped } from "./refusals.js";

/** get, getDocument and getMany. */
export function readingCases(register: Register): void {
  register("get of an absent document is undefined", async ({ store, shape }) => {
    assert.equal(await store.get(shape, "nobody"), undefined);
    assert.equal(await store.getDocument(shape, "nobody"), undefined);
  });

  register("get gives the fields alone", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: { title: "first", n: 1 } });
    assert.deepEqual(await store.get(shape, "a"), { title: "first", n: 1 });
  });

  register(
    "getDocument gives the fields with revision, times and expiry, and nothing else",
    async ({ store, shape }) => {
      const { revision } = await store.put({ shape, id: "a", set: { n: 1 } });
      const document = await present(store, shape, "a");
      const { created_at, updated_at, as_of, ...rest } = document;
      assert.deepEqual(rest, {
        shape,
        id: "a",
        fields: { n: 1 },
        revision,
        created_revision: revision,
        expires_at: null,
      });
      for (const time of [created_at, updated_at, as_of]) {
        assert.equal(new Date(time).toISOString(), time, "times are ISO 8601 in UTC");
      }
      assert.equal(created_at, updated_at);
      assert.ok(as_of >= updated_at, "an answer is not older than what it shows");
    },
  );

  register("as_of is the instant of the answer, while updated_at stays", async ({ store, shape, pass }) => {
    await store.put({ shape, id: "a", set: {} });
    const before = await present(store, shape, "a");
    await pass(1500);
    const after = await present(store, shape, "a");
    assert.equal(after.updated_at, before.updated_at);
    const passed = Date.parse(after.as_of) - Date.parse(before.as_of);
    assert.ok(passed >= 1490, `1500 ms passed, as_of moved by ${passed}`);
  });

  register("an answered write is seen by the next read", async ({ store, shape }) => {
    for (let n = 0; n < 20; n++) {
      const { revision } = await store.put({ shape, id: "a", set: { n } });
      const document = await present(store, shape, "a");
      assert.deepEqual([document.revision, document.fields], [revision, { n }]);
    }
  });

  register("getMany answers in the order of the keys, with undefined for what is absent", async (subject) => {
    const { store, shape } = subject;
    const other = subject.freshShape();
    await store.put({ shape, id: "a", set: { n: 1 } });
    await store.put({ shape: other, id: "b", set: { n: 2 } });
    const documents = await store.getMany([
      { shape: other, id: "b" },
      { shape, id: "nobody" },
      { shape, id: "a" },
      { shape: other, id: "a" },
      { shape, id: "a" },
    ]);
    assert.deepEqual(
      documents.map((document) => document && [document.shape, document.id, document.fields]),
      [[other, "b", { n: 2 }], undefined, [shape, "a", { n: 1 }], undefined, [shape, "a", { n: 1 }]],
    );
  });

  register("getMany of no keys is empty", async ({ store }) => {
    assert.deepEqual(await store.getMany([]), []);
  });

  register("getMany is one snapshot: it never shows half of a batch", async ({ store, shape }) => {
    const pair = (token: number) => ["left", "right"].map((id) => ({ op: "put" as const, shape, id, set: { token } }));
    await store.batch(pair(0));
    const writing = (async () => {
      for (let token = 1; token <= 30; token++) await store.batch(pair(token));
    })();
    await during(writing, async () => {
      const [left, right] = await store.getMany([
        { shape, id: "left" },
        { shape, id: "right" },
      ]);
      assert.deepEqual(left?.fields, right?.fields);
      assert.equal(left?.revision, right?.revision);
    });
  });

  register("getMany takes as many keys as its limit says, and no more", async ({ store, shape }) => {
    const { getManyKeysMax } = store.limits;
    const keys = Array.from({ length: getManyKeysMax }, (_, n) => ({ shape, id: `k${n}` }));
    assert.equal((await store.getMany(keys)).length, getManyKeysMax);
    await refuses(() => store.getMany([...keys, { shape, id: "one more" }]), ["invalid_request", "too_large"]);
  });

  register("reads refuse what cannot be a shape or an id", async (subject) => {
    const { shape } = subject;
    const store = untyped(subject.store);
    const wrong: [shape: unknown, id: unknown][] = [
      [shape, ""],
      [shape, undefined],
      [shape, 7],
      [shape, null],
      ["", "a"],
      ["Upper", "a"],
      [undefined, "a"],
      [["a"], "a"],
    ];
    for (const [badShape, badId] of wrong) {
      const about = `shape ${JSON.stringify(badShape)}, id ${JSON.stringify(badId)}`;
      await refusesRequest(() => store.get(badShape, badId), undefined, `get ${about}`);
      await refusesRequest(() => store.getDocument(badShape, badId), undefined, about);
      await refusesRequest(() => store.getMany([{ shape: badShape, id: badId }]), undefined, `many ${about}`);
    }
    await refusesRequest(() => store.getMany("a"));
    await refusesRequest(() => store.getMany([null]));
    await refusesRequest(() => store.getMany([{ shape, id: "a", revision: 1 }]), "revision");
  });
}
