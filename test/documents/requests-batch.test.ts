import { describe, expect, test } from "vitest";
import { defaultLimits } from "../../src/base/limits.js";
import type { PutOperation, WriteIdentity } from "../../src/documents/contract.js";
import {
  batchWriteIdOf,
  type CheckedWrite,
  checkBatch,
  checkDelete,
  checkPatch,
  checkPut,
  writeIdOf,
} from "../../src/documents/requests.js";
import { expectInvalid, expectTooLarge } from "./refusal.js";

const limits = defaultLimits;
const key = { shape: "note", id: "n1" };

describe("a batch", () => {
  const check = (operations: unknown) => checkBatch(operations, limits);

  test("keeps the order of its operations", () => {
    const writes = check([
      { op: "put", shape: "note", id: "a", set: { a: 1 }, ttl: 1 },
      { op: "patch", shape: "note", id: "b", merge: { a: null }, return: "document" },
      { op: "delete", shape: "note", id: "c" },
      { op: "check", shape: "note", id: "d", if_match: { exists: false } },
    ]);
    expect(writes).toStrictEqual<CheckedWrite[]>([
      {
        kind: "put",
        shape: "note",
        id: "a",
        fields: { a: 1 },
        ttlMs: 1000,
        condition: undefined,
        wantsDocument: false,
      },
      {
        kind: "patch",
        shape: "note",
        id: "b",
        fields: { a: null },
        ttlMs: undefined,
        condition: undefined,
        wantsDocument: true,
      },
      {
        kind: "delete",
        shape: "note",
        id: "c",
        fields: undefined,
        ttlMs: undefined,
        condition: undefined,
        wantsDocument: false,
      },
      {
        kind: "check",
        shape: "note",
        id: "d",
        fields: undefined,
        ttlMs: undefined,
        condition: { exists: false },
        wantsDocument: false,
      },
    ]);
  });

  test("names the operation and the place of what is wrong", () => {
    const good = { op: "put", ...key, set: {} };
    expectInvalid(
      () => check([good, { op: "put", shape: "note", id: "n2", set: { v: 2n ** 70n } }]),
      "operations[1].set.v",
    );
    expectInvalid(() => check([{ ...good, ttl: "60" }]), "operations[0].ttl");
    expectInvalid(() => check([{ ...good, iff_match: {} }]), "operations[0].iff_match", /known are op, shape, id/);
    expectInvalid(() => check([{ ...good, if_match: undefined }]), "operations[0].if_match");
    expectInvalid(() => check([{ ...good, if_match: { revision: 0 } }]), "operations[0].if_match.revision");
    expectInvalid(() => check([{ op: "patch", ...key }]), "operations[0]", /merge or ttl/);
  });

  test("refuses a write id in an operation: it belongs to the batch", () => {
    expectInvalid(() => check([{ op: "put", ...key, set: {}, write_id: "w" }]), "operations[0].write_id");
  });

  test.each([undefined, null, "", "PUT", "get", "toString", 1, ["put"]])("refuses op: %o", (op) => {
    expectInvalid(() => check([{ op, ...key, set: {} }]), "operations[0].op", /"put", "patch", "delete" or "check"/);
  });

  test.each([null, undefined, 1, "put", [], () => 1])("refuses the operation %o", (operation) => {
    expect(() => check([operation])).toThrow(/^operations\[0\]/);
  });

  test("refuses an operation that was left out", () => {
    expect(() => check(new Array(2))).toThrow(/^operations\[0\]/);
  });

  test("a check needs a condition and takes nothing else", () => {
    expectInvalid(() => check([{ op: "check", ...key }]), "operations[0].if_match");
    expectInvalid(() => check([{ op: "check", ...key, if_match: undefined }]), "operations[0].if_match");
    expectInvalid(() => check([{ op: "check", ...key, if_match: { exists: true }, set: {} }]), "operations[0].set");
    expectInvalid(
      () => check([{ op: "check", ...key, if_match: { exists: true }, return: "document" }]),
      "operations[0].return",
    );
  });

  test("refuses two operations on one document, checks included, and names both", () => {
    const other = { op: "delete", shape: "note", id: "other" };
    const pairs = [
      [
        { op: "put", ...key, set: { v: 1 } },
        { op: "delete", ...key },
      ],
      [
        { op: "delete", ...key },
        { op: "put", ...key, set: { v: 2 } },
      ],
      [
        { op: "put", ...key, set: { v: 1 } },
        { op: "put", ...key, set: { v: 2 }, ttl: 1 },
      ],
      [
        { op: "check", ...key, if_match: { exists: true } },
        { op: "patch", ...key, ttl: 1 },
      ],
    ];
    for (const [first, second] of pairs) {
      expectInvalid(() => check([first, other, second]), "operations[2]", /same document as operations\[0\]/);
    }
  });

  test("documents that only look alike are different ones", () => {
    const ids = ["a", "A", "a ", "\u00e9", "e\u0301", "constructor", "__proto__", "b\0c"];
    const operations = ids.map((id) => ({ op: "delete", shape: "note", id }));
    operations.push({ op: "delete", shape: "note2", id: "a" });
    expect(check(operations)).toHaveLength(ids.length + 1);
  });

  test("holds 1 to 1,000 operations", () => {
    const many = Array.from({ length: 1001 }, (_, index) => ({ op: "delete", shape: "note", id: `n${index}` }));
    expectInvalid(() => check([]), "operations", /at least one/);
    expect(check(many.slice(0, 1000))).toHaveLength(1000);
    expectTooLarge(() => check(many), "operations", 1000);
  });

  test.each([undefined, null, {}, "put", 1, new Set(), { 0: {}, length: 1 }])("refuses %o for a list", (operations) => {
    expectInvalid(() => check(operations), "operations", /must be an array/);
  });
});

describe("a write id", () => {
  test("is read from a write and from the options of a batch", () => {
    const write = { ...key, set: {}, write_id: "w1" };
    expect(writeIdOf(write, limits)).toBe("w1");
    expect(batchWriteIdOf({ write_id: "w4" }, limits)).toBe("w4");
  });

  test("is undefined when there is none", () => {
    const write: PutOperation & WriteIdentity = { ...key, set: {} };
    expect(writeIdOf(write, limits)).toBeUndefined();
    expect(batchWriteIdOf({}, limits)).toBeUndefined();
    expect(batchWriteIdOf({ write_id: undefined }, limits)).toBeUndefined();
  });

  test.each([null, "", 1, true, {}, "x".repeat(256), "\ud83d"])("is refused when it is %o", (write_id) => {
    expectInvalid(() => writeIdOf({ write_id } as WriteIdentity, limits), "write_id");
    expectInvalid(() => batchWriteIdOf({ write_id }, limits), "write_id");
  });

  test("under a mistyped name is refused, since the write would not be repeatable", () => {
    expectInvalid(() => batchWriteIdOf({ writeId: "w" }, limits), "writeId", /not a member/);
    expectInvalid(() => batchWriteIdOf({ idempotency_key: "w" }, limits), "idempotency_key", /not a member/);
    for (const check of [checkPut, checkPatch, checkDelete]) {
      expectInvalid(() => check({ ...key, writeId: "w" }, "", limits), "writeId", /not a member/);
    }
  });

  test("does not live on a prototype or in something that is no object", () => {
    for (const options of [null, "w", 1, ["w"], Object.create({ write_id: "w" })]) {
      expectInvalid(() => batchWriteIdOf(options, limits), "", /plain object/);
    }
  });
});
