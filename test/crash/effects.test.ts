import { describe, expect, it } from "vitest";
import { effectsTrial } from "../effects/effects-trial.js";
import { SeededRandom } from "./seeded-random.js";

describe("the effects of calls, while workers, server and service are killed, stopped and cut off", () => {
  const random = new SeededRandom();

  it(`are one a claim, one with a key downstream, and never two fires under review (SEED=${random.seed})`, async () => {
    const counts = await effectsTrial(10, 6).run(random);
    expect(counts).toMatchObject({ calls: 30 });
    expect(counts["kills"]).toBeGreaterThan(0);
    expect(counts["replays"]).toBeGreaterThan(0);
  });
});
