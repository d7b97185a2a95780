import { describe, expect, test } from "vitest";
import { jsonId } from "../../src/content/content-id.js";
import type { ToolCallRecord } from "../../src/tool-calls/record.js";
import { decideHeld, type HeldAction } from "../../src/tool-calls/remote-holding.js";
import type { StoredResult } from "../../src/tool-calls/transition-types.js";
import { at, error, seen, timing } from "./sample-records.js";

const terms = { completed_ttl: 86_400, failed_ttl: 30 };
const done: HeldAction = { action: "complete", result: { kind: "json", value: 1 } };
const actions: readonly HeldAction[] = [
  { action: "renew" },
  { action: "fired" },
  done,
  { action: "fail", error },
  { action: "release", error: null },
  { action: "unknown", error },
  { action: "park", reason: "approval" },
];

function decide(record: Partial<ToolCallRecord>, action: HeldAction, claimId = "C") {
  return decideHeld(
    seen({ status: "pending", phase: "run", claim_id: "C", hold: 60, ...record }),
    claimId,
    action,
    at,
    timing,
  );
}

function writeOf(record: Partial<ToolCallRecord>, action: HeldAction) {
  const decision = decide(record, action);
  if (decision.decision !== "write") throw new Error(`expected a write, not ${decision.decision}`);
  return decision;
}

describe("what a holder who has only its claim id may do", () => {
  test.each(actions)("$action is a write while the record is pending under that claim, lapsed or not", (action) => {
    const { write } = writeOf({}, action);
    expect(write.if_match).toMatchObject({ fields: { claim_id: "C", status: "pending" } });
  });

  test.each(actions)("$action is lost when there is no record, another claim, or the claim of a look-up", (action) => {
    expect(decideHeld(undefined, "C", action, at, timing)).toEqual({ decision: "lost", current: undefined });
    expect(decide({ claim_id: "D" }, action)).toMatchObject({ decision: "lost", current: { claim_id: "D" } });
    expect(decide({ phase: "reconcile" }, action).decision).toBe("lost");
    expect(decide({ claim_id: null, status: "completed" }, action).decision).toBe("lost");
  });

  test.each([
    [done, "completed"],
    [{ action: "fail", error }, "failed"],
    [{ action: "release", error: null }, "released"],
    [{ action: "unknown", error }, "released"],
    [{ action: "park", reason: null }, "parked"],
  ] as [HeldAction, ToolCallRecord["status"]][])(
    "$0.action is repeated where the claim ended so, else lost",
    (action, status) => {
      const ended = { phase: null, hold: null, error, ...(status === "completed" ? { result: 1 } : {}) };
      expect(decide({ ...ended, status }, action).decision).toBe("repeated");
      const other = status === "completed" ? "released" : "completed";
      expect(decide({ ...ended, status: other }, action).decision).toBe("lost");
      expect(decide({ ...ended, status }, { action: "renew" }).decision).toBe("lost");
    },
  );

  const value = { id: 7, items: ["a"] };
  const json: StoredResult = { kind: "json", value: { items: ["a"], id: 7 } };
  const content: StoredResult = { kind: "content", id: jsonId(value), value };
  const tooLarge: StoredResult = { kind: "omitted", reason: "too_large" };
  const nothing: StoredResult = { kind: "undefined" };

  test.each<[string, StoredResult, Partial<ToolCallRecord>]>([
    ["the same result", json, { result: value }],
    ["null", { kind: "json", value: null }, { result: null }],
    ["nothing", nothing, {}],
    ["a result beside the record", content, { result_ref: jsonId(value) }],
    ["a result beside the record, sent to be kept in it", json, { result_ref: jsonId(value) }],
    ["a result in the record, sent to be kept beside it", content, { result: value }],
    ["a result that was left out", tooLarge, { result_omitted: "too_large" }],
    ["a result that only the store found too large", json, { result_omitted: "too_large" }],
  ])("a completion is repeated with %s", (_, result, stored) => {
    const ended = { status: "completed", phase: null, hold: null, ...stored } as const;
    expect(decide(ended, { action: "complete", result }).decision).toBe("repeated");
  });

  test.each<[string, StoredResult, Partial<ToolCallRecord>]>([
    ["another result", json, { result: { id: 8, items: ["a"] } }],
    ["null for nothing", { kind: "json", value: null }, {}],
    ["nothing for null", nothing, { result: null }],
    ["nothing for a result beside the record", nothing, { result_ref: jsonId(value) }],
    ["nothing for a result that was left out", nothing, { result_omitted: "too_large" }],
    ["another result for one beside the record", { kind: "json", value: 0 }, { result_ref: jsonId(value) }],
    ["another content", { ...content, id: jsonId(0), value: 0 }, { result_ref: jsonId(value) }],
    ["a result that is left out for one that was kept", tooLarge, { result: value }],
  ])("a completion is lost with %s", (_, result, stored) => {
    const ended = { status: "completed", phase: null, hold: null, ...stored } as const;
    expect(decide(ended, { action: "complete", result })).toMatchObject({ decision: "lost", current: stored });
  });

  test("an unknown outcome stays unknown where the policy asks", () => {
    const ended = { phase: null, hold: null, error, policy: "review" } as const;
    expect(decide({ ...ended, status: "unknown" }, { action: "unknown", error }).decision).toBe("repeated");
    expect(decide({ ...ended, status: "released" }, { action: "unknown", error }).decision).toBe("lost");
  });

  test("outcomes are kept as long as the claim said, or as long as it is usual", () => {
    expect(writeOf({ terms }, done).write).toMatchObject({ ttl: 86_400 });
    expect(writeOf({}, done).write).toMatchObject({ ttl: timing.completedTtl });
    expect(writeOf({ terms }, { action: "fail", error }).write).toMatchObject({ ttl: 86_400, set: { hold: 30 } });
    expect(writeOf({ terms }, { action: "renew" }).write).toMatchObject({ ttl: 60 + 86_400 });
  });

  test("the token is the claim's revision, and is kept in the record once that moves on", () => {
    const first = writeOf({ terms, fencing_token: null }, { action: "renew" });
    expect(first.held.fencingToken).toBe(41);
    expect(first.write).toMatchObject({ merge: { renewed_at: at, fencing_token: 41 } });
    expect(writeOf({ terms, fencing_token: 17 }, done).write).toMatchObject({ set: { fencing_token: 17 } });
    expect(writeOf({ terms, marks: true, fencing_token: 17 }, { action: "fired" }).write).toMatchObject({
      merge: { fired_at: at, fencing_token: 17 },
    });
  });

  test("a mark that is there is not written again; without marks the claim is renewed", () => {
    const merge = { renewed_at: at };
    expect(writeOf({ marks: true, fired_at: at }, { action: "fired" }).write).toMatchObject({ merge });
    expect(writeOf({ marks: false }, { action: "fired" }).write).toMatchObject({ merge });
  });

  test("after the mark a call is no longer set aside", () => {
    expect(decide({ marks: true, fired_at: at }, { action: "park", reason: null }).decision).toBe("fired_before");
  });
});
