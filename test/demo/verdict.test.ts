import { describe, expect, test } from "vitest";
import type { EmittedCall } from "../../examples/demo/emitted-call.js";
import type { Arrival } from "../../examples/demo/mail-service.js";
import { type AnsweredCall, judge } from "../../examples/demo/verdict.js";
import type { Answer } from "../../examples/demo/worker-messages.js";

/* The demo's own judge must find what it is there to find. */

const call = (order: number, turn = "turn-1", key?: string): EmittedCall => ({
  burst: 1,
  turn,
  tool: "send_email",
  args: { order, data: { a: 1, b: 2 } },
  ...(key === undefined ? {} : { key }),
  why: "a test",
});
const fired = (messageId: string): Answer => ({ kind: "fired", messageId, attempt: 1 });
const replayed = (messageId: string): Answer => ({ kind: "replayed", messageId });
const arrival = ({ tool, args }: EmittedCall, messageId: string, delivered = true): Arrival => ({
  key: messageId,
  content: JSON.stringify({ args, tool }),
  messageId,
  delivered,
});

const answered: readonly AnsweredCall[] = [
  { call: call(1), answer: fired("m1") },
  { call: { ...call(1), args: { data: { b: 2, a: 1 }, order: 1 } }, answer: replayed("m1") },
  { call: call(1, "turn-2"), answer: fired("m2") },
  { call: call(7, "turn-1", "k"), answer: fired("m3") },
  { call: call(8, "turn-3", "k"), answer: { kind: "conflict" } },
];
const arrivals = [arrival(call(1), "m1"), arrival(call(1), "m2"), arrival(call(7), "m3")];

test("each intent once, a conflict for the mistake, and the same message for all who meant the same: right", () => {
  expect(judge(answered, arrivals, 0)).toEqual({
    expectedEffects: 3,
    effects: 3,
    duplicates: 0,
    refusedByKey: 0,
    faults: [],
  });
});

describe("it finds", () => {
  test("an effect too many", () => {
    const { duplicates, faults } = judge(answered, [...arrivals, arrival(call(7), "m4")], 0);
    expect(duplicates).toBe(1);
    expect(faults).toHaveLength(1);
  });

  test("an effect that nobody asked for, also when another is missing", () => {
    const { faults } = judge(answered, [...arrivals.slice(0, 2), arrival(call(8), "m3")], 0);
    expect(faults.map((fault) => fault.slice(0, 15))).toEqual(["sent 1 too many", "sent 1 too few:"]);
  });

  test("a second fire that only the mail service's key has stopped, unless a crash explains it", () => {
    const withSecond = [...arrivals, arrival(call(7), "m3", false)];
    expect(judge(answered, withSecond, 0).faults).toHaveLength(1);
    expect(judge(answered, withSecond, 1)).toMatchObject({ refusedByKey: 1, faults: [] });
  });

  test("a conflict where there is none, a mistake that went through, a call without an answer", () => {
    const changed = (index: number, answer: Answer): AnsweredCall[] =>
      answered.map((each, position) => (position === index ? { ...each, answer } : each));
    expect(judge(changed(1, { kind: "conflict" }), arrivals, 0).faults).toHaveLength(1);
    expect(judge(changed(4, replayed("m3")), arrivals, 0).faults).toHaveLength(1);
    expect(judge(changed(1, { kind: "error", message: "lost" }), arrivals, 0).faults).toHaveLength(1);
    expect(judge(changed(1, replayed("m2")), arrivals, 0).faults).toHaveLength(1);
  });
});
