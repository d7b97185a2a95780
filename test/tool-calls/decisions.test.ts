import { describe, expect, it } from "vitest";
import { decideForget, decideRun, decideWait, holdLeftMs, type RunView } from "../../src/tool-calls/decisions.js";
import type { ToolCallRecord } from "../../src/tool-calls/record.js";
import { at, claimant, error, identity, seen, timing } from "./sample-records.js";

function view(changes: Partial<RunView> = {}): RunView {
  return {
    identity: identity(),
    claimant,
    timing,
    extra: undefined,
    sent: () => false,
    abandoned: () => false,
    canLookUp: false,
    ...changes,
  };
}

/** What a run, or somebody who only waits, does about a record of that age. */
function runOn(record: Partial<ToolCallRecord>, age = 0, changes: Partial<RunView> = {}): string {
  const decided = decideRun(seen(record, age), view(changes));
  if (decided.decision === "answer") return decided.answer.answer;
  return decided.decision === "claim" || decided.decision === "look_up" ? decided.write.transition : decided.decision;
}

function waitOn(record: Partial<ToolCallRecord>, age = 0): string {
  const decided = decideWait(seen(record, age), identity());
  return decided.decision === "answer" ? decided.answer.answer : decided.decision;
}

const review = { policy: "review" } as const;
const reconcile = { policy: "reconcile" } as const;
const canLookUp = { canLookUp: true };

describe("a run that finds", () => {
  it("nothing claims", () => {
    expect(decideRun(undefined, view())).toMatchObject({ decision: "claim", write: { transition: "claim" } });
  });

  it.each(["planned", "released", "parked"] as const)("a %s record claims it again, whatever its policy", (status) => {
    for (const policy of [{}, review, reconcile]) expect(runOn({ status, ...policy }, 9999)).toBe("claim_again");
  });

  it("a pending record waits until the instant at which its hold is over, and then claims", () => {
    expect(decideRun(seen({ status: "pending" }, 100), view())).toMatchObject({ decision: "wait", lapseInMs: 200_000 });
    expect(runOn({ status: "pending" }, 299.999)).toBe("wait");
    expect(runOn({ status: "pending" }, 300)).toBe("claim_again");
  });

  it("a lapsed claim under review asks, unless it provably had not fired", () => {
    expect(runOn({ ...review, status: "pending" }, 299)).toBe("wait");
    expect(runOn({ ...review, status: "pending" }, 300)).toBe("needs_review");
    expect(runOn({ ...review, status: "pending", marks: true, fired_at: at }, 300)).toBe("needs_review");
    expect(runOn({ ...review, status: "pending", marks: true }, 300)).toBe("claim_again");
  });

  it("a lapsed claim under reconcile looks up, and asks where it cannot", () => {
    expect(runOn({ ...reconcile, status: "pending" }, 300, canLookUp)).toBe("look_up");
    expect(runOn({ ...reconcile, status: "pending" }, 300)).toBe("needs_review");
    expect(runOn({ ...reconcile, status: "pending", marks: true }, 300, canLookUp)).toBe("claim_again");
  });

  it("a lapsed look-up looks up again, and never fires", () => {
    const lookingUp = { ...reconcile, status: "pending", phase: "reconcile", marks: true } as const;
    expect(runOn(lookingUp, 300, canLookUp)).toBe("look_up");
    expect(runOn(lookingUp, 300)).toBe("needs_review");
  });

  it("an unknown outcome asks, or looks up", () => {
    expect(runOn({ ...review, status: "unknown", hold: null })).toBe("needs_review");
    expect(runOn({ ...reconcile, status: "unknown", hold: null })).toBe("needs_review");
    expect(runOn({ ...reconcile, status: "unknown", hold: null }, 0, canLookUp)).toBe("look_up");
  });

  it("a completed record gets its result, however old", () => {
    expect(runOn({ status: "completed", hold: null }, 9999)).toBe("completed");
  });

  it("a failure gets the failure until its hold is over; a decreed one for ever", () => {
    expect(runOn({ status: "failed", error, hold: 200 }, 199.999)).toBe("failed");
    expect(runOn({ status: "failed", error, hold: 200 }, 200)).toBe("claim_again");
    expect(runOn({ status: "failed", error, hold: null }, 9999)).toBe("failed");
  });

  it("its own claim takes it as its own while it is pending, and only then", () => {
    const sent = { sent: (claimId: string) => claimId === "other" };
    expect(runOn({ status: "pending" }, 0, sent)).toBe("own");
    expect(runOn({ status: "pending" }, 9999, sent)).toBe("own");
    expect(runOn({ status: "released", hold: null }, 0, sent)).toBe("claim_again");
    expect(runOn({ status: "completed", hold: null }, 0, sent)).toBe("completed");
  });

  it("a claim that this process gave up claims again at once, also when its mark arrived", () => {
    const gaveUp = { abandoned: (claimId: string) => claimId === "other" };
    expect(runOn({ status: "pending" }, 0, gaveUp)).toBe("claim_again");
    expect(runOn({ ...review, status: "pending", marks: true, fired_at: at }, 0, gaveUp)).toBe("claim_again");
    expect(runOn({ ...reconcile, status: "pending", phase: "reconcile" }, 0, { ...gaveUp, ...canLookUp })).toBe(
      "look_up",
    );
  });

  it("other arguments is a conflict in every state, before anything else", () => {
    const sent = { sent: () => true };
    for (const status of ["planned", "pending", "released", "completed", "failed", "unknown", "parked"] as const) {
      expect(runOn({ status, fingerprint: "g", error }, 9999, sent)).toBe("conflict");
      expect(waitOn({ status, fingerprint: "g", error }, 9999)).toBe("conflict");
    }
  });

  it("a record of another policy follows the record, not its own", () => {
    expect(runOn({ ...review, status: "pending" }, 300, { identity: identity() })).toBe("needs_review");
    expect(runOn({ status: "pending" }, 300, { identity: identity(review) })).toBe("claim_again");
  });
});

describe("somebody who only waits", () => {
  it("waits for planned, released and pending records, also when a hold is over", () => {
    expect(waitOn({ status: "planned", hold: null })).toBe("wait");
    expect(waitOn({ status: "released", hold: null })).toBe("wait");
    expect(waitOn({ status: "pending" })).toBe("wait");
    expect(waitOn({ status: "pending" }, 300)).toBe("wait");
    expect(waitOn({ ...reconcile, status: "pending" }, 300)).toBe("wait");
  });

  it("under review wakes at the lapse and is told to ask", () => {
    expect(decideWait(seen({ ...review, status: "pending" }, 100), undefined)).toMatchObject({ lapseInMs: 200_000 });
    expect(waitOn({ ...review, status: "pending" }, 300)).toBe("needs_review");
  });

  it("gets what the record says", () => {
    expect(waitOn({ ...reconcile, status: "unknown", hold: null })).toBe("needs_review");
    expect(waitOn({ status: "parked", hold: null })).toBe("parked");
    expect(waitOn({ status: "completed", hold: null })).toBe("completed");
    expect(waitOn({ status: "failed", error, hold: 200 }, 9999)).toBe("failed");
  });
});

describe("forgetting", () => {
  it("is refused only while a run may be under way", () => {
    expect(decideForget(seen({ status: "pending" }, 299))).toBe("in_flight");
    const free: readonly [Partial<ToolCallRecord>, number][] = [
      [{ status: "pending" }, 300],
      [{ ...reconcile, status: "pending", phase: "reconcile" }, 0],
      [{ status: "completed", hold: null }, 0],
      [{ status: "planned", hold: null }, 0],
    ];
    for (const [record, age] of free) expect(decideForget(seen(record, age))).toMatchObject({ op: "delete" });
  });
});

describe("the hold", () => {
  it("is counted from the last write in whole milliseconds of the store's time, and may never end", () => {
    expect(holdLeftMs(seen({ hold: 0.0015 }, 0))).toBe(2);
    expect(holdLeftMs(seen({ hold: 1 }, 5))).toBe(0);
    expect(holdLeftMs(seen({ hold: null }, 5))).toBeNull();
  });
});
