import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "../../src/documents/canonical-json.js";
import type { JsonValue } from "../../src/documents/contract.js";
import { jsonEqual } from "../../src/documents/json-equal.js";
import { jsonValue, reordered } from "./json-arbitrary.js";

test("two values are equal when their canonical texts are the same", () => {
  // A few small values make equal pairs likely.
  const small = fc.oneof(jsonValue, fc.constantFrom<JsonValue>(null, 0, "", false, [], {}, { a: 1 }, [0], { a: [] }));
  fc.assert(
    fc.property(small, small, (a, b) => {
      expect(jsonEqual(a, b)).toBe(canonicalJson(a) === canonicalJson(b));
    }),
  );
});

test("a copy is equal, whatever the order of its members", () => {
  fc.assert(
    fc.property(jsonValue, (value) => {
      expect(jsonEqual(value, structuredClone(value))).toBe(true);
      expect(jsonEqual(value, reordered(value))).toBe(true);
    }),
  );
});

test("0 equals -0", () => {
  expect(jsonEqual(0, -0)).toBe(true);
  expect(jsonEqual({ a: [-0] }, { a: [0] })).toBe(true);
});

test("the order of elements counts", () => {
  expect(jsonEqual([1, 2], [2, 1])).toBe(false);
  expect(jsonEqual([1], [1, 1])).toBe(false);
});

test("values of different kinds are never equal", () => {
  const kinds: (JsonValue | undefined)[] = [undefined, null, false, 0, "", "0", [], {}, [null], { 0: null }];
  for (const [index, a] of kinds.entries()) {
    for (const [other, b] of kinds.entries()) expect(jsonEqual(a, b)).toBe(index === other);
  }
});

test("an inherited member is no member", () => {
  expect(jsonEqual({ constructor: 1 }, { a: 1 })).toBe(false);
  expect(jsonEqual({ a: 1 }, { toString: 1 })).toBe(false);
  expect(jsonEqual({ constructor: 1 }, { constructor: 1 })).toBe(true);
  // What every object inherits under this name is an object without members of its own.
  expect(jsonEqual(JSON.parse('{"__proto__":{}}'), { a: 1 })).toBe(false);
});

test("composed and decomposed letters differ", () => {
  expect(jsonEqual("\u00e9", "e\u0301")).toBe(false);
  expect(jsonEqual({ "\u00c5": 1 }, { "\u212b": 1 })).toBe(false);
});
