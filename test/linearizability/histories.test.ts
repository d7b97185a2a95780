import { describe, expect, it } from "vitest";
import { SeededRandom } from "../crash/seeded-random.js";
import { untried } from "./counting.js";
import { judgeHistories } from "./judging.js";

/** Milliseconds that no machine, however busy, needs. */
const timeout = 600_000;

describe("what client processes see over HTTP, while connections are cut, the clock moves and the server is killed", () => {
  const random = new SeededRandom();

  it(`is linearizable, with lists, batches, conditions of every form and watches (SEED=${random.seed})`, {
    timeout,
  }, async () => {
    const { violation, counts } = await judgeHistories(random, 8);
    expect(violation, `SEED=${random.seed}`).toBeUndefined();
    // A run that has not tried something has not shown it.
    expect(untried(counts), JSON.stringify(counts)).toEqual([]);
  });
});

describe("a store that breaks a promise", () => {
  const random = new SeededRandom();

  // The slow run tries all of them.
  it.each(["forgets_write_ids", "splits_batches"] as const)("is found: it %s", { timeout }, async (weakness) => {
    const { violation } = await judgeHistories(random, 60, weakness);
    expect(violation, `SEED=${random.seed}`).toBeDefined();
  });
});
