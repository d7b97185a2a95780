import type { SeededRandom } from "../crash/seeded-random.js";
import type { Trial } from "../torture/trial.js";
import { type FloodPlan, flood } from "./flood.js";
import { type FloodBounds, faultsOf, isFlood } from "./flood-judge.js";

const mebibyte = 1024 * 1024;

/** More than any machine takes: what is not begun in time is held back by the sender, and not by the server. */
const requestsASecond = 50_000;

/** A flood of small writes, large bodies and large pages, in shares that the seed decides. */
export function floodPlan(random: SeededRandom, seconds: number): FloodPlan {
  return {
    bounds: { requestsMax: 200, heldBytesMax: 16 * mebibyte },
    seconds,
    requestsASecond,
    underWayMax: 4000,
    largeOfHundred: 2 + random.below(10),
    pagesOfHundred: 2 + random.below(5),
    bodyBytes: 50_000 + random.below(150_000),
  };
}

/** What a flood may cost. The bounds of the plan hold some sixteen megabytes; the rest is what parsing takes and garbage. */
export const floodBounds: FloodBounds = { memoryMax: 256 * mebibyte, keptMax: 64 * mebibyte, slownessMax: 5 };

/** More requests than the machine can take, for so many seconds. */
export function floodTrial(seconds: number): Trial {
  return {
    name: "more requests than the machine can take",
    async run(random) {
      const found = await flood(floodPlan(random, seconds));
      const faults = faultsOf(found, floodBounds);
      if (faults.length > 0) throw new Error(faults.join("; "));
      if (!isFlood(found.outcome)) throw new Error("nothing was refused, or nothing was done: that was no flood");
      const { sent, acknowledged, refused, pages } = found.outcome;
      return { sent, acknowledged: acknowledged.length, refused: refused.length, pages, looks: found.looks };
    },
  };
}
