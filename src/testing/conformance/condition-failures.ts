import assert from "node:assert/strict";
import type { Condition } from "../../documents/contract.js";
import type { Register } from "./case.js";
import { present, timeless } from "./observing.js";
import { failsCondition, failsOneCondition } from "./refusals.js";

/** What a failed condition tells the loser. */
export function conditionFailureCases(register: Register): void {
  register("a failed condition says what was expected and what is there", async ({ store, shape, pass }) => {
    await store.put({ shape, id: "a", set: { owner: "first" }, ttl: 60 });
    const winner = await present(store, shape, "a");
    await pass(200);
    const failure = await failsOneCondition(() =>
      store.put({ shape, id: "a", set: { owner: "second" }, if_match: { exists: false } }),
    );
    const { current, ...rest } = failure;
    assert.deepEqual(rest, { index: 0, shape, id: "a", expected: { exists: false } });
    assert.deepEqual(timeless(current), timeless(winner));
    const passed = Date.parse(current?.as_of ?? "") - Date.parse(winner.as_of);
    assert.ok(passed >= 190, `as_of is the instant of the answer, but ${passed} ms after the earlier one`);
  });

  register("a failed condition on an absent document has current: null", async ({ store, shape }) => {
    const failure = await failsOneCondition(() =>
      store.put({ shape, id: "a", set: {}, if_match: { exists: true, fields: { n: 1 } } }),
    );
    const expected = { exists: true, fields: { n: 1 } };
    assert.deepEqual(failure, { index: 0, shape, id: "a", expected, current: null });
  });

  register("a failed condition on an expired document has current: null", async ({ store, shape, pass }) => {
    const { revision } = await store.put({ shape, id: "a", set: {}, ttl: 0.1 });
    await pass(150);
    const failure = await failsOneCondition(() => store.put({ shape, id: "a", set: {}, if_match: { revision } }));
    assert.equal(failure.current, null);
    assert.ok(!("current_omitted" in failure));
  });

  register("the loser of a create gets what the winner stored, in full", async ({ store, shape }) => {
    const attempts = Array.from({ length: 10 }, (_, n) => n);
    const outcomes = await Promise.allSettled(
      attempts.map((n) => store.put({ shape, id: "a", set: { by: n }, if_match: { exists: false } })),
    );
    const winner = outcomes.findIndex((outcome) => outcome.status === "fulfilled");
    for (const outcome of outcomes) {
      if (outcome.status === "fulfilled") continue;
      const [failure] = await failsCondition(() => Promise.reject(outcome.reason));
      assert.deepEqual(failure?.current?.fields, { by: winner });
    }
  });

  register("a batch names each condition that failed by its place", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: { n: 1 } });
    await store.put({ shape, id: "b", set: { n: 2 } });
    const expectations: Condition[] = [{ fields: { n: 1 } }, { exists: false }, { exists: true }, { exists: false }];
    const failures = await failsCondition(() =>
      store.batch([
        { op: "put", shape, id: "a", set: {}, if_match: { fields: { n: 1 } } },
        { op: "check", shape, id: "b", if_match: { exists: false } },
        { op: "delete", shape, id: "c", if_match: { exists: true } },
        { op: "put", shape, id: "d", set: {}, if_match: { exists: false } },
      ]),
    );
    const [b, c] = failures;
    assert.deepEqual(
      failures.map((failure) => [failure.index, failure.shape, failure.id, failure.expected]),
      [
        [1, shape, "b", expectations[1]],
        [2, shape, "c", expectations[2]],
      ],
    );
    assert.deepEqual(b?.current?.fields, { n: 2 });
    assert.equal(c?.current, null);
  });

  register("current documents beyond the limit are left out and marked", async ({ store, shape }) => {
    const { currentBytesMax, fieldsBytesMax } = store.limits;
    const size = Math.min(fieldsBytesMax - 1024, Math.floor(currentBytesMax * 0.7));
    const ids = ["a", "b", "c"];
    for (const id of ids) await store.put({ shape, id, set: { text: "x".repeat(size) } });
    const failures = await failsCondition(() =>
      store.batch(ids.map((id) => ({ op: "check" as const, shape, id, if_match: { exists: false } }))),
    );
    assert.deepEqual(
      failures.map((failure) => failure.id),
      ids,
    );
    const omitted = failures.filter((failure) => failure.current_omitted === true);
    assert.ok(omitted.length > 0, "not all fit");
    assert.ok(omitted.length < ids.length, "one fits");
    for (const failure of failures) {
      if (failure.current_omitted === true) assert.equal(failure.current, null);
      else assert.equal(failure.current?.fields["text"], "x".repeat(size));
    }
  });
}
