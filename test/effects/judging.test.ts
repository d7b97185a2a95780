import { describe, expect, it } from "vitest";
import type { Arrival } from "./arrival.js";
import type { Settled } from "./guarded-call.js";
import { judgeEffects } from "./judging.js";

describe("the judge of effects", () => {
  const fire = (key: string, token: number, receipt: number, hasEffect = true): Arrival => ({
    key,
    token,
    receipt,
    hasEffect,
  });
  const told = (key: string, receipt: number, persisted = true): Settled => ({
    key,
    receipt,
    wasReplay: false,
    persisted,
  });

  it("accepts what is promised", () => {
    judgeEffects(["keyed-1"], [fire("keyed-1", 1, 1), fire("keyed-1", 5, 1, false)], [told("keyed-1", 1)]);
    judgeEffects(
      ["bare-1"],
      [fire("bare-1", 1, 1), fire("bare-1", 5, 2)],
      [told("bare-1", 2), { key: "bare-1", review: true }],
    );
    const unstored = told("bare-1", 1, false);
    judgeEffects(["bare-1"], [fire("bare-1", 1, 1), fire("bare-1", 5, 2)], [unstored, told("bare-1", 2)]);
    judgeEffects(["review-1"], [fire("review-1", 1, 1)], [told("review-1", 1)]);
  });

  it.each([
    [
      "two fires under one claim",
      "bare-1",
      [fire("bare-1", 1, 1), fire("bare-1", 1, 2)],
      [told("bare-1", 1)],
      "under one claim",
    ],
    ["no fire", "bare-1", [], [told("bare-1", 1)], "never fired"],
    [
      "two effects in spite of a key",
      "keyed-1",
      [fire("keyed-1", 1, 1), fire("keyed-1", 2, 2)],
      [told("keyed-1", 1)],
      "2 effects",
    ],
    [
      "two fires under review",
      "review-1",
      [fire("review-1", 1, 1), fire("review-1", 2, 2)],
      [told("review-1", 1)],
      "under review",
    ],
    [
      "callers who were told differently",
      "bare-1",
      [fire("bare-1", 1, 1), fire("bare-1", 2, 2)],
      [told("bare-1", 1), told("bare-1", 2)],
      "2 results",
    ],
    ["a result out of nowhere", "bare-1", [fire("bare-1", 1, 1)], [told("bare-1", 7)], "no fire had"],
    ["one out of nowhere that was not stored", "bare-1", [fire("bare-1", 1, 1)], [told("bare-1", 7, false)], "no fire"],
    ["nothing stored in the end", "bare-1", [fire("bare-1", 1, 1)], [told("bare-1", 1, false)], "0 results"],
  ] as const)("finds %s", (_, key, arrivals, settled, problem) => {
    expect(() => judgeEffects([key], arrivals, settled)).toThrow(problem);
  });
});
