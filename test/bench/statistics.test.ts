import { describe, expect, it } from "vitest";
import { overheadOver, percentile, type Round, summarize } from "../../bench/statistics.js";

const round = (latenciesMs: number[], elapsedMs = 1): Round => ({ latenciesMs, elapsedMs });

describe("percentile", () => {
  it("is the nearest rank, always a value that was seen", () => {
    const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
    expect(percentile(hundred, 0.5)).toBe(50);
    expect(percentile(hundred, 0.99)).toBe(99);
    expect(percentile(hundred, 1)).toBe(100);
    expect(percentile([7], 0.5)).toBe(7);
    expect(percentile([1, 2], 0.99)).toBe(2);
    expect(() => percentile([], 0.5)).toThrow(RangeError);
  });
});

describe("summarize", () => {
  it("takes all rounds together, sorts by number, and counts per second of the rounds", () => {
    const summary = summarize([round([10, 9], 20), round([1, 100], 20)]);
    expect(summary).toEqual({ operations: 4, p50Us: 9000, p99Us: 100_000, operationsPerSecond: 100 });
  });
});

describe("overheadOver", () => {
  it("is the difference of the medians, with the quartiles of the rounds' own differences", () => {
    const plain = [round([1, 1, 1]), round([1, 1, 1]), round([1, 1, 1]), round([1, 1, 1])];
    const conditional = [round([2, 2, 2]), round([3, 3, 3]), round([4, 4, 4]), round([9, 9, 9])];
    expect(overheadOver(plain, conditional)).toEqual({ medianUs: 2000, quartilesUs: [1000, 3000] });
  });

  it("compares only what was measured in the same rounds", () => {
    expect(() => overheadOver([round([1])], [round([1]), round([1])])).toThrow(RangeError);
  });
});
