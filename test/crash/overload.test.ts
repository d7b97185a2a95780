import assert from "node:assert/strict";
import { test } from "vitest";
import { flood } from "../overload/flood.js";
import { faultsOf } from "../overload/flood-judge.js";
import { floodBounds, floodPlan, floodTrial } from "../overload/flood-trial.js";
import { SeededRandom } from "./seeded-random.js";

test("under more requests than the machine can take memory is bounded, what is refused is not done, and then all is as before", async () => {
  const counts = await floodTrial(20).run(new SeededRandom());
  process.stdout.write(`${JSON.stringify(counts)}\n`);
  assert.ok((counts["looks"] ?? 0) >= 4);
});

test("a server whose bounds are beyond what it can hold is found by the memory that it takes", async () => {
  const plan = floodPlan(new SeededRandom(), 10);
  const bounds = { requestsMax: 100_000, heldBytesMax: 2 ** 31 - 1 };
  const found = await flood({ ...plan, bounds, largeOfHundred: 95, bodyBytes: 400_000, underWayMax: 2000 });
  assert.match(faultsOf(found, floodBounds).join(), /memory grew by/);
});
