import { describe, expect, it } from "vitest";
import { judgeHistories } from "../linearizability/judging.js";
import { SeededRandom } from "./seeded-random.js";

describe("histories of client processes over HTTP, under kills, cut connections and a moved clock", () => {
  const random = new SeededRandom();

  it(`are linearizable (SEED=${random.seed})`, async () => {
    const { violation, histories, kills, cuts } = await judgeHistories(random, 60);
    expect(violation, `SEED=${random.seed}`).toBeUndefined();
    expect({ histories, kills }).toEqual({ histories: 60, kills: 15 });
    expect(cuts).toBeGreaterThan(60);
  });
});
