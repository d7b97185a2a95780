import { describe, it } from "vitest";
import { effectsTrial } from "../effects/effects-trial.js";
import { untilTried } from "../torture/until-tried.js";
import { SeededRandom } from "./seeded-random.js";

describe("the effects of calls, while workers, server and service are killed, stopped and cut off", () => {
  const random = new SeededRandom();

  it(`are one a claim, one with a key downstream, and never two fires under review (SEED=${random.seed})`, async () => {
    const trial = effectsTrial(10, 6);
    // Six faults of six kinds seldom meet all of them: pieces go on until each was tried.
    const floors = {
      calls: 30,
      replays: 1,
      "worker kills": 1,
      "server kills": 1,
      "service kills": 1,
      stops: 1,
      steps: 1,
    };
    const counts = await untilTried(floors, 30, () => trial.run(random));
    console.log(JSON.stringify(counts));
  });
});
