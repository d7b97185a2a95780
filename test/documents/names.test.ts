import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defaultLimits } from "../../src/base/limits.js";
import { checkId, checkIdPart, checkShape, checkWriteId } from "../../src/documents/names.js";
import { expectInvalid } from "./refusal.js";

const noText: unknown[] = [undefined, null, 0, 1, true, 7n, {}, ["a"], Symbol("s"), Object("a")];

describe("shapes", () => {
  test.each(["a", "0", "note", "tool-call", "a.b_c-d", "9.", "constructor", "prototype", "x".repeat(64)])(
    "%s is one",
    (shape) => {
      expect(checkShape(shape, "shape")).toBe(shape);
    },
  );

  test.each([
    "",
    "A",
    "toString",
    "__proto__",
    "_a",
    "-a",
    ".a",
    "..",
    "a/b",
    "a b",
    "a:b",
    "a\0b",
    "a\n",
    "\u00e9",
    "e\u0301",
    "x".repeat(65),
  ])("%j is none", (shape) => {
    expectInvalid(() => checkShape(shape, "shape"), "shape", /1 to 64 characters/);
  });

  test.each(noText)("%o is none", (shape) => {
    expectInvalid(() => checkShape(shape, "operations[2].shape"), "operations[2].shape", /must be a string/);
  });
});

describe("ids", () => {
  const check = (id: unknown) => checkId(id, "id", defaultLimits);

  test.each([
    "a",
    " ",
    "a/b",
    "a%2Fb",
    "50%",
    "a+b",
    ".",
    "..",
    "a\0b",
    "trailing ",
    "constructor",
    "toString",
    "__proto__",
    "\uffff",
    "\u{1f600}",
  ])("%j is one", (id) => {
    expect(check(id)).toBe(id);
  });

  test("composed and decomposed letters are kept as they are", () => {
    for (const id of ["\u00e9", "e\u0301", "\u00c5", "\u212b"]) expect(check(id)).toBe(id);
    expect(check("\u00e9")).not.toBe(check("e\u0301"));
    expect(check("\u00c5")).not.toBe(check("\u212b"));
  });

  test.each(noText)("%o is none", (id) => {
    expectInvalid(() => check(id), "id", /must be a string/);
  });

  test("an empty one is refused", () => {
    expectInvalid(() => check(""), "id", /empty/);
  });

  test("text that is not well-formed is refused", () => {
    expectInvalid(() => check("a\ud83d"), "id", /lone surrogate/);
    expectInvalid(() => check("\ude00"), "id", /lone surrogate/);
  });

  test("1,024 bytes are accepted and one more is refused, whatever a character takes", () => {
    for (const character of ["x", "\u007f", "\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\u{1f600}"]) {
      const bytes = Buffer.byteLength(character);
      const longest = character.repeat(Math.floor(1024 / bytes)) + "x".repeat(1024 % bytes);
      expect(Buffer.byteLength(longest)).toBe(1024);
      expect(check(longest)).toBe(longest);
      expectInvalid(() => check(`${longest}x`), "id", /1024 bytes/);
    }
  });

  test("the bound is in bytes of UTF-8 for any text", () => {
    const limits = { ...defaultLimits, idBytesMax: 12 };
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 14 }), (id) => {
        if (Buffer.byteLength(id) <= 12) expect(checkId(id, "id", limits)).toBe(id);
        else expectInvalid(() => checkId(id, "id", limits), "id", /12 bytes/);
      }),
    );
  });

  test("a prefix or a bound may be empty, but is else judged as an id", () => {
    expect(checkIdPart("", "prefix", defaultLimits)).toBe("");
    expectInvalid(() => checkIdPart("\ud83d", "prefix", defaultLimits), "prefix", /lone surrogate/);
    expectInvalid(() => checkIdPart("x".repeat(1025), "prefix", defaultLimits), "prefix", /1024 bytes/);
    expectInvalid(() => checkIdPart(null, "prefix", defaultLimits), "prefix", /must be a string/);
  });
});

describe("write ids", () => {
  const check = (id: unknown) => checkWriteId(id, "write_id", defaultLimits);

  test("1 to 255 characters", () => {
    for (const id of ["a", "constructor", "x".repeat(255), "\u00e9".repeat(255)]) expect(check(id)).toBe(id);
    expectInvalid(() => check(""), "write_id", /1 to 255/);
    expectInvalid(() => check("x".repeat(256)), "write_id", /1 to 255/);
  });

  test.each(noText)("%o is none", (id) => {
    expectInvalid(() => check(id), "write_id", /must be a string/);
  });

  test("text that is not well-formed is refused", () => {
    expectInvalid(() => check("a\ud83d"), "write_id", /lone surrogate/);
  });
});
