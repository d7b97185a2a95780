import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, writeCanonicalJson } from "../../src/documents/canonical-json.js";
import type { JsonValue } from "../../src/documents/contract.js";
import { jsonValue, reordered } from "./json-arbitrary.js";
import { expectInvalid, refusal } from "./refusal.js";

/** The number whose IEEE 754 bits are these 16 hexadecimal digits. */
function fromBits(hexadecimal: string): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${hexadecimal}`));
  return view.getFloat64(0);
}

describe("the numbers of RFC 8785, appendix B", () => {
  test.each([
    ["0000000000000000", "0"],
    ["8000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["8000000000000001", "-5e-324"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555553", "333333333.3333332"],
    ["41b3de4355555554", "333333333.33333325"],
    ["41b3de4355555555", "333333333.3333333"],
    ["41b3de4355555556", "333333333.3333334"],
    ["41b3de4355555557", "333333333.33333343"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
    ["43143ff3c1cb0959", "1424953923781206.2"],
  ])("%s is %s", (bits, text) => {
    expect(canonicalJson(fromBits(bits))).toBe(text);
    expect(canonicalJson([fromBits(bits)])).toBe(`[${text}]`);
  });

  test.each([
    ["7fefffffffffffff", "1.7976931348623157e+308"],
    ["ffefffffffffffff", "-1.7976931348623157e+308"],
    ["4340000000000000", "9007199254740992"],
    ["c340000000000000", "-9007199254740992"],
    ["4430000000000000", "295147905179352830000"],
    ["44b52d02c7e14af5", "9.999999999999997e+22"],
    ["44b52d02c7e14af6", "1e+23"],
    ["44b52d02c7e14af7", "1.0000000000000001e+23"],
    ["444b1ae4d6e2ef4e", "999999999999999700000"],
    ["444b1ae4d6e2ef4f", "999999999999999900000"],
    ["444b1ae4d6e2ef50", "1e+21"],
  ])("%s, %s, is beyond the integers that a document may hold", (bits, text) => {
    const value = fromBits(bits);
    expect(String(value)).toBe(text);
    expectInvalid(() => canonicalJson({ n: value }, "args"), "args.n", /2\^53 - 1/);
  });

  test.each(["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"])("%s is no number of JSON", (bits) => {
    expectInvalid(() => canonicalJson({ n: fromBits(bits) }, "args"), "args.n", /finite/);
  });
});

describe("the text", () => {
  test("sorts names by their UTF-16 code units, as the example of RFC 8785 section 3.2.3", () => {
    const value = {
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis",
    };
    expect(canonicalJson(value)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",' +
        '"\u20ac":"Euro Sign","\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    );
  });

  test("escapes as the example of RFC 8785 section 3.2.2", () => {
    const value = JSON.parse(
      '{"numbers":[333333333.33333329, 4.50, 2e-3, 0.000000000000000000000000001],' +
        '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
    );
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],' +
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test("escapes the control characters below U+0020 and nothing above them", () => {
    let text = "";
    for (let code = 0; code < 0x20; code++) text += String.fromCharCode(code);
    expect(canonicalJson(text)).toBe(
      '"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f' +
        '\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f"',
    );
    expect(canonicalJson("\u007f\u0080\u009f\u2028\u2029/<>&'")).toBe('"\u007f\u0080\u009f\u2028\u2029/<>&\'"');
  });

  test("says scalars and empty values", () => {
    const values: JsonValue[] = [null, true, false, "", 0, [], {}];
    expect(values.map((value) => canonicalJson(value))).toStrictEqual(["null", "true", "false", '""', "0", "[]", "{}"]);
    expect(canonicalJson(["", [], {}, null])).toBe('["",[],{},null]');
    expect(canonicalJson({ "": "", b: [[]] })).toBe('{"":"","b":[[]]}');
  });

  test("reads back as the same value", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        deepStrictEqual(JSON.parse(canonicalJson(value)), value);
      }),
    );
  });

  test("is the same for every order of members", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(canonicalJson(reordered(value))).toBe(canonicalJson(value));
      }),
    );
  });

  test("has no space and differs from JSON.stringify in the order of members alone", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(canonicalJson(value)).toHaveLength(JSON.stringify(value).length);
      }),
    );
  });

  test("is the same for -0 and 0, and for an undefined member and none", () => {
    expect(canonicalJson({ offset: -0 })).toBe(canonicalJson({ offset: 0 }));
    const args: { [name: string]: unknown } = { a: 1, note: undefined };
    expect(canonicalJson(args as JsonValue)).toBe('{"a":1}');
  });

  test("keeps composed and decomposed letters apart", () => {
    expect(canonicalJson({ name: "\u00e9" })).not.toBe(canonicalJson({ name: "e\u0301" }));
    expect(canonicalJson("\u00c5")).not.toBe(canonicalJson("\u212b"));
  });
});

test.each([
  ["two different Dates", new Date(0), new Date(1)],
  ["two different Sets", new Set([1]), new Set([2])],
  ["NaN and Infinity", Number.NaN, Number.POSITIVE_INFINITY],
  ["two large integers", 2 ** 53, 2 ** 53 + 2],
  ["two bigints", 1n, 2n],
  ["two functions", () => 1, () => 2],
  ["two buffers", Buffer.from("a"), Buffer.from("b")],
  ["two lone surrogates", "\ud83d", "\ud83e"],
  ["undefined in arrays", [undefined], [undefined, undefined]],
])("%s are refused, so that they cannot have one text", (_, one, other) => {
  for (const value of [one, other] as unknown[]) {
    const error = refusal(() => canonicalJson({ a: value } as JsonValue, "args"));
    expect(error.code).toBe("invalid_request");
    expect(error.path).toMatch(/^args\.a/);
  }
});

test("a cycle and more than 64 levels are refused", () => {
  const loop: { [name: string]: JsonValue } = {};
  loop["self"] = loop;
  expect(refusal(() => canonicalJson(loop)).message).toMatch(/deeper than 64 levels/);
  let deep: JsonValue = [];
  for (let level = 1; level < 64; level++) deep = [deep];
  expect(canonicalJson(deep)).toBe("[".repeat(64) + "]".repeat(64));
  expect(refusal(() => canonicalJson([deep])).message).toMatch(/deeper than 64 levels/);
});

test("checked parts may be put together to a deeper value and written", () => {
  let deep: JsonValue = [];
  for (let level = 1; level < 66; level++) deep = [deep];
  expect(writeCanonicalJson(deep)).toBe("[".repeat(66) + "]".repeat(66));
});
