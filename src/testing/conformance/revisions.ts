import assert from "node:assert/strict";
import type { Register } from "./case.js";
import { present, revisionOf } from "./observing.js";
import { failsCondition, refuses, refusesRequest } from "./refusals.js";

/** The store-wide revision. */
export function revisionCases(register: Register): void {
  register("revisions grow over all kinds of writes and all documents", async (subject) => {
    const { store, shape } = subject;
    const other = subject.freshShape();
    const results = [
      await store.put({ shape, id: "a", set: { n: 1 } }),
      await store.put({ shape: other, id: "a", set: {} }),
      await store.patch({ shape, id: "a", merge: { n: 2 } }),
      await store.patch({ shape, id: "a", ttl: 60 }),
      await store.delete({ shape: other, id: "a" }),
      await store.batch([{ op: "put", shape, id: "b", set: {} }]),
      await store.put({ shape: other, id: "a", set: {} }),
    ];
    for (const [n, { revision }] of results.entries()) {
      assert.ok(Number.isSafeInteger(revision) && revision > 0);
      const before = results[n - 1];
      if (before !== undefined) assert.ok(revision > before.revision, `result ${n}`);
    }
    const last = results.at(-1)?.revision ?? 0;
    assert.ok((await revisionOf(store, shape)) >= last);
  });

  register("each commit has a revision of its own, whoever writes at once", async ({ store, shape }) => {
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, n) => store.put({ shape, id: `d${n % 10}`, set: { n } })),
    );
    assert.equal(new Set(results.map(({ revision }) => revision)).size, 100);
  });

  register("a batch is one commit: all its documents have its revision", async ({ store, shape }) => {
    await store.put({ shape, id: "b", set: {} });
    const { revision, results } = await store.batch([
      { op: "put", shape, id: "a", set: {} },
      { op: "patch", shape, id: "b", merge: { n: 1 } },
      { op: "delete", shape, id: "nobody" },
    ]);
    assert.equal((await present(store, shape, "a")).revision, revision);
    assert.equal((await present(store, shape, "a")).created_revision, revision);
    assert.equal((await present(store, shape, "b")).revision, revision);
    assert.deepEqual(
      results.map((result) => result.revision),
      [revision, revision, revision],
    );
  });

  register("what changes nothing takes no revision and returns the current one", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: {} });
    // Others may commit to a shared store in between, a sweeper too; one quiet round shows the rule.
    for (let round = 0; ; round++) {
      const before = await revisionOf(store, shape);
      const results = [
        await store.delete({ shape, id: "nobody" }),
        await store.delete({ shape, id: "nobody", if_match: { exists: false } }),
        await store.batch([
          { op: "check", shape, id: "a", if_match: { exists: true } },
          { op: "check", shape, id: "nobody", if_match: { exists: false } },
        ]),
        await store.batch([{ op: "delete", shape, id: "nobody" }]),
      ];
      await failsCondition(() => store.put({ shape, id: "a", set: {}, if_match: { exists: false } }));
      await refuses(() => store.patch({ shape, id: "nobody", merge: { n: 1 } }), "not_found");
      await refusesRequest(() => store.put({ shape, id: "", set: {} }));
      const revisions = [...results.map((result) => result.revision), await revisionOf(store, shape)];
      if (revisions.every((revision) => revision === before)) break;
      assert.ok(round < 5, `the revision was ${before}, then ${revisions}`);
    }
  });

  register("created_revision is the commit that began this life, whatever came later", async ({ store, shape }) => {
    const first = await store.put({ shape, id: "a", set: {} });
    await store.put({ shape, id: "a", set: { n: 1 } });
    await store.patch({ shape, id: "a", merge: { n: 2 } });
    await store.batch([{ op: "patch", shape, id: "a", ttl: 60 }]);
    assert.equal((await present(store, shape, "a")).created_revision, first.revision);
    await store.delete({ shape, id: "a" });
    const second = await store.put({ shape, id: "a", set: {} });
    assert.equal((await present(store, shape, "a")).created_revision, second.revision);
  });

  register("a list's revision covers every write that was answered before it", async ({ store, shape }) => {
    for (let n = 0; n < 10; n++) {
      const { revision } = await store.put({ shape, id: "a", set: { n } });
      const page = await store.list(shape);
      assert.ok(page.revision >= revision);
      assert.equal(page.documents[0]?.revision, revision);
    }
  });
}
