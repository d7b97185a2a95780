import { expect, test } from "vitest";
import { defaultLimits } from "../../src/base/limits.js";
import { checkTtl } from "../../src/documents/time-to-live.js";
import { expectInvalid } from "./refusal.js";

const check = (ttl: unknown) => checkTtl(ttl, "ttl", defaultLimits);

test.each([
  [1, 1000],
  [300, 300_000],
  [0.5, 500],
  [0.001, 1],
  [0.0014, 1],
  [0.0015, 2],
  [1.0005, 1001],
  [2_592_000, 2_592_000_000],
  [315_360_000, 315_360_000_000],
])("%d seconds are %d milliseconds", (seconds, milliseconds) => {
  expect(check(seconds)).toBe(milliseconds);
});

test("null stays null, for ever", () => {
  expect(check(null)).toBeNull();
});

test.each([
  0,
  -0,
  -1,
  0.0009,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  315_360_000.001,
  1e20,
  "60",
  "",
  "never",
  false,
  true,
  undefined,
  60n,
  [60],
  {},
  new Date(0),
])("%o is refused, and never means for ever", (ttl) => {
  expectInvalid(() => check(ttl), "ttl", /0\.001 to 315360000 seconds, or null for ever/);
});

test("the message says what was given", () => {
  expectInvalid(() => check(-1), "ttl", /not -1$/);
  expectInvalid(() => check("60"), "ttl", /not a string$/);
  expectInvalid(() => checkTtl(Number.NaN, "operations[1].ttl", defaultLimits), "operations[1].ttl", /not NaN$/);
});
