import { describe, expect, it } from "vitest";
import type { RecordWrite } from "../../src/tool-calls/transition-types.js";
import {
  abandon,
  claim,
  claimAgain,
  complete,
  fail,
  forget,
  lookedUp,
  lookUp,
  markFired,
  park,
  plan,
  release,
  renew,
  resolve,
  unknown,
} from "../../src/tool-calls/transitions.js";
import { at, claimant, error, held, identity, seen, timing } from "./sample-records.js";

const asHolder = { fields: { claim_id: "C", status: "pending" } };
const asRead = { revision: 41 };
const review = { policy: "review" } as const;
const frozen = { ...identity(), format: 1 };

function ofPut(write: RecordWrite): Extract<RecordWrite, { op: "put" }> {
  if (write.op !== "put") throw new Error(`expected a put, not a ${write.op}`);
  return write;
}

describe("the writes of the protocol", () => {
  it("plan creates a record that nobody has claimed, for ever", () => {
    const write = plan(identity());
    expect(write).toMatchObject({ ttl: null, if_match: { exists: false } });
    expect(write.set).toMatchObject({
      ...frozen,
      status: "planned",
      attempt: 0,
      claim_id: null,
      phase: null,
      hold: null,
    });
  });

  it("claim creates a pending record that outlives its lease by the whole window", () => {
    const write = claim(identity(), claimant, timing, { trace: 1 });
    expect(write).toMatchObject({ ttl: 3900, if_match: { exists: false } });
    expect(write.set).toMatchObject({
      ...frozen,
      status: "pending",
      phase: "run",
      claim_id: "C",
      owner: "worker",
      attempt: 1,
      hold: 300,
      fired_at: null,
      started_at: at,
      extra: { trace: 1 },
    });
  });

  it("claim lets a record of another policy live until somebody decides", () => {
    expect(claim(identity(review), claimant, timing, undefined).ttl).toBeNull();
  });

  it("claim again takes exactly the revision read, with the identity and the attempt of the record", () => {
    const found = seen({ ...review, marks: true, fired_at: at, intent: "redacted", attempt: 3, history: ["h"], error });
    const write = claimAgain(found, claimant, timing, undefined);
    expect(write).toMatchObject({ ttl: null, if_match: asRead });
    expect(write.set).toMatchObject({
      ...identity({ ...review, marks: true, intent: "redacted" }),
      status: "pending",
      phase: "run",
      claim_id: "C",
      attempt: 4,
      hold: 300,
      fired_at: null,
      history: ["h"],
      last_error: error,
    });
    expect(write.set.error).toBeUndefined();
  });

  it("look up claims for finding out and keeps the mark", () => {
    const found = seen({ policy: "reconcile", marks: true, fired_at: at, attempt: 2, status: "unknown", error });
    const write = lookUp(found, claimant, timing);
    expect(write).toMatchObject({ ttl: null, if_match: asRead });
    expect(write.set).toMatchObject({
      status: "pending",
      phase: "reconcile",
      claim_id: "C",
      fired_at: at,
      attempt: 2,
      error,
    });
  });

  it("renew prolongs, and only while the claim is pending", () => {
    expect(renew(held(), at)).toEqual({
      op: "patch",
      transition: "renew",
      merge: { renewed_at: at },
      ttl: 3900,
      if_match: asHolder,
    });
    expect(renew(held(review), at)).toMatchObject({ ttl: null });
  });

  it("fired sets the mark and leaves the deadline", () => {
    expect(markFired(held(), at)).toEqual({
      op: "patch",
      transition: "fired",
      merge: { fired_at: at },
      if_match: asHolder,
    });
  });

  it("complete keeps the result for the window, null and all", () => {
    const write = complete(held(), { kind: "json", value: null }, at);
    expect(write).toMatchObject({ ttl: 3600, if_match: asHolder });
    expect(write.set).toMatchObject({
      ...frozen,
      status: "completed",
      result: null,
      hold: null,
      phase: null,
      claim_id: "C",
      attempt: 1,
      fencing_token: 7,
      completed_at: at,
    });
    expect("result" in complete(held(), { kind: "undefined" }, at).set).toBe(false);
    expect(complete(held(), { kind: "omitted", reason: "too_large" }, at).set).toMatchObject({
      result_omitted: "too_large",
    });
  });

  it("fail ends with its hold, while the record lives for the window", () => {
    const write = fail(held(), error, at);
    expect(write).toMatchObject({ ttl: 3600, if_match: asHolder });
    expect(write.set).toMatchObject({ ...frozen, status: "failed", error, hold: 200 });
  });

  it("release keeps identity and attempt", () => {
    const write = release(held({ attempt: 5 }), error);
    expect(write).toMatchObject({ ttl: 3600, if_match: asHolder });
    expect(write.set).toMatchObject({ ...frozen, status: "released", attempt: 5, hold: null, last_error: error });
  });

  it("unknown releases under refire, and stays unknown under the other policies", () => {
    expect(unknown(held(), error)).toMatchObject({
      ttl: 3600,
      if_match: asHolder,
      set: { status: "released", last_error: error },
    });
    for (const policy of ["review", "reconcile"] as const) {
      expect(unknown(held({ policy }), error)).toMatchObject({
        ttl: null,
        if_match: asHolder,
        set: { status: "unknown", error },
      });
    }
  });

  it("park asks that the call has not fired", () => {
    expect(park(held(), "approval")).toMatchObject({
      ttl: null,
      if_match: { fields: { claim_id: "C", status: "pending", fired_at: null } },
      set: { status: "parked", reason: "approval" },
    });
  });

  it("looked up writes what was found out", () => {
    const holder = held({ policy: "reconcile", phase: "reconcile", error });
    expect(lookedUp(holder, { kind: "done", result: { kind: "json", value: 1 } }, at)).toMatchObject({
      ttl: 3600,
      if_match: asHolder,
      set: { status: "completed", result: 1 },
    });
    expect(lookedUp(holder, { kind: "failed", error }, at)).toMatchObject({ set: { status: "failed" } });
    expect(lookedUp(holder, { kind: "not_done" }, at)).toMatchObject({ ttl: 3600, set: { status: "released" } });
    expect(lookedUp(holder, { kind: "unknown", error: null }, at)).toMatchObject({
      ttl: null,
      set: { status: "unknown", error },
    });
  });

  it("abandon releases a run, and leaves the doubt of a look-up", () => {
    expect(abandon(held())).toMatchObject({ ttl: 3600, if_match: asHolder, set: { status: "released" } });
    const lookingUp = held({ policy: "reconcile", phase: "reconcile", error });
    expect(abandon(lookingUp)).toMatchObject({ ttl: null, if_match: asHolder, set: { status: "unknown", error } });
  });

  it("resolve ends a doubt by decree, and a decreed failure is never over", () => {
    const found = seen({ ...review, status: "unknown", history: ["h"], attempt: 2, fired_at: at });
    const by = { by: "ann", note: "asked the bank", at };
    const decree = (verdict: Parameters<typeof resolve>[1]) => ofPut(resolve(found, verdict, by, timing));
    const entry = (verdict: string) => ["h", { ...by, verdict, status: "unknown", fingerprint: "f" }];
    expect(decree({ kind: "done", result: { kind: "json", value: 1 } })).toMatchObject({
      ttl: 3600,
      if_match: asRead,
      set: { status: "completed", result: 1, claim_id: null, attempt: 2, history: entry("done") },
    });
    expect(decree({ kind: "failed", error })).toMatchObject({
      set: { status: "failed", error, hold: null, claim_id: null },
    });
    expect(decree({ kind: "not_done" })).toMatchObject({ set: { status: "released", history: entry("not_done") } });
  });

  it("who settles a call in its caller's place keeps it for as long as the caller wanted", () => {
    const own = { window: 86_400 } as const;
    const decree = resolve(
      seen({ ...review, ...own, status: "unknown" }),
      { kind: "not_done" },
      { by: "ann", note: "", at },
      timing,
    );
    expect(decree).toMatchObject({ ttl: 86_400, set: own });
    const lookingUp = held({ ...own, policy: "reconcile", phase: "reconcile" });
    expect(lookedUp(lookingUp, { kind: "not_done" }, at)).toMatchObject({ ttl: 86_400, set: own });
    expect(lookedUp(lookingUp, { kind: "failed", error }, at)).toMatchObject({ ttl: 86_400, set: own });
    expect(unknown(held({ ...own, policy: "review" }), error).set).toMatchObject(own);
    expect(claimAgain(seen({ ...own, status: "released" }), claimant, timing, undefined).set).toMatchObject({
      window: timing.completedTtl,
    });
  });

  it("forget deletes exactly what was read", () => {
    expect(forget(seen({ status: "completed" }))).toEqual({ op: "delete", transition: "forget", if_match: asRead });
  });
});
