import { deepStrictEqual } from "node:assert/strict";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defaultLimits } from "../../src/base/limits.js";
import { checkFields, checkJson } from "../../src/documents/json-value.js";
import { fields, jsonValue } from "./json-arbitrary.js";
import { expectInvalid, expectTooLarge, refusal } from "./refusal.js";

const check = (value: unknown) => checkFields(value, "set", defaultLimits);

/** `levels` objects inside one another. */
function nested(levels: number): unknown {
  return levels === 1 ? {} : { in: nested(levels - 1) };
}

describe("what JSON can say comes back as it went in", () => {
  test("any fields", () => {
    fc.assert(
      fc.property(fields, (value) => {
        deepStrictEqual(check(value), value);
      }),
    );
  });

  test("any value, also one that is no object", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        deepStrictEqual(checkJson(value, "result", defaultLimits), value);
      }),
    );
  });

  test("a value that was checked passes again, unchanged", () => {
    fc.assert(
      fc.property(fields, (value) => {
        const once = check(value);
        deepStrictEqual(check(once), once);
      }),
    );
  });

  test("falsy values stay what they are", () => {
    const value = { zero: 0, empty: "", no: false, nothing: null, list: [0, "", false, null, [], {}] };
    deepStrictEqual(check(value), value);
  });

  test("members keep their order", () => {
    expect(Object.keys(check({ z: 1, a: { y: 1, b: 2 }, m: 3 }))).toStrictEqual(["z", "a", "m"]);
  });

  test("names of inherited members are ordinary names", () => {
    const value = { constructor: 1, toJSON: "x", hasOwnProperty: null, prototype: {}, toString: [], valueOf: true };
    const checked = check(value);
    expect(Object.keys(checked)).toStrictEqual(Object.keys(value));
    deepStrictEqual(checked, value);
  });

  test("composed and decomposed letters stay different, as values and as names", () => {
    const checked = check({ "\u00e9": "\u00e9", "e\u0301": "e\u0301", "\u00c5": "\u212b" });
    expect(Object.entries(checked)).toStrictEqual([
      ["\u00e9", "\u00e9"],
      ["e\u0301", "e\u0301"],
      ["\u00c5", "\u212b"],
    ]);
  });

  test("objects without a prototype and objects of another realm count as plain", () => {
    const bare: { [name: string]: unknown } = Object.create(null);
    bare["a"] = { b: [1] };
    expect(check(bare)).toStrictEqual({ a: { b: [1] } });
    expect(check(runInNewContext("({ a: [1, { b: null }] })"))).toStrictEqual({ a: [1, { b: null }] });
  });

  test("frozen objects are accepted and stay untouched", () => {
    const value = Object.freeze({ a: undefined, list: Object.freeze([-0]) });
    expect(check(value)).toStrictEqual({ list: [0] });
    expect(Object.is(value.list[0], -0)).toBe(true);
  });
});

describe("the normal form", () => {
  test("members that are undefined are dropped at every level", () => {
    const checked = check({ note: undefined, in: { note: undefined, kept: 1 }, list: [{ note: undefined }] });
    expect(checked).toStrictEqual({ in: { kept: 1 }, list: [{}] });
    expect(Object.hasOwn(checked, "note")).toBe(false);
  });

  test("-0 becomes 0 at every level", () => {
    const checked = check({ offset: -0, list: [-0, { deep: -0 }] });
    expect(checked).toStrictEqual({ offset: 0, list: [0, { deep: 0 }] });
    expect(Object.is(checked["offset"], 0)).toBe(true);
  });

  test("what was judged does not change with the caller's object", () => {
    const inner = { price: 1 };
    const checked = check({ items: [inner] });
    inner.price = Number.NaN;
    expect(checked).toStrictEqual({ items: [{ price: 1 }] });
  });

  test("ten thousand references to one object become copies of their own", () => {
    const shared = { u: "x" };
    const checked = check({ list: Array.from({ length: 10_001 }, () => shared) });
    const list = checked["list"] as { u: string }[];
    expect(list).toHaveLength(10_001);
    expect(new Set(list).size).toBe(10_001);
    expect(list.every((element) => element.u === "x" && element !== shared)).toBe(true);
  });

  test("getters are read once", () => {
    let reads = 0;
    const list: unknown[] = [];
    Object.defineProperty(list, 0, { enumerable: true, get: () => ++reads * 10 });
    const checked = check({
      get now() {
        return ++reads;
      },
      list,
    });
    expect(checked).toStrictEqual({ now: 1, list: [20] });
    expect(checked).toStrictEqual({ now: 1, list: [20] });
    expect(reads).toBe(2);
  });

  test("a proxy is read once and not kept", () => {
    const reads: PropertyKey[] = [];
    const proxy = new Proxy(
      { a: 1 },
      {
        get(target, name, receiver) {
          reads.push(name);
          return Reflect.get(target, name, receiver);
        },
      },
    );
    const checked = check({ proxy });
    expect(checked).toStrictEqual({ proxy: { a: 1 } });
    expect(reads).toStrictEqual(["a"]);
  });

  test("members that are not enumerable are not part of the value", () => {
    const value = { a: 1 };
    Object.defineProperty(value, "hidden", { value: () => 1 });
    Object.defineProperty(value, Symbol("mark"), { value: 1 });
    expect(check(value)).toStrictEqual({ a: 1 });
  });
});

describe("bounds", () => {
  test("64 levels are accepted and 65 refused, the top being the first", () => {
    const deepest = nested(64);
    expect(check(deepest)).toStrictEqual(deepest);
    const error = refusal(() => check(nested(65)));
    expect(error.code).toBe("invalid_request");
    expect(error.message).toMatch(/deeper than 64 levels/);
    expect(error.path).toBe(`set${".in".repeat(64)}`);
  });

  test("arrays are levels too", () => {
    const limits = { ...defaultLimits, depthMax: 2 };
    expect(checkFields({ a: [1] }, "set", limits)).toStrictEqual({ a: [1] });
    expectInvalid(() => checkFields({ a: [[]] }, "set", limits), "set.a[0]", /2 levels/);
  });

  test("a cycle is reported as too deep", () => {
    const loop: { [name: string]: unknown } = { a: 1 };
    loop["self"] = loop;
    expect(refusal(() => check(loop)).message).toMatch(/deeper than 64 levels, or contains itself/);
    const list: unknown[] = [];
    list.push(list, list);
    expect(refusal(() => check({ list })).message).toMatch(/contains itself/);
  });

  test("an object that repeats its parts without end in sight is refused early", () => {
    let value: unknown = {};
    for (let level = 0; level < 60; level++) value = { left: value, right: value };
    expectTooLarge(() => check(value), "set", defaultLimits.fieldsBytesMax);
  });

  test("more values than bytes are refused, as many as bytes are not", () => {
    const limits = { ...defaultLimits, fieldsBytesMax: 5 };
    expect(checkFields({ a: [1, 2, 3, 4] }, "set", limits)).toStrictEqual({ a: [1, 2, 3, 4] });
    expectTooLarge(() => checkFields({ a: [1, 2, 3, 4, 5] }, "set", limits), "set", 5);
  });
});
