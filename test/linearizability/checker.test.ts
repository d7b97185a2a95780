import { describe, expect, it } from "vitest";
import { checkLinearizable, type Model, type Operation } from "./checker.js";
import { documentModel, type Input, type ModelChange, type Output, partsOf, type Seen } from "./document-model.js";

type DocumentOperation = Operation<Input, Output>;

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
  const following = (input: Input, output: Output | undefined): DocumentOperation => {
    at += 2n;
    return { input, output, called: at, returned: output === undefined ? undefined : at + 1n };
  };
  const get = (output: Output, now = always): DocumentOperation => following({ kind: "get", id: "a", ...now }, output);
  const put = (change: Partial<ModelChange>, output: Output | undefined, now = always): DocumentOperation =>
    following({ kind: "write", changes: [{ id: "a", value: 1, ...change }], ...now }, output);
  const ok = (revision: number, deadline: number | null = null): Output => ({
    kind: "written",
    revision,
    deadlines: [deadline],
  });
  const found = (value: number, revision: number, deadline: number | null = null): Output => ({
    kind: "found",
    value,
    revision,
    deadline,
  });
  const refusedAs = (current: Seen | null): Output => ({ kind: "refused", change: 0, current });
  const absent: Output = { kind: "absent" };
  const judge = (...history: readonly DocumentOperation[]) => checkLinearizable(documentModel, history).linearizable;

  it("accepts what a store may answer", () => {
    expect(judge(put({}, ok(1)), get(found(1, 1)))).toBe(true);
    expect(
      judge(
        put({ condition: { exists: false } }, ok(1)),
        put({ value: 2, condition: { revision: 1 } }, ok(2)),
        get(found(2, 2)),
      ),
    ).toBe(true);
    expect(
      judge(
        put({}, ok(1)),
        put({ condition: { exists: false } }, refusedAs({ value: 1, revision: 1, deadline: null })),
      ),
    ).toBe(true);
    expect(judge(put({}, ok(1)), put({ value: null }, ok(2)), get(absent))).toBe(true);
    expect(judge(put({ value: null }, ok(0)), get(absent))).toBe(true);
  });

  it("refuses two winners, refusals without a reason, and revisions that go back", () => {
    const created = { condition: { exists: false } } as const;
    expect(judge(put(created, ok(1)), put({ ...created, value: 2 }, ok(2)))).toBe(false);
    expect(judge(put(created, refusedAs(null)))).toBe(false);
    expect(judge(put({}, ok(1)), put(created, refusedAs({ value: 2, revision: 1, deadline: null })))).toBe(false);
    expect(judge(put({}, ok(2)), put({ value: 2 }, ok(1)))).toBe(false);
    expect(judge(put({}, ok(2)), put({ value: 2 }, ok(2)))).toBe(false);
    expect(judge(put({}, ok(1)), get(found(1, 2)))).toBe(false);
    expect(judge(put({}, ok(1)), put({ value: 2, condition: { revision: 2 } }, ok(3)))).toBe(false);
    expect(judge(put({}, ok(1)), put({ value: 2, condition: { value: 2 } }, ok(3)))).toBe(false);
    expect(judge(put({}, ok(1)), get(absent))).toBe(false);
  });

  it("takes a lost write for one that may have happened, once", () => {
    const create = { value: 7, condition: { exists: false } } as const;
    expect(judge(put(create, undefined), get(found(7, 4)))).toBe(true);
    expect(judge(put(create, undefined), get(absent))).toBe(true);
    expect(judge(put(create, undefined), get(found(7, 4)), get(found(7, 5)))).toBe(false);
    expect(judge(put({}, ok(3)), put({ value: 7 }, undefined), get(found(7, 2)))).toBe(false);
    expect(judge(put({}, ok(3)), put(create, undefined), get(found(7, 4)))).toBe(false);
    expect(judge(put(create, undefined), put({ value: 8, condition: { revision: 5 } }, ok(6)), get(found(8, 6)))).toBe(
      true,
    );
  });

  it("holds deadlines to the millisecond", () => {
    const early = { earliest: 100, latest: 100 };
    const before = { earliest: 149, latest: 149 };
    const late = { earliest: 150, latest: 150 };
    const around = { earliest: 100, latest: 200 };
    const mortal = () => put({ ttl: 50 }, ok(1, 150), early);
    expect(judge(mortal(), get(found(1, 1, 150), before))).toBe(true);
    expect(judge(mortal(), get(absent, late))).toBe(true);
    expect(judge(mortal(), get(absent, before))).toBe(false);
    expect(judge(mortal(), get(found(1, 1, 150), late))).toBe(false);
    expect(judge(mortal(), get(found(1, 1, 151), before))).toBe(false);
    expect(judge(mortal(), get(absent, around), get(found(1, 1, 150), around))).toBe(false);
    expect(judge(mortal(), put({ condition: { exists: false }, value: 2 }, ok(2), late))).toBe(true);
    expect(judge(mortal(), put({ condition: { exists: false }, value: 2 }, ok(2), before))).toBe(false);
    expect(judge(put({ ttl: 50 }, ok(1, 149), early))).toBe(false);
    // Of a lost write only the earliest deadline is known.
    expect(
      judge(
        put({ ttl: 50 }, undefined, { earliest: 100, latest: Infinity }),
        get(found(1, 1, 170), { earliest: 160, latest: 160 }),
      ),
    ).toBe(true);
    expect(judge(put({ ttl: 50 }, undefined, { earliest: 100, latest: Infinity }), get(found(1, 1, 140), before))).toBe(
      false,
    );
  });

  it("takes a batch whole", () => {
    const both = (output: Output | undefined) =>
      following(
        {
          kind: "write",
          changes: [
            { id: "a", value: 1 },
            { id: "b", value: 2, condition: { exists: false } },
          ],
          ...always,
        },
        output,
      );
    const readB = (output: Output) => following({ kind: "get", id: "b", ...always }, output);
    const whole: Output = { kind: "written", revision: 1, deadlines: [null, null] };
    expect(judge(both(whole), get(found(1, 1)), readB(found(2, 1)))).toBe(true);
    expect(judge(both(whole), get(found(1, 1)), readB(absent))).toBe(false);
    expect(judge(both(undefined), get(found(1, 1)), readB(absent))).toBe(false);
    expect(judge(both(undefined), get(found(1, 1)), readB(found(2, 1)))).toBe(true);
  });

  it("divides a history into parts without a document in common", () => {
    const one = get(absent);
    const other = following({ kind: "get", id: "b", ...always }, absent);
    const both = following(
      {
        kind: "write",
        changes: [
          { id: "b", value: 1 },
          { id: "c", value: 2 },
        ],
        ...always,
      },
      undefined,
    );
    expect(partsOf([one, other, both])).toEqual([[one], [other, both]]);
  });
});
