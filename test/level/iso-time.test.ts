import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toIso } from "../../src/level/iso-time.js";

describe("the text of an instant", () => {
  it("is that of Date, whatever was asked for before", () => {
    const latest = 8_640_000_000_000_000;
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -latest, max: latest }), { minLength: 1 }), (instants) => {
        for (const instant of instants) expect(toIso(instant)).toBe(new Date(instant).toISOString());
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 5_000_000_000_000 }), (instant) => {
        expect(toIso(instant)).toBe(new Date(instant).toISOString());
      }),
    );
  });

  it.each([
    0, 1, 999, 1000, 59_999, 3_599_999, 86_399_999, 86_400_000, 951_782_399_999, 951_782_400_000, 1_798_761_599_999,
    253_402_300_799_999, 253_402_300_800_000,
  ])("is that of Date at %d", (instant) => {
    expect(toIso(instant)).toBe(new Date(instant).toISOString());
  });

  it("does not exist for what is no instant", () => {
    for (const instant of [Number.NaN, Number.POSITIVE_INFINITY, 8_640_000_000_000_001]) {
      expect(() => toIso(instant)).toThrow(RangeError);
    }
  });
});
