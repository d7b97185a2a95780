import { describe, it } from "vitest";
import { effectsTrial } from "../effects/effects-trial.js";
import { untilTried } from "../torture/until-tried.js";
import { SeededRandom } from "./seeded-random.js";

describe("the effects of calls, while workers, server and service are killed, stopped and cut off", () => {
  const random = new SeededRandom();

  it(`are one a claim, one with a key downstream, and never two fires under review (SEED=${random.seed})`, async () => {
    const trial = effectsTrial(10, 6);
    const counts = await untilTried({ calls: 30, kills: 1, replays: 1 }, 5, () => trial.run(random));
    console.log(JSON.stringify(counts));
  });
});
