import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { serve } from "../../server/index.js";
import { PreconditionFailedError } from "../../src/documents/precondition-failed.js";
import { type EmbeddedStore, openMemoryStore, openStore } from "../../src/level/index.js";
import { runChild } from "./processes/child.js";
import { temporaryFolder } from "./temporary-folder.js";

/** The places of those that won; all others must have lost to a condition. */
function winners(outcomes: readonly PromiseSettledResult<unknown>[]): number[] {
  return outcomes.flatMap((outcome, place) => {
    if (outcome.status === "fulfilled") return [place];
    assert.ok(outcome.reason instanceof PreconditionFailedError, String(outcome.reason));
    return [];
  });
}

async function createRounds(store: EmbeddedStore, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const id = `${round}`;
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, by) =>
        store.put({ shape: "race", id, set: { by }, if_match: { exists: false } }),
      ),
    );
    const [winner, ...others] = winners(outcomes);
    assert.deepEqual(others, [], `round ${round}`);
    assert.deepEqual(await store.get("race", id), { by: winner });
  }
}

describe("races in one process", () => {
  test("100 callers, one key, 1,000 rounds: exactly one creates it, and it is what everybody reads", async () => {
    const store = await openStore({ dataDir: await temporaryFolder() });
    await createRounds(store, 1000);
    await store.close();
  });

  test("100 callers, one revision, 300 rounds: exactly one replaces it", async () => {
    const store = await openMemoryStore();
    let { revision } = await store.put({ shape: "race", id: "a", set: {} });
    for (let round = 0; round < 300; round++) {
      const if_match = { revision };
      const outcomes = await Promise.allSettled(
        Array.from({ length: 100 }, (_, by) => store.put({ shape: "race", id: "a", set: { by, round }, if_match })),
      );
      const [winner, ...others] = winners(outcomes);
      assert.deepEqual(others, []);
      assert.deepEqual(await store.get("race", "a"), { by: winner, round });
      revision = (await store.getDocument("race", "a"))?.revision ?? 0;
    }
    await store.close();
  });

  test("deletes and puts of one revision, 500 rounds: exactly one of them happens", async () => {
    const store = await openStore({ dataDir: await temporaryFolder(), durability: "buffered" });
    for (let round = 0; round < 500; round++) {
      const { revision } = await store.put({ shape: "race", id: "a", set: { by: "nobody" } });
      const if_match = { revision };
      const attempts = Array.from({ length: 10 }, (_, by) =>
        (by + round) % 2 === 0
          ? store.delete({ shape: "race", id: "a", if_match })
          : store.put({ shape: "race", id: "a", set: { by }, if_match }),
      );
      const [winner, ...others] = winners(await Promise.allSettled(attempts));
      assert.deepEqual(others, []);
      const deleted = ((winner ?? 0) + round) % 2 === 0;
      assert.deepEqual(await store.get("race", "a"), deleted ? undefined : { by: winner });
    }
    await store.close();
  });
});

describe("races of processes", () => {
  test("four processes over HTTP, 200 rounds: one create and one end of each lease, and no count lost", async () => {
    const rounds = 200;
    const names = ["one", "two", "three", "four"];
    const store = await openStore({ dataDir: await temporaryFolder() });
    const server = await serve({ store, port: 0, logLevel: "silent", processMetrics: false });
    const everyRound = Array.from({ length: rounds }, (_, round) => round);
    await store.batch(everyRound.map((round) => ({ op: "put", shape: "lease", id: `${round}`, set: { by: "test" } })));
    const racing = Promise.all(names.map((name) => runChild("racer.ts", [server.url, name, `${rounds}`])));
    racing.catch(() => undefined);
    for (const name of names) {
      const { changed } = await store.waitFor("ready", name, { after: 0, timeout: 50 });
      assert.ok(changed, `${name} has started`);
    }
    await store.put({ shape: "start", id: "go", set: {} });
    const results = (await racing).map((output) => JSON.parse(output) as RacerResult);
    const inOrder = (list: readonly number[]): number[] => list.toSorted((one, other) => one - other);
    const removals = results.flatMap((result) => result.removals);
    assert.deepEqual(inOrder(results.flatMap((result) => result.creates)), everyRound);
    assert.deepEqual(inOrder([...removals, ...results.flatMap((result) => result.replacements)]), everyRound);
    for (const [place, result] of results.entries()) {
      const by = names[place];
      for (const round of result.creates) assert.deepEqual(await store.get("claim", `${round}`), { by });
      for (const round of result.replacements) assert.deepEqual(await store.get("lease", `${round}`), { by });
    }
    for (const round of removals) assert.equal(await store.get("lease", `${round}`), undefined);
    assert.deepEqual(await store.get("counter", "shared"), { n: (rounds / 10) * names.length });
    await server.close();
    await store.close();
  });
});

/** The rounds that one process won. */
interface RacerResult {
  readonly creates: number[];
  readonly removals: number[];
  readonly replacements: number[];
}
