import { expect, test } from "vitest";
import { SeededRandom } from "../crash/seeded-random.js";
import { tearMany } from "./torn-log.js";

test("a log of LevelDB that is torn anywhere opens with every whole batch before the tear, and nothing of the torn one", async () => {
  const random = new SeededRandom();
  console.log(`seed of the tears: ${random.seed}`);
  const counts = await tearMany(random, 40);
  console.log(JSON.stringify(counts));
  expect(counts["cut off"]).toBeGreaterThan(5);
});
