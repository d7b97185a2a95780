import { describe, expect, it } from "vitest";
import { checkLinearizable, type Model, type Operation } from "./checker.js";
import { documentModel, partsOf } from "./document-model.js";
import type { HistoryOperation, Input, ModelChange, ModelCondition, Output, Seen } from "./history-types.js";

/** A register of numbers, the smallest thing to judge. */
const register: Model<number, number | "read", number> = {
  initial: 0,
  step: (state, input, output) => {
    if (input !== "read") return [input];
    return output === undefined || output === state ? [state] : [];
  },
  textOf: String,
};

function written(value: number, called: number, returned: number): Operation<number | "read", number> {
  return { input: value, output: value, called: BigInt(called), returned: BigInt(returned) };
}

function lost(value: number, called: number): Operation<number | "read", number> {
  return { input: value, output: undefined, called: BigInt(called), returned: undefined };
}

function readAs(value: number, called: number, returned: number): Operation<number | "read", number> {
  return { input: "read", output: value, called: BigInt(called), returned: BigInt(returned) };
}

describe("the checker", () => {
  const good: readonly [string, readonly Operation<number | "read", number>[]][] = [
    ["nothing", []],
    ["a read after a write", [written(1, 0, 1), readAs(1, 2, 3)]],
    ["a read beside a write that sees the old value", [written(1, 0, 10), readAs(0, 1, 2)]],
    ["a read beside a write that sees the new value", [written(1, 0, 10), readAs(1, 1, 2)]],
    ["two writes at once, and one of them last", [written(1, 0, 10), written(2, 0, 10), readAs(1, 11, 12)]],
    [
      "readers of overlapping writes in one order",
      [written(1, 0, 9), written(2, 0, 9), readAs(2, 1, 2), readAs(1, 3, 4)],
    ],
    ["a lost write that happened", [lost(1, 0), readAs(1, 5, 6)]],
    ["a lost write that did not happen", [lost(1, 0), readAs(0, 5, 6)]],
    ["a lost write that happened late", [lost(1, 0), readAs(0, 5, 6), readAs(1, 7, 8)]],
    ["ends that touch", [written(1, 0, 5), readAs(0, 5, 6)]],
  ];
  it.each(good)("accepts %s", (_, history) => {
    expect(checkLinearizable(register, history)).toEqual({ linearizable: true });
  });

  const bad: readonly [string, readonly Operation<number | "read", number>[]][] = [
    ["a stale read", [written(1, 0, 1), readAs(0, 2, 3)]],
    ["a value that nobody wrote", [written(1, 0, 1), readAs(2, 2, 3)]],
    ["a value that goes back", [written(1, 0, 10), readAs(1, 1, 2), readAs(0, 3, 4)]],
    ["a lost write that comes and goes", [lost(1, 0), readAs(1, 5, 6), readAs(0, 7, 8)]],
    [
      "readers that disagree about the order of writes",
      [written(1, 0, 9), written(2, 0, 9), readAs(1, 1, 2), readAs(2, 3, 4), readAs(1, 5, 6)],
    ],
  ];
  it.each(bad)("refuses %s", (_, history) => {
    expect(checkLinearizable(register, history)).toMatchObject({ linearizable: false });
  });

  it("names the operations that could not follow", () => {
    const history = [written(1, 0, 1), readAs(0, 2, 3)];
    expect(checkLinearizable(register, history)).toEqual({
      linearizable: false,
      order: [history[0]],
      stuck: [history[1]],
    });
  });

  it("says so when it gives up", () => {
    const history = Array.from({ length: 12 }, (_, at) => written(at, 0, 100));
    expect(checkLinearizable(register, [...history, readAs(99, 101, 102)], 50)).toEqual({ linearizable: undefined });
  });

  it("judges many operations at once in reasonable work, since it tries no set twice", () => {
    const writes = Array.from({ length: 14 }, (_, at) => written(at + 1, 0, 1000));
    expect(
      checkLinearizable(register, [...writes, readAs(14, 1001, 1002), readAs(13, 1003, 1004)], 1_000_000),
    ).toMatchObject({
      linearizable: false,
    });
  });
});

describe("the model of documents", () => {
  const always = { earliest: 0, latest: 0 };
  let at = 0n;
  const following = (input: Input, output: Output | undefined): HistoryOperation => {
    at += 2n;
    return { input, output, called: at, returned: output === undefined ? undefined : at + 1n };
  };
  const get = (output: Output, now = always): HistoryOperation =>
    following({ kind: "read", ids: ["a"], ...now }, output);
  interface Put {
    readonly value?: number;
    readonly ttl?: number;
    readonly condition?: ModelCondition;
  }
  const put = ({ value = 1, ...change }: Put, output: Output | undefined, now = always): HistoryOperation =>
    write({ id: "a", kind: "put", fields: { value }, ...change }, output, now);
  const write = (change: ModelChange, output: Output | undefined, now = always): HistoryOperation =>
    following({ kind: "write", changes: [change], ...now }, output);
  const ok = (revision: number, created: boolean, deadline: number | null = null): Output => ({
    kind: "written",
    revision,
    results: [{ deadline, created }],
  });
  const seen = (value: number, revision: number, deadline: number | null = null): Seen => ({
    fields: { value },
    revision,
    deadline,
  });
  const found = (value: number, revision: number, deadline: number | null = null): Output => ({
    kind: "read",
    documents: [seen(value, revision, deadline)],
  });
  const refusedAs = (current: Seen | null): Output => ({ kind: "refused", failures: [{ change: 0, current }] });
  const absent: Output = { kind: "read", documents: [null] };
  const judge = (...history: readonly HistoryOperation[]) => checkLinearizable(documentModel, history).linearizable;

  it("accepts what a store may answer", () => {
    expect(judge(put({}, ok(1, true)), get(found(1, 1)))).toBe(true);
    expect(
      judge(
        put({ condition: { exists: false } }, ok(1, true)),
        put({ value: 2, condition: { revision: 1 } }, ok(2, false)),
        get(found(2, 2)),
      ),
    ).toBe(true);
    expect(judge(put({}, ok(1, true)), put({ condition: { exists: false } }, refusedAs(seen(1, 1))))).toBe(true);
    expect(judge(put({}, ok(1, true)), write({ id: "a", kind: "delete" }, ok(2, false)), get(absent))).toBe(true);
    expect(judge(write({ id: "a", kind: "delete" }, ok(0, false)), get(absent))).toBe(true);
  });

  it("refuses two winners, refusals without a reason, and revisions that go back", () => {
    const created = { condition: { exists: false } } as const;
    const first = put({}, ok(1, true));
    expect(judge(put(created, ok(1, true)), put({ ...created, value: 2 }, ok(2, true)))).toBe(false);
    expect(judge(put(created, refusedAs(null)))).toBe(false);
    expect(judge(first, put(created, refusedAs(seen(2, 1))))).toBe(false);
    expect(judge(put({}, ok(2, true)), put({ value: 2 }, ok(1, false)))).toBe(false);
    expect(judge(put({}, ok(2, true)), put({ value: 2 }, ok(2, false)))).toBe(false);
    expect(judge(put({}, ok(1, true)), put({ value: 2 }, ok(2, true)))).toBe(false);
    expect(judge(first, get(found(1, 2)))).toBe(false);
    expect(judge(put({}, ok(1, true)), put({ value: 2, condition: { revision: 2 } }, ok(3, false)))).toBe(false);
    expect(judge(put({}, ok(1, true)), put({ value: 2, condition: { fields: { value: 2 } } }, ok(3, false)))).toBe(
      false,
    );
    expect(judge(put({}, ok(1, true)), get(absent))).toBe(false);
  });

  const forms: readonly [string, ModelCondition, boolean][] = [
    ["presence", { exists: true }, true],
    ["absence", { exists: false }, false],
    ["the revision", { revision: 1 }, true],
    ["another revision", { revision: 2 }, false],
    ["a field", { fields: { value: 1 } }, true],
    ["a field with another value", { fields: { value: 2 } }, false],
    ["a field that is missing", { fields: { value: 1, missing: 1 } }, false],
    ["presence and another revision", { exists: true, revision: 2 }, false],
    ["the revision and another value", { revision: 1, fields: { value: 2 } }, false],
    ["all of it", { exists: true, revision: 1, fields: { value: 1 } }, true],
    ["absence and a revision", { exists: false, revision: 1 }, false],
  ];
  it.each(forms)("judges a condition on %s", (_, condition, holds) => {
    expect(judge(put({}, ok(1, true)), put({ value: 2, condition }, ok(2, false)))).toBe(holds);
    expect(judge(put({}, ok(1, true)), put({ value: 2, condition }, refusedAs(seen(1, 1))))).toBe(!holds);
    // Where nothing is, absence alone can hold.
    expect(judge(put({ condition }, refusedAs(null)))).toBe(JSON.stringify(condition) !== '{"exists":false}');
  });

  it("judges merge patches and renewals", () => {
    const patch = { id: "a", kind: "patch", merge: { value: null, note: 2 } } as const;
    const patched: Output = { kind: "read", documents: [{ fields: { note: 2 }, revision: 2, deadline: 150 }] };
    const early = { earliest: 100, latest: 100 };
    const mortal = () => put({ ttl: 50 }, ok(1, true, 150), early);
    expect(judge(mortal(), write(patch, ok(2, false, 150), early), get(patched, early))).toBe(true);
    expect(judge(mortal(), write(patch, ok(2, false), early))).toBe(false);
    expect(judge(mortal(), write({ ...patch, ttl: null }, ok(2, false), early))).toBe(true);
    expect(judge(write(patch, { kind: "missing" }))).toBe(true);
    expect(judge(mortal(), write(patch, { kind: "missing" }, early))).toBe(false);
    const renew = { id: "a", kind: "patch", ttl: 70 } as const;
    const late = { earliest: 160, latest: 160 };
    expect(judge(mortal(), write(renew, ok(2, false, 170), early), get(found(1, 2, 170), late))).toBe(true);
    expect(judge(mortal(), write(renew, ok(2, false, 170), early), get(absent, late))).toBe(false);
  });

  it("takes a lost write for one that may have happened, once", () => {
    const create = { value: 7, condition: { exists: false } } as const;
    expect(judge(put(create, undefined), get(found(7, 4)))).toBe(true);
    expect(judge(put(create, undefined), get(absent))).toBe(true);
    expect(judge(put(create, undefined), get(found(7, 4)), get(found(7, 5)))).toBe(false);
    expect(judge(put({}, ok(3, true)), put({ value: 7 }, undefined), get(found(7, 2)))).toBe(false);
    expect(judge(put({}, ok(3, true)), put(create, undefined), get(found(7, 4)))).toBe(false);
    expect(
      judge(put(create, undefined), put({ value: 8, condition: { revision: 5 } }, ok(6, false)), get(found(8, 6))),
    ).toBe(true);
  });

  it("holds deadlines to the millisecond", () => {
    const early = { earliest: 100, latest: 100 };
    const before = { earliest: 149, latest: 149 };
    const late = { earliest: 150, latest: 150 };
    const around = { earliest: 100, latest: 200 };
    const mortal = () => put({ ttl: 50 }, ok(1, true, 150), early);
    const create = { condition: { exists: false }, value: 2 } as const;
    expect(judge(mortal(), get(found(1, 1, 150), before))).toBe(true);
    expect(judge(mortal(), get(absent, late))).toBe(true);
    expect(judge(mortal(), get(absent, before))).toBe(false);
    expect(judge(mortal(), get(found(1, 1, 150), late))).toBe(false);
    expect(judge(mortal(), get(found(1, 1, 151), before))).toBe(false);
    expect(judge(mortal(), get({ ...found(1, 1, 150), now: 150 }, around))).toBe(false);
    expect(judge(mortal(), get({ ...found(1, 1, 150), now: 201 }, around))).toBe(false);
    expect(judge(mortal(), get(absent, around), get(found(1, 1, 150), around))).toBe(false);
    expect(judge(mortal(), put(create, ok(2, true), late))).toBe(true);
    expect(judge(mortal(), put(create, ok(2, true), before))).toBe(false);
    expect(judge(put({ ttl: 50 }, ok(1, true, 149), early))).toBe(false);
    // Of a lost write only the earliest deadline is known.
    const lost = () => put({ ttl: 50 }, undefined, { earliest: 100, latest: Infinity });
    expect(judge(lost(), get(found(1, 1, 170), { earliest: 160, latest: 160 }))).toBe(true);
    expect(judge(lost(), get(found(1, 1, 140), before))).toBe(false);
  });

  it("takes a batch whole", () => {
    const both = (output: Output | undefined) =>
      following(
        {
          kind: "write",
          changes: [
            { id: "a", kind: "put", fields: { value: 1 } },
            { id: "b", kind: "put", fields: { value: 2 }, condition: { exists: false } },
          ],
          ...always,
        },
        output,
      );
    const readB = (output: Output) => following({ kind: "read", ids: ["b"], ...always }, output);
    const readBoth = (one: Seen | null, two: Seen | null) =>
      following({ kind: "read", ids: ["a", "b"], ...always }, { kind: "read", documents: [one, two] });
    const created = { deadline: null, created: true };
    const whole: Output = { kind: "written", revision: 1, results: [created, created] };
    expect(judge(both(whole), get(found(1, 1)), readB(found(2, 1)))).toBe(true);
    expect(judge(both(whole), get(found(1, 1)), readB(absent))).toBe(false);
    expect(judge(both(undefined), get(found(1, 1)), readB(absent))).toBe(false);
    expect(judge(both(undefined), get(found(1, 1)), readB(found(2, 1)))).toBe(true);
    expect(judge(both(undefined), readBoth(seen(1, 1), seen(2, 1)))).toBe(true);
    expect(judge(both(undefined), readBoth(seen(1, 1), null))).toBe(false);
  });

  it("takes a page for one moment, whole, in order and of the revision that it names", () => {
    const two = () => [
      write({ id: "a", kind: "put", fields: { value: 1 } }, ok(1, true)),
      write({ id: "b", kind: "put", fields: { value: 2 } }, ok(2, true)),
    ];
    const [a, b] = [
      { id: "a", ...seen(1, 1) },
      { id: "b", ...seen(2, 2) },
    ];
    const list = (output: Partial<Output & { readonly kind: "page" }>, reverse = false) =>
      following(
        { kind: "list", prefix: "", reverse, limit: 2, ...always },
        { kind: "page", documents: [a, b], next: null, revision: 2, ...output },
      );
    expect(judge(...two(), list({}))).toBe(true);
    expect(judge(...two(), list({ documents: [b, a] }, true))).toBe(true);
    expect(judge(...two(), list({ documents: [a], next: "a" }))).toBe(true);
    expect(judge(...two(), list({ documents: [b, a] }))).toBe(false);
    expect(judge(...two(), list({ documents: [a, a, b] }))).toBe(false);
    expect(judge(...two(), list({ documents: [a] }))).toBe(false);
    expect(judge(...two(), list({ documents: [b], next: "b" }))).toBe(false);
    expect(judge(...two(), list({ revision: 1 }))).toBe(false);
    expect(judge(...two(), list({ revision: 3 }), put({}, ok(3, false)))).toBe(false);
  });

  it("divides a history into parts without a document in common", () => {
    const one = get(absent);
    const other = following({ kind: "read", ids: ["b"], ...always }, absent);
    const both = following(
      {
        kind: "write",
        changes: [
          { id: "b", kind: "put", fields: { value: 1 } },
          { id: "c", kind: "put", fields: { value: 2 } },
        ],
        ...always,
      },
      undefined,
    );
    expect(partsOf([one, other, both])).toEqual([[one], [other, both]]);
    const all = following({ kind: "list", prefix: "", reverse: false, limit: 9, ...always }, undefined);
    expect(partsOf([one, other, both, all])).toEqual([[one, other, both, all]]);
  });
});
