import { describe, expect, it } from "vitest";
import { untried } from "../linearizability/counting.js";
import { judgeHistories } from "../linearizability/judging.js";
import { weaknesses } from "../linearizability/weakened-store.js";
import { SeededRandom } from "./seeded-random.js";

describe("histories of client processes over HTTP, under kills, cut connections and a moved clock", () => {
  const random = new SeededRandom();

  it(`are linearizable (SEED=${random.seed})`, async () => {
    const { violation, counts } = await judgeHistories(random, 60);
    expect(violation, `SEED=${random.seed}`).toBeUndefined();
    expect(untried(counts), JSON.stringify(counts)).toEqual([]);
    expect(counts["kills"]).toBeGreaterThanOrEqual(15);
    expect(counts["cuts"]).toBeGreaterThan(60);
  });
});

describe("a store that breaks a promise", () => {
  const random = new SeededRandom();

  it.each(weaknesses)("is found: it %s", async (weakness) => {
    const { violation } = await judgeHistories(random, 60, weakness);
    expect(violation, `SEED=${random.seed}`).toBeDefined();
  });
});
