import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { defaultLimits } from "../../src/base/limits.js";
import { checkKeys, checkList, checkWait, checkWatch } from "../../src/documents/requests.js";
import { expectInvalid, expectTooLarge } from "./refusal.js";

const limits = defaultLimits;
const notOptions: unknown[] = [null, 1, "x", true, [], () => 1, new Map(), Object.create({ shape: "note" })];

describe("list", () => {
  const check = (options?: unknown) => checkList("note", options, limits);

  test("without options reads the first hundred", () => {
    const defaults = { shape: "note", prefix: "", after: undefined, until: undefined, reverse: false, limit: 100 };
    expect(check()).toStrictEqual(defaults);
    expect(check({})).toStrictEqual(defaults);
    expect(check({ prefix: undefined, after: undefined, limit: undefined, reverse: undefined })).toStrictEqual(
      defaults,
    );
  });

  test("takes all its options", () => {
    const options = { prefix: "a", after: "a1", until: "a9", reverse: true, limit: 1000 };
    expect(check(options)).toStrictEqual({ shape: "note", ...options });
  });

  test("reads no more than the store's limit when the caller does not say", () => {
    expect(checkList("note", undefined, { ...limits, listDocumentsMax: 20 }).limit).toBe(20);
  });

  test.each([0, -1, 1.5, 1001, Number.NaN, Number.POSITIVE_INFINITY, "10", "", null, true, 10n])(
    "refuses limit: %o",
    (limit) => {
      expectInvalid(() => check({ limit }), "limit", /integer from 1 to 1000/);
    },
  );

  test.each([0, 1, "true", null])("refuses reverse: %o", (reverse) => {
    expectInvalid(() => check({ reverse }), "reverse", /true or false/);
  });

  test("refuses bounds that no id could have", () => {
    for (const name of ["prefix", "after", "until"]) {
      expectInvalid(() => check({ [name]: null }), name, /must be a string/);
      expectInvalid(() => check({ [name]: 1 }), name, /must be a string/);
      expectInvalid(() => check({ [name]: "\ud83d" }), name, /lone surrogate/);
      expectInvalid(() => check({ [name]: "x".repeat(1025) }), name, /1024 bytes/);
      expect(check({ [name]: "" })).toMatchObject({ [name]: "" });
    }
  });

  test("refuses a bad shape, unknown options and what is no options", () => {
    expectInvalid(() => checkList(undefined, {}, limits), "shape");
    expectInvalid(() => check({ Limit: 1 }), "Limit", /known are prefix, after/);
    expectInvalid(() => check({ from: undefined }), "from");
    for (const options of notOptions) expectInvalid(() => check(options), "", /the options must be a plain object/);
  });
});

describe("watch", () => {
  const check = (options?: unknown) => checkWatch(options, limits);

  test("without options watches everything from now on", () => {
    const everything = { shape: undefined, id: undefined, prefix: undefined, since: undefined, signal: undefined };
    expect(check()).toStrictEqual(everything);
    expect(check({ shape: undefined, since: undefined, signal: undefined })).toStrictEqual(everything);
  });

  test("takes a shape with an id or a prefix, a revision and a signal", () => {
    const { signal } = new AbortController();
    expect(check({ shape: "note", id: "n", since: 7, signal })).toStrictEqual({
      shape: "note",
      id: "n",
      prefix: undefined,
      since: 7,
      signal,
    });
    expect(check({ shape: "note", prefix: "", since: 0 })).toMatchObject({ prefix: "", since: 0 });
  });

  test("needs a shape for an id and for a prefix, and takes only one of them", () => {
    expectInvalid(() => check({ id: "n" }), "id", /needs shape/);
    expectInvalid(() => check({ prefix: "n" }), "prefix", /needs shape/);
    expectInvalid(() => check({ prefix: "" }), "prefix", /needs shape/);
    expectInvalid(() => check({ shape: "note", id: "n", prefix: "n" }), "prefix", /combined with id/);
    expectInvalid(() => check({ shape: "note", id: "n", prefix: "" }), "prefix", /combined with id/);
  });

  test.each([-1, 1.5, 2 ** 53, Number.NaN, "7", "", null, true, 7n])("refuses since: %o", (since) => {
    expectInvalid(() => check({ since }), "since", /integer from 0/);
  });

  test.each([null, true, {}, { aborted: false }, new AbortController(), () => 1])("refuses the signal %o", (signal) => {
    expectInvalid(() => check({ signal }), "signal", /AbortSignal/);
  });

  test("takes a signal that is aborted, and one of another realm", () => {
    const aborted = AbortSignal.abort();
    expect(check({ signal: aborted }).signal).toBe(aborted);
    const foreign = runInNewContext("({ aborted: false, addEventListener() {}, removeEventListener() {} })");
    expect(check({ signal: foreign }).signal).toBe(foreign);
  });

  test("refuses unknown options and what is no options", () => {
    expectInvalid(() => check({ after: 1 }), "after", /known are shape, id, prefix, since, signal/);
    for (const options of notOptions) expectInvalid(() => check(options), "", /plain object/);
  });
});

describe("waitFor", () => {
  const check = (options?: unknown) => checkWait("note", "n", options, limits);

  test("without options waits thirty seconds for a change from now", () => {
    const defaults = { shape: "note", id: "n", after: undefined, timeoutMs: 30_000, signal: undefined };
    expect(check()).toStrictEqual(defaults);
    expect(check({ after: undefined, timeout: undefined, signal: undefined })).toStrictEqual(defaults);
  });

  test("waits no longer than the store's limit when the caller does not say", () => {
    expect(checkWait("note", "n", {}, { ...limits, waitSecondsMax: 5 }).timeoutMs).toBe(5000);
  });

  test("takes seconds with fractions, from none to five minutes", () => {
    expect([0, 0.0004, 0.05, 1.5, 300].map((timeout) => check({ timeout }).timeoutMs)).toStrictEqual([
      0, 0, 50, 1500, 300_000,
    ]);
    expect(check({ after: 0 }).after).toBe(0);
  });

  test.each([-1, 300.001, Number.NaN, Number.POSITIVE_INFINITY, "30", "", null, true, 30n])(
    "refuses timeout: %o",
    (timeout) => {
      expectInvalid(() => check({ timeout }), "timeout", /0 to 300 seconds/);
    },
  );

  test.each([-1, 1.5, 2 ** 53, Number.NaN, "7", null])("refuses after: %o", (after) => {
    expectInvalid(() => check({ after }), "after", /integer from 0/);
  });

  test("refuses a bad shape or id, a bad signal, unknown options and what is no options", () => {
    expectInvalid(() => checkWait("Note", "n", {}, limits), "shape");
    expectInvalid(() => checkWait("note", "", {}, limits), "id");
    expectInvalid(() => check({ signal: {} }), "signal");
    expectInvalid(() => check({ timeoutMs: 1 }), "timeoutMs", /known are after, timeout, signal/);
    for (const options of notOptions) expectInvalid(() => check(options), "", /plain object/);
  });
});

describe("getMany", () => {
  const check = (keys: unknown) => checkKeys(keys, limits);

  test("keeps the order of its keys, repeated ones too", () => {
    const keys = [
      { shape: "note", id: "b" },
      { shape: "note", id: "a" },
      { shape: "note", id: "b" },
    ];
    expect(check(keys)).toStrictEqual(keys);
    expect(check([])).toStrictEqual([]);
  });

  test("names the key that is wrong", () => {
    const good = { shape: "note", id: "a" };
    expectInvalid(() => check([good, { shape: "note" }]), "keys[1].id");
    expectInvalid(() => check([{ shape: "Note", id: "a" }]), "keys[0].shape");
    expectInvalid(() => check([{ ...good, revision: 7 }]), "keys[0].revision", /known are shape, id/);
    expectInvalid(() => check([good, "a"]), "keys[1]", /plain object/);
    expectInvalid(() => check(new Array(1)), "keys[0]", /not undefined/);
  });

  test("takes at most 1,000 keys", () => {
    const many = Array.from({ length: 1001 }, (_, index) => ({ shape: "note", id: `n${index}` }));
    expect(check(many.slice(1))).toHaveLength(1000);
    expectTooLarge(() => check(many), "keys", 1000);
  });

  test.each([undefined, null, {}, "a", new Set()])("refuses %o for a list", (keys) => {
    expectInvalid(() => check(keys), "keys", /must be an array/);
  });
});
