import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defaultLimits } from "../../src/base/limits.js";
import { checkCondition, conditionHolds } from "../../src/documents/condition.js";
import type { Condition } from "../../src/documents/contract.js";
import { fields } from "./json-arbitrary.js";
import { expectInvalid } from "./refusal.js";

const check = (value: unknown) => checkCondition(value, "if_match", defaultLimits);

describe("a condition that is accepted", () => {
  test.each<Condition>([
    { exists: true },
    { exists: false },
    { revision: 1 },
    { revision: 2 ** 53 - 1 },
    { fields: { status: null } },
    { exists: true, revision: 7, fields: { status: "pending", list: [1, { a: 0 }] } },
  ])("%j comes back as it was", (condition) => {
    expect(check(condition)).toStrictEqual(condition);
  });

  test("its fields come back in normal form", () => {
    expect(check({ fields: { a: -0, b: undefined } })).toStrictEqual({ fields: { a: 0 } });
  });
});

describe("a condition that says nothing is refused", () => {
  test("an empty one", () => {
    expectInvalid(() => check({}), "if_match", /always hold/);
  });

  test("one with a member that is undefined, as of a document that was not found", () => {
    const found: { revision: number } | undefined = [][0];
    expectInvalid(
      () => check({ revision: (found as { revision: number } | undefined)?.revision }),
      "if_match.revision",
    );
    expectInvalid(() => check({ exists: undefined }), "if_match.exists", /undefined/);
    expectInvalid(() => check({ fields: undefined }), "if_match.fields", /undefined/);
    expectInvalid(() => check({ exists: true, revision: undefined }), "if_match.revision", /undefined/);
  });

  test("empty fields, also when all their members are undefined", () => {
    expectInvalid(() => check({ fields: {} }), "if_match.fields", /every document/);
    expectInvalid(() => check({ exists: true, fields: { status: undefined } }), "if_match.fields", /every document/);
  });
});

describe("a malformed condition is refused by its path", () => {
  test.each([
    null,
    undefined,
    0,
    7,
    "",
    "exists",
    false,
    true,
    [],
    [{ exists: true }],
    () => true,
    new Map(),
    new Date(0),
  ])("%o is no condition", (value) => {
    expectInvalid(() => check(value), "if_match");
  });

  test("a condition on a prototype is no condition", () => {
    expectInvalid(() => check(Object.create({ exists: false })), "if_match", /plain object/);
  });

  test.each([0, 1, "true", "", null, {}, []])("exists: %o", (exists) => {
    expectInvalid(() => check({ exists }), "if_match.exists", /true or false/);
  });

  test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "7", "", null, true, 7n, {}, []])(
    "revision: %o",
    (revision) => {
      expectInvalid(() => check({ revision }), "if_match.revision", /integer from 1/);
    },
  );

  test("revision: 0 is refused with a hint", () => {
    expectInvalid(() => check({ revision: 0 }), "if_match.revision", /exists: false/);
  });

  test("fields that are no JSON object", () => {
    expectInvalid(() => check({ fields: null }), "if_match.fields");
    expectInvalid(() => check({ fields: [1] }), "if_match.fields");
    expectInvalid(() => check({ fields: { at: new Date(0) } }), "if_match.fields.at", /Date/);
    expectInvalid(() => check({ fields: { list: [1, Number.NaN] } }), "if_match.fields.list[1]", /NaN/);
  });

  test("unknown members, also undefined ones", () => {
    expectInvalid(() => check({ exist: true }), "if_match.exist", /known are exists, revision, fields/);
    expectInvalid(() => check({ exists: true, Revision: 7 }), "if_match.Revision");
    expectInvalid(() => check({ exists: true, version: undefined }), "if_match.version");
    expectInvalid(() => check(JSON.parse('{"exists":true,"__proto__":{"revision":1}}')), "if_match.__proto__");
  });
});

describe("whether a condition holds", () => {
  const target = { revision: 7, fields: { status: "pending", hold: null, args: { a: [1, 2], b: 0 }, constructor: 1 } };
  const holds = (condition: Condition) => conditionHolds(condition, target);

  test("by existence", () => {
    expect(holds({ exists: true })).toBe(true);
    expect(holds({ exists: false })).toBe(false);
  });

  test("by revision", () => {
    expect(holds({ revision: 7 })).toBe(true);
    expect(holds({ revision: 6 })).toBe(false);
    expect(holds({ revision: 8 })).toBe(false);
  });

  test("by fields: each named one is there and is equal, deeply; others do not matter", () => {
    expect(holds({ fields: { status: "pending" } })).toBe(true);
    expect(holds({ fields: { args: { b: 0, a: [1, 2] }, status: "pending" } })).toBe(true);
    expect(holds({ fields: { status: "completed" } })).toBe(false);
    expect(holds({ fields: { status: "pending", args: { a: [1, 2] } } })).toBe(false);
    expect(holds({ fields: { args: { a: [2, 1], b: 0 } } })).toBe(false);
  });

  test("a missing field is not null, and null is not missing", () => {
    expect(holds({ fields: { hold: null } })).toBe(true);
    expect(holds({ fields: { owner: null } })).toBe(false);
    expect(holds({ fields: { hold: 0 } })).toBe(false);
  });

  test("an inherited member is no field", () => {
    expect(holds({ fields: { toString: null } })).toBe(false);
    expect(conditionHolds({ fields: { constructor: 1 } }, { revision: 1, fields: {} })).toBe(false);
    expect(holds({ fields: { constructor: 1 } })).toBe(true);
    expect(holds({ fields: JSON.parse('{"__proto__":{}}') })).toBe(false);
  });

  test("all that is given must hold", () => {
    expect(holds({ exists: true, revision: 7, fields: { status: "pending" } })).toBe(true);
    expect(holds({ exists: false, revision: 7, fields: { status: "pending" } })).toBe(false);
    expect(holds({ exists: true, revision: 6, fields: { status: "pending" } })).toBe(false);
    expect(holds({ exists: true, revision: 7, fields: { status: "failed" } })).toBe(false);
  });

  test("for an absent document only exists: false alone", () => {
    expect(conditionHolds({ exists: false }, undefined)).toBe(true);
    expect(conditionHolds({ exists: true }, undefined)).toBe(false);
    expect(conditionHolds({ revision: 7 }, undefined)).toBe(false);
    expect(conditionHolds({ fields: { status: null } }, undefined)).toBe(false);
    expect(conditionHolds({ exists: false, revision: 7 }, undefined)).toBe(false);
    expect(conditionHolds({ exists: false, fields: { a: 1 } }, undefined)).toBe(false);
  });

  test("a document holds against all its own fields, in any selection of them", () => {
    fc.assert(
      fc.property(fields, fc.func(fc.boolean()), (document, chosen) => {
        const expected = Object.fromEntries(Object.entries(document).filter(([name]) => chosen(name)));
        expect(conditionHolds({ fields: expected }, { revision: 1, fields: document })).toBe(true);
      }),
    );
  });
});
