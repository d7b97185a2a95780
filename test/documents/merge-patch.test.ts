import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Fields, JsonValue } from "../../src/documents/contract.js";
import { mergePatch } from "../../src/documents/merge-patch.js";
import { fields } from "./json-arbitrary.js";

describe("the examples of RFC 7396, appendix A", () => {
  const examples: [original: JsonValue, patch: JsonValue, result: JsonValue][] = [
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [
      ["a", "b"],
      ["c", "d"],
      ["c", "d"],
    ],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, "bar", "bar"],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];

  // A document's fields are an object, and so is a patch of them; the examples hold for any member as well.
  test.each(examples)("%j with %j is %j", (original, patch, result) => {
    expect(mergePatch({ member: original }, { member: patch })).toStrictEqual({ member: result });
    if (isFields(original) && isFields(patch)) expect(mergePatch(original, patch)).toStrictEqual(result);
  });

  test("null, which makes the whole value null, removes a member", () => {
    expect(mergePatch({ member: { a: "foo" } }, { member: null })).toStrictEqual({});
  });
});

describe("laws", () => {
  test("an empty patch changes nothing", () => {
    fc.assert(
      fc.property(fields, (document) => {
        deepStrictEqual(mergePatch(document, {}), document);
      }),
    );
  });

  test("applying a patch twice is applying it once", () => {
    fc.assert(
      fc.property(fields, fields, (document, patch) => {
        const once = mergePatch(document, patch);
        deepStrictEqual(mergePatch(once, patch), once);
      }),
    );
  });

  test("each member is the patched one when the patch names it, else the old one", () => {
    fc.assert(
      fc.property(fields, fields, (document, patch) => {
        const merged = mergePatch(document, patch);
        for (const name of new Set([...Object.keys(document), ...Object.keys(patch), ...Object.keys(merged)])) {
          const change = Object.hasOwn(patch, name) ? patch[name] : undefined;
          const expected = change === undefined ? document[name] : change;
          if (change === null) expect(Object.hasOwn(merged, name)).toBe(false);
          else if (!isFields(change)) deepStrictEqual(merged[name], expected);
          else expect(isFields(merged[name])).toBe(true);
        }
      }),
    );
  });

  test("neither the document nor the patch is changed", () => {
    fc.assert(
      fc.property(fields, fields, (document, patch) => {
        const before = structuredClone([document, patch]);
        mergePatch(document, patch);
        deepStrictEqual([document, patch], before);
      }),
    );
  });
});

test("names of inherited members are set, merged and removed as own members", () => {
  deepStrictEqual(mergePatch({}, { constructor: { a: 1 } }), { constructor: { a: 1 } });
  expect(Object.keys(mergePatch({}, { toString: 1, valueOf: null }))).toStrictEqual(["toString"]);
  deepStrictEqual(mergePatch({ hasOwnProperty: 1, constructor: 2 }, { hasOwnProperty: null }), { constructor: 2 });
  deepStrictEqual(mergePatch({ constructor: 1 }, { a: 2 }), { constructor: 1, a: 2 });
});

test("what is replaced keeps its place, what is new comes last", () => {
  expect(Object.keys(mergePatch({ z: 1, m: 2, a: 3 }, { new: 1, m: 5 }))).toStrictEqual(["z", "m", "a", "new"]);
});

test("no null of a patch is stored, however deep it lies", () => {
  expect(mergePatch({ a: 1 }, { a: { b: { c: null, d: 1 } }, e: { f: null } })).toStrictEqual({
    a: { b: { d: 1 } },
    e: {},
  });
});

test("nulls inside an array are values", () => {
  expect(mergePatch({}, { list: [null, { a: null }] })).toStrictEqual({ list: [null, { a: null }] });
});

function isFields(value: JsonValue | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
