import { describe, expect, test } from "vitest";
import { defaultLimits } from "../../src/base/limits.js";
import { type CheckedWrite, checkDelete, checkPatch, checkPut } from "../../src/documents/requests.js";
import { expectInvalid } from "./refusal.js";

const limits = defaultLimits;
const put = (write: unknown) => checkPut(write, "", limits);
const patch = (write: unknown) => checkPatch(write, "", limits);
const remove = (write: unknown) => checkDelete(write, "", limits);
const key = { shape: "note", id: "n1" };

describe("a put", () => {
  test("with everything", () => {
    const write = {
      ...key,
      set: { a: 1, b: undefined },
      ttl: 0.5,
      if_match: { exists: false },
      write_id: "w1",
      return: "document",
    };
    expect(put(write)).toStrictEqual<CheckedWrite>({
      kind: "put",
      ...key,
      fields: { a: 1 },
      ttlMs: 500,
      condition: { exists: false },
      wantsDocument: true,
    });
  });

  test("with the least", () => {
    expect(put({ ...key, set: {} })).toStrictEqual<CheckedWrite>({
      kind: "put",
      ...key,
      fields: {},
      ttlMs: undefined,
      condition: undefined,
      wantsDocument: false,
    });
  });

  test("members that are undefined count as absent", () => {
    const write = { ...key, set: { a: 1 }, ttl: undefined, write_id: undefined, return: undefined };
    expect(put(write)).toStrictEqual(put({ ...key, set: { a: 1 } }));
  });

  test("ttl: null is for ever, and not the same as none", () => {
    expect(put({ ...key, set: {}, ttl: null }).ttlMs).toBeNull();
    expect(put({ ...key, set: {} }).ttlMs).toBeUndefined();
  });

  test("needs set", () => {
    expectInvalid(() => put(key), "set", /undefined/);
    expectInvalid(() => put({ ...key, set: undefined }), "set", /undefined/);
    expectInvalid(() => put({ ...key, set: null }), "set", /null/);
    expectInvalid(() => put({ ...key, merge: {} }), "merge", /not a member/);
  });
});

describe("a patch", () => {
  test("with a merge keeps its nulls and drops what is undefined", () => {
    expect(patch({ ...key, merge: { a: null, b: { c: null, d: undefined } } })).toStrictEqual<CheckedWrite>({
      kind: "patch",
      ...key,
      fields: { a: null, b: { c: null } },
      ttlMs: undefined,
      condition: undefined,
      wantsDocument: false,
    });
  });

  test("with only a ttl has no fields", () => {
    expect(patch({ ...key, ttl: 60 })).toMatchObject({ fields: undefined, ttlMs: 60_000 });
    expect(patch({ ...key, ttl: null, merge: undefined })).toMatchObject({ fields: undefined, ttlMs: null });
  });

  test("with an empty merge is a write", () => {
    expect(patch({ ...key, merge: {} })).toMatchObject({ fields: {}, ttlMs: undefined });
  });

  test("needs merge or ttl", () => {
    expectInvalid(() => patch(key), "", /merge or ttl/);
    expectInvalid(() => patch({ ...key, merge: undefined, ttl: undefined }), "", /merge or ttl/);
    expectInvalid(() => patch({ ...key, if_match: { exists: true } }), "", /merge or ttl/);
    expectInvalid(() => patch({ ...key, merge: null }), "merge", /null/);
    expectInvalid(() => patch({ ...key, set: {} }), "set", /not a member/);
  });
});

describe("a delete", () => {
  test("takes a condition and may ask for the document", () => {
    expect(
      remove({ ...key, if_match: { revision: 7 }, return: "document", write_id: "w" }),
    ).toStrictEqual<CheckedWrite>({
      kind: "delete",
      ...key,
      fields: undefined,
      ttlMs: undefined,
      condition: { revision: 7 },
      wantsDocument: true,
    });
  });

  test("takes neither fields nor a ttl", () => {
    expectInvalid(() => remove({ ...key, set: {} }), "set");
    expectInvalid(() => remove({ ...key, merge: {} }), "merge");
    expectInvalid(() => remove({ ...key, ttl: 1 }), "ttl");
  });
});

describe("every write", () => {
  const kinds: [string, (write: unknown) => CheckedWrite, object][] = [
    ["put", put, { ...key, set: {} }],
    ["patch", patch, { ...key, merge: {} }],
    ["delete", remove, key],
  ];

  describe.each(kinds)("%s", (_, check, least) => {
    test.each(["iff_match", "ifMatch", "If_Match", "condition", "op", "toString", "constructor"])(
      "refuses the unknown member %s, so that no mistyped condition is passed over",
      (name) => {
        expectInvalid(() => check({ ...least, [name]: { exists: false } }), name, /known are shape, id, /);
        expectInvalid(() => check({ ...least, [name]: undefined }), name);
      },
    );

    test("refuses a member named __proto__", () => {
      const write = JSON.parse(`{"__proto__":{"if_match":{"exists":false}},${JSON.stringify(least).slice(1)}`);
      expectInvalid(() => check(write), "__proto__");
    });

    test("refuses if_match: undefined, which would be no condition at all", () => {
      expectInvalid(() => check({ ...least, if_match: undefined }), "if_match", /without a condition/);
    });

    test.each([null, 0, 7, "", false, [], {}, { revision: undefined }])("refuses if_match: %o", (condition) => {
      expect(() => check({ ...least, if_match: condition })).toThrow(/^if_match/);
    });

    test("refuses what is no plain object, where a condition might hide", () => {
      const hidden = Object.assign(Object.create({ if_match: { exists: false } }), least);
      for (const write of [hidden, null, undefined, 1, "x", [], [least], new Map(Object.entries(least)), () => least]) {
        expectInvalid(() => check(write), "", /the write must be a plain object/);
      }
    });

    test("refuses a return that is not known", () => {
      for (const value of ["fields", "", null, true, ["document"]]) {
        expectInvalid(() => check({ ...least, return: value }), "return", /"document"/);
      }
    });

    test("needs shape and id", () => {
      expectInvalid(() => check({ ...least, shape: undefined }), "shape", /must be a string, not undefined/);
      expectInvalid(() => check({ ...least, id: undefined }), "id", /must be a string, not undefined/);
      expectInvalid(() => check({ ...least, shape: "Note" }), "shape");
      expectInvalid(() => check({ ...least, id: "" }), "id");
    });

    test("accepts the names of inherited members as shape and id", () => {
      expect(check({ ...least, shape: "constructor", id: "__proto__" })).toMatchObject({
        shape: "constructor",
        id: "__proto__",
      });
    });
  });

  test.each(["", false, true, "60", 0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e20, [], {}])(
    "refuses ttl: %o",
    (ttl) => {
      expectInvalid(() => put({ ...key, set: {}, ttl }), "ttl", /seconds/);
      expectInvalid(() => patch({ ...key, merge: {}, ttl }), "ttl", /seconds/);
    },
  );

  test("names the place of what is not JSON", () => {
    expectInvalid(() => put({ ...key, set: { items: [0, 1, 2, { price: 5n }] } }), "set.items[3].price", /bigint/);
    expectInvalid(() => put({ ...key, set: { "odd name": Number.NaN } }), 'set["odd name"]', /NaN/);
    expectInvalid(() => patch({ ...key, merge: { a: [undefined] } }), "merge.a[0]", /undefined/);
    expectInvalid(() => remove({ ...key, if_match: { fields: { at: new Date(0) } } }), "if_match.fields.at", /Date/);
  });

  test("reads each of its members once", () => {
    let reads = 0;
    const write = {
      ...key,
      set: {},
      get if_match() {
        reads += 1;
        return { exists: reads === 1 };
      },
    };
    expect(put(write).condition).toStrictEqual({ exists: true });
    expect(reads).toBe(1);
  });

  test("may be made without a prototype", () => {
    expect(put(Object.assign(Object.create(null), key, { set: {} }))).toStrictEqual(put({ ...key, set: {} }));
  });
});
