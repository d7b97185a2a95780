import assert from "node:assert/strict";
import type { Condition, Fields } from "../../documents/contract.js";
import type { Register } from "./case.js";
import { present } from "./observing.js";
import { failsOneCondition, refusesRequest, unchecked } from "./refusals.js";

/** What `if_match` means, by its forms. */
export function conditionCases(register: Register): void {
  register("exists: false lets a write happen only where nothing is", async ({ store, shape }) => {
    const if_match = { exists: false };
    assert.equal((await store.put({ shape, id: "a", set: { n: 1 }, if_match })).created, true);
    await failsOneCondition(() => store.put({ shape, id: "a", set: { n: 2 }, if_match }));
    await failsOneCondition(() => store.patch({ shape, id: "a", merge: { n: 2 }, if_match }));
    await failsOneCondition(() => store.delete({ shape, id: "a", if_match }));
    assert.deepEqual(await store.get(shape, "a"), { n: 1 });
    const nothing = await store.delete({ shape, id: "nobody", if_match });
    assert.equal(nothing.created, false);
  });

  register("exists: true lets a write happen only where something is", async ({ store, shape }) => {
    const if_match = { exists: true };
    await failsOneCondition(() => store.put({ shape, id: "a", set: { n: 1 }, if_match }));
    await failsOneCondition(() => store.delete({ shape, id: "a", if_match }));
    assert.equal(await store.get(shape, "a"), undefined);
    await store.put({ shape, id: "a", set: { n: 1 } });
    await store.put({ shape, id: "a", set: { n: 2 }, if_match });
    await store.patch({ shape, id: "a", merge: { m: 3 }, if_match });
    assert.deepEqual(await store.get(shape, "a"), { n: 2, m: 3 });
    await store.delete({ shape, id: "a", if_match });
    assert.equal(await store.get(shape, "a"), undefined);
  });

  register("a revision matches only the living document's own", async ({ store, shape }) => {
    const first = await store.put({ shape, id: "a", set: { n: 1 } });
    await store.put({ shape, id: "b", set: {} });
    const second = await store.put({ shape, id: "a", set: { n: 2 }, if_match: { revision: first.revision } });
    for (const revision of [first.revision, second.revision + 1, second.revision - 1]) {
      await failsOneCondition(
        () => store.put({ shape, id: "a", set: { n: 3 }, if_match: { revision } }),
        `${revision}`,
      );
      await failsOneCondition(() => store.patch({ shape, id: "a", merge: { n: 3 }, if_match: { revision } }));
      await failsOneCondition(() => store.delete({ shape, id: "a", if_match: { revision } }));
    }
    assert.deepEqual(await store.get(shape, "a"), { n: 2 });
    const third = await store.patch({ shape, id: "a", merge: { n: 3 }, if_match: { revision: second.revision } });
    await store.delete({ shape, id: "a", if_match: { revision: third.revision } });
    assert.equal(await store.get(shape, "a"), undefined);
  });

  register("a revision does not match an absent document", async ({ store, shape }) => {
    for (const revision of [1, 5]) {
      await failsOneCondition(() => store.put({ shape, id: "a", set: {}, if_match: { revision } }), `put ${revision}`);
      await failsOneCondition(() => store.delete({ shape, id: "a", if_match: { revision } }), `delete ${revision}`);
    }
    assert.equal(await store.get(shape, "a"), undefined);
  });

  register("a revision of a life that ended never matches again", async ({ store, shape, pass }) => {
    const old = await store.put({ shape, id: "a", set: { n: 1 } });
    await store.delete({ shape, id: "a" });
    await failsOneCondition(() => store.put({ shape, id: "a", set: {}, if_match: { revision: old.revision } }));
    await store.put({ shape, id: "a", set: { n: 1 } });
    await failsOneCondition(() => store.put({ shape, id: "a", set: {}, if_match: { revision: old.revision } }));
    await failsOneCondition(() => store.delete({ shape, id: "a", if_match: { revision: old.revision } }));
    assert.deepEqual(await store.get(shape, "a"), { n: 1 });
    const expired = await store.put({ shape, id: "b", set: { n: 1 }, ttl: 0.2 });
    await pass(250);
    const { revision } = await store.put({ shape, id: "b", set: { n: 1 } });
    assert.ok(revision > expired.revision);
    await failsOneCondition(() => store.put({ shape, id: "b", set: {}, if_match: { revision: expired.revision } }));
  });

  register("fields match when each named one is there and equal, whatever else is there", async ({ store, shape }) => {
    const set: Fields = {
      n: 1,
      text: "x",
      no: null,
      list: [1, { a: 1, b: 2 }],
      deep: { a: { b: [] }, c: 0 },
      flag: false,
    };
    await store.put({ shape, id: "a", set });
    const holding: Fields[] = [
      { n: 1 },
      { no: null },
      { flag: false },
      { n: 1, text: "x", no: null },
      { list: [1, { b: 2, a: 1 }] },
      { deep: { c: 0, a: { b: [] } } },
      set,
    ];
    for (const fields of holding) {
      await store.patch({ shape, id: "a", merge: { touched: true }, if_match: { fields } });
    }
    const failing: Fields[] = [
      { n: 2 },
      { n: "1" },
      { n: true },
      { n: null },
      { missing: null },
      { flag: null },
      { flag: 0 },
      { text: "X" },
      { n: 1, text: "y" },
      { list: [1] },
      { list: [{ a: 1, b: 2 }, 1] },
      { list: [1, { a: 1 }] },
      { deep: { a: { b: [] } } },
      { deep: { a: { b: {} }, c: 0 } },
      { deep: { a: { b: [] }, c: 0, d: 1 } },
      { toString: null },
      { constructor: null },
    ];
    for (const fields of failing) {
      await failsOneCondition(
        () => store.patch({ shape, id: "a", merge: { broken: true }, if_match: { fields } }),
        JSON.stringify(fields),
      );
    }
    assert.deepEqual(await store.get(shape, "a"), { ...set, touched: true });
  });

  register("fields do not match an absent document, not even null", async ({ store, shape }) => {
    await failsOneCondition(() => store.put({ shape, id: "a", set: {}, if_match: { fields: { n: null } } }));
    assert.equal(await store.get(shape, "a"), undefined);
  });

  register("zero has one sign in conditions too", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: { n: -0 } });
    await store.patch({ shape, id: "a", merge: { m: 1 }, if_match: { fields: { n: 0 } } });
    await store.patch({ shape, id: "a", merge: { m: 2 }, if_match: { fields: { n: -0 } } });
    assert.deepEqual((await store.get(shape, "a"))?.["m"], 2);
  });

  register("all members of a condition must hold", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: { n: 1 } });
    const { revision } = await present(store, shape, "a");
    const failing: Condition[] = [
      { exists: true, revision: revision + 1, fields: { n: 1 } },
      { exists: true, revision, fields: { n: 2 } },
      { exists: false, revision, fields: { n: 1 } },
      { exists: false, fields: { n: 1 } },
    ];
    for (const if_match of failing) {
      const about = JSON.stringify(if_match);
      await failsOneCondition(() => store.put({ shape, id: "a", set: { n: 9 }, if_match }), about);
    }
    const if_match = { exists: true, revision, fields: { n: 1 } };
    assert.ok((await store.put({ shape, id: "a", set: { n: 2 }, if_match })).revision > revision);
    await failsOneCondition(() => store.put({ shape, id: "b", set: {}, if_match: { exists: false, revision } }));
  });

  register("a condition that says nothing is refused, for every kind of write", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: { n: 1 } });
    const empty: [about: string, condition: unknown][] = [
      ["no members", {}],
      ["an undefined revision", { revision: undefined }],
      ["an undefined exists", { exists: undefined }],
      ["undefined fields", { fields: undefined }],
      ["one undefined member beside one that holds", { exists: true, revision: undefined }],
      ["undefined", undefined],
      ["null", null],
      ["a number", 5],
      ["text", "*"],
      ["true", true],
      ["an array", []],
    ];
    for (const [about, condition] of empty) {
      const if_match: Condition = unchecked(condition);
      const path = "if_match";
      await refusesRequest(() => store.put({ shape, id: "a", set: { n: 2 }, if_match }), path, `put: ${about}`);
      await refusesRequest(() => store.put({ shape, id: "new", set: { n: 2 }, if_match }), path, `create: ${about}`);
      await refusesRequest(() => store.patch({ shape, id: "a", merge: { n: 2 }, if_match }), path, `patch: ${about}`);
      await refusesRequest(() => store.delete({ shape, id: "a", if_match }), path, `delete: ${about}`);
      for (const operation of [
        { op: "put" as const, shape, id: "a", set: { n: 2 }, if_match },
        { op: "patch" as const, shape, id: "a", merge: { n: 2 }, if_match },
        { op: "delete" as const, shape, id: "a", if_match },
        { op: "check" as const, shape, id: "a", if_match },
      ]) {
        await refusesRequest(() => store.batch([operation]), path, `batch of a ${operation.op}: ${about}`);
      }
    }
    assert.deepEqual(await store.get(shape, "a"), { n: 1 });
    assert.equal(await store.get(shape, "new"), undefined);
  });

  register("a condition with a member of the wrong type, or an unknown one, is refused", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: { n: 1 } });
    const { revision } = await present(store, shape, "a");
    const wrong: object[] = [
      { exists: "true" },
      { exists: 1 },
      { exists: null },
      { revision: `${revision}` },
      { revision: revision + 0.5 },
      { revision: 0 },
      { revision: -1 },
      { revision: Number.NaN },
      { revision: Number.POSITIVE_INFINITY },
      { revision: 2 ** 53 },
      { revision: null },
      { revision: [revision] },
      { fields: null },
      { fields: [] },
      { fields: "n" },
      { fields: {} },
      { fields: { n: Number.NaN } },
      { fields: { n: undefined } },
      { fields: { n: new Date(0) } },
      { revison: revision },
      { exists: true, version: revision },
    ];
    for (const condition of wrong) {
      const if_match: Condition = unchecked(condition);
      const about = `${Object.entries(condition)}`;
      await refusesRequest(() => store.put({ shape, id: "a", set: { n: 2 }, if_match }), "if_match", `put: ${about}`);
      await refusesRequest(() => store.delete({ shape, id: "a", if_match }), "if_match", `delete: ${about}`);
    }
    assert.deepEqual(await store.get(shape, "a"), { n: 1 });
  });

  register("of conditional creates, writes and deletes that meet, exactly one wins", async ({ store, shape }) => {
    for (let round = 0; round < 20; round++) {
      const id = `r${round}`;
      const { revision } = await store.put({ shape, id, set: { by: "nobody" } });
      const if_match = { revision };
      const outcomes = await Promise.allSettled([
        store.delete({ shape, id, if_match }),
        store.put({ shape, id, set: { by: "put" }, if_match }),
        store.patch({ shape, id, merge: { by: "patch" }, if_match }),
        store.delete({ shape, id, if_match }),
      ]);
      const winners = ["delete", "put", "patch", "delete"].filter((_, n) => outcomes[n]?.status === "fulfilled");
      assert.equal(winners.length, 1, `round ${round}: ${winners}`);
      const by = (await store.get(shape, id))?.["by"];
      assert.equal(by, winners[0] === "delete" ? undefined : winners[0]);
    }
  });
}
