import { describe, expect, it } from "vitest";
import type { WriteEvent } from "../../src/tool-calls/acquisition-decisions.js";
import type { ToolCallRecord } from "../../src/tool-calls/record.js";
import { stepSettlement } from "../../src/tool-calls/settlement-decisions.js";
import { complete, fail } from "../../src/tool-calls/transitions.js";
import { at, error, held, seen } from "./sample-records.js";

const done = complete(held({ extra: { trace: 1 } }), { kind: "json", value: "x" }, at);

function refusedBy(current: Partial<ToolCallRecord> | undefined): WriteEvent {
  return { event: "refused", current: current === undefined ? undefined : seen(current) };
}

function unanswered(fault: Extract<WriteEvent, { event: "unanswered" }>["fault"]): WriteEvent {
  return { event: "unanswered", error: new Error(fault), fault, applied: "maybe" };
}

describe("the answer to the write of an outcome", () => {
  it("settles it when it was written, now or by an earlier copy", () => {
    expect(stepSettlement(done, { event: "written", revision: 9 })).toEqual({ step: "settled" });
    expect(stepSettlement(done, refusedBy({ claim_id: "C", status: "completed" }))).toEqual({ step: "settled" });
  });

  it("loses it to another claim, to a decree, to another outcome, and to a record that is gone", () => {
    const others: readonly (Partial<ToolCallRecord> | undefined)[] = [
      { claim_id: "D", status: "pending" },
      { claim_id: "D", status: "completed" },
      { claim_id: null, status: "completed" },
      { claim_id: "C", status: "released" },
      undefined,
    ];
    for (const current of others) expect(stepSettlement(done, refusedBy(current)).step).toBe("lost");
    expect(stepSettlement(done, unanswered("record"))).toEqual({ step: "lost", current: undefined });
  });

  it("repeats it while the store is silent, or does not let this worker in", () => {
    expect(stepSettlement(done, unanswered("store"))).toEqual({ step: "again" });
    expect(stepSettlement(done, unanswered("access"))).toEqual({ step: "again" });
  });

  it("makes it smaller until the store takes it, and never leaves out that it is done", () => {
    const first = stepSettlement(done, unanswered("size"));
    if (first.step !== "shrink") throw new Error("expected a smaller form");
    expect(first.write.set).toMatchObject({ status: "completed", result_omitted: "too_large", intent: { a: 1 } });
    expect("result" in first.write.set).toBe(false);
    const second = stepSettlement(first.write, unanswered("size"));
    if (second.step !== "shrink") throw new Error("expected a smaller form");
    expect(second.write.set).toMatchObject({ status: "completed", intent: null, fingerprint: "f" });
    expect("extra" in second.write.set).toBe(false);
    expect(stepSettlement(second.write, unanswered("size")).step).toBe("refused");
    expect(second.write.if_match).toEqual(done.if_match);
  });

  it("says that it was not JSON when that is the store's objection", () => {
    expect(stepSettlement(done, unanswered("request"))).toMatchObject({
      write: { set: { result_omitted: "not_json" } },
    });
    expect(stepSettlement(fail(held(), error, at), unanswered("size"))).toMatchObject({
      write: { set: { error, intent: null } },
    });
  });
});
