import { expect, test } from "vitest";
import { addCounts } from "./counts.js";

test("counts are added by their names, and those that were added stay as they are", () => {
  const one = { kills: 1, cuts: 2 };
  expect(addCounts(one, { cuts: 3, reads: 4 })).toEqual({ kills: 1, cuts: 5, reads: 4 });
  expect(one).toEqual({ kills: 1, cuts: 2 });
});
