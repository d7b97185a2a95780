import { expect, test } from "vitest";
import { wrongValuesEverywhere } from "../fuzz/wrong-values-everywhere.js";

test("every wrong value at every member of every request is refused by its place, nothing is stored then, and what is taken is what the description allows", async () => {
  const { faults, refused, taken, part } = await wrongValuesEverywhere(1);
  expect(faults).toEqual([]);
  expect(part.untried()).toEqual([]);
  expect(refused).toBeGreaterThan(3000);
  expect(taken).toBeGreaterThan(500);
});
