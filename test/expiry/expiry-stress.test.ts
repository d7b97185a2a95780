import { expect, test } from "vitest";
import type { Fields } from "../../src/documents/contract.js";
import { SeededRandom } from "../crash/seeded-random.js";
import { readAroundDeadlines, type View } from "./expiry-stress.js";

test("reads around deadlines show what lives and nothing else, renewals at the last moment hold, and each end is watched once", async () => {
  const random = new SeededRandom();
  console.log(`seed of the deadlines: ${random.seed}`);
  const counts = await readAroundDeadlines(random, 100_000);
  console.log(JSON.stringify(counts));
  expect(counts["last-moment renewals"]).toBeGreaterThan(100);
  expect(counts["lives watched to their end"]).toBeGreaterThan(100);
  expect(counts["restarts"]).toBeGreaterThan(1);
});

const honest: View = { get: (store, id) => store.get("lease", id), told: (commit) => [commit] };

/** Shows each document once more after it has gone. */
function late(): View {
  const shown = new Map<string, Fields | undefined>();
  return {
    ...honest,
    async get(store, id) {
      const fields = (await store.get("lease", id)) ?? shown.get(id);
      shown.set(id, await store.get("lease", id));
      return fields;
    },
  };
}

const weakened: [about: string, view: View, finding: RegExp][] = [
  ["a read that shows what has expired", late(), /get of/],
  ["a read that misses what lives", { ...honest, get: async () => undefined }, /get of/],
  [
    "a watcher that is not told of an expiry",
    {
      ...honest,
      told: (commit) => [{ ...commit, changes: commit.changes.filter(({ type }) => type !== "expire") }],
    },
    /put of \d+ at revision|were told of/,
  ],
  ["a watcher that is told of a commit twice", { ...honest, told: (commit) => [commit, commit] }, /comes after/],
];
test.each(weakened)("%s is found", async (_about, view, finding) => {
  await expect(readAroundDeadlines(new SeededRandom(3), 20_000, view)).rejects.toThrow(finding);
});
