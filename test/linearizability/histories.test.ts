import { describe, expect, it } from "vitest";
import { SeededRandom } from "../crash/seeded-random.js";
import { judgeHistories } from "./judging.js";

describe("what client processes see over HTTP, while connections are cut, the clock moves and the server is killed", () => {
  const random = new SeededRandom();

  it(`is linearizable (SEED=${random.seed})`, async () => {
    const { violation, kills, cuts } = await judgeHistories(random, 8);
    expect(violation, `SEED=${random.seed}`).toBeUndefined();
    // A run in which nothing went wrong has tried nothing.
    expect(cuts).toBeGreaterThan(0);
    expect(kills).toBeGreaterThan(0);
  });

  it.each(["forgets_write_ids", "reads_stale"] as const)("shows a store that %s", async (weakness) => {
    const { violation } = await judgeHistories(random, 60, weakness);
    expect(violation, `SEED=${random.seed}`).toMatchObject({ linearizable: false });
  });
});
