import { describe, expect, it } from "vitest";
import type { Fields } from "../../src/documents/contract.js";
import type { ToolCallRecord } from "../../src/tool-calls/index.js";
import { fingerprintOf } from "../../src/tool-calls/keys.js";
import { error, held } from "./sample-records.js";
import { openScene, outcomeOf, type Scene, SlowTool } from "./scene.js";

const request = { tool: "charge", args: { amount: 10 }, pendingTtl: 30 };

/** A record as another version or configuration of the protocol leaves it. */
async function leave(scene: Scene, changes: Partial<ToolCallRecord> | Fields): Promise<string> {
  const key = scene.worker("other").calls.keyOf(request);
  const { record } = held({ key, tool: request.tool, fingerprint: fingerprintOf(request.args), hold: 30 });
  await scene.store.put({ shape: "tool-call", id: key, set: { ...record, ...changes } as Fields });
  return key;
}

describe("a record that another policy wrote", () => {
  it("under review, lapsed or unknown, is fired by nobody", async () => {
    const scene = await openScene();
    const tool = new SlowTool();
    const { calls } = scene.worker("A");
    const key = await leave(scene, { policy: "review" });
    await expect(calls.run({ ...request, wait: false }, tool.run)).rejects.toMatchObject({ code: "call_in_flight" });
    await scene.advance(31);
    await expect(calls.run(request, tool.run)).rejects.toMatchObject({
      code: "needs_review",
      status: 409,
      retryable: false,
    });
    await expect(calls.wait(key)).rejects.toMatchObject({ code: "needs_review" });
    await leave(scene, { policy: "review", status: "unknown", phase: null, hold: null, error });
    const asked = await outcomeOf(calls.run(request, tool.run));
    expect(asked).toMatchObject({
      code: "needs_review",
      cause: { message: "no" },
      record: { status: "unknown" },
    });
    expect(tool.fires).toBe(0);
  });

  it("wakes a waiter at the lapse and tells it to ask", async () => {
    const scene = await openScene();
    const key = await leave(scene, { policy: "review" });
    const { calls } = scene.worker("A");
    const running = outcomeOf(calls.run({ ...request, waitTimeout: 60 }, () => 1));
    const waiting = outcomeOf(calls.wait(key, { timeout: 60 }));
    await scene.advance(32);
    expect(await running).toMatchObject({ code: "needs_review" });
    expect(await waiting).toMatchObject({ code: "needs_review" });
  });

  it("under reconcile is asked about where nothing can look it up", async () => {
    const scene = await openScene();
    await leave(scene, { policy: "reconcile", status: "unknown", phase: null, hold: null });
    await expect(scene.worker("A").calls.run(request, () => 1)).rejects.toMatchObject({ code: "needs_review" });
  });

  it("that is parked is resumed by run and reported by wait, with its policy kept", async () => {
    const scene = await openScene();
    const key = await leave(scene, { policy: "review", status: "parked", phase: null, hold: null, reason: "approval" });
    const { calls } = scene.worker("A");
    await expect(calls.wait(key)).rejects.toMatchObject({ code: "call_parked", record: { reason: "approval" } });
    const timeout = calls.run(request, () => Promise.reject(new Error("timed out")));
    await expect(timeout).rejects.toThrow("timed out");
    expect(await calls.get(key)).toMatchObject({
      fields: { status: "unknown", policy: "review", attempt: 2, error: { message: "timed out" } },
      expires_at: null,
    });
  });

  it("whose tool marks is marked before the tool is entered", async () => {
    const scene = await openScene();
    const key = await leave(scene, {
      policy: "review",
      marks: true,
      status: "planned",
      phase: null,
      hold: null,
      claim_id: null,
    });
    const { calls, network } = scene.worker("A");
    const marked = await calls.run(
      request,
      async () => (await scene.store.get("tool-call", key))?.["fired_at"] ?? null,
    );
    expect(marked.result).toBe("2026-01-01T00:00:00.000Z");
    expect(network.sent).toEqual(["pending", "pending", "renew", "completed"]);
    expect((await calls.get(key))?.fields.fired_at).toBe("2026-01-01T00:00:00.000Z");
  });

  it("whose mark gets no answer is not fired, and is claimed again by the same process", async () => {
    const scene = await openScene();
    await leave(scene, {
      policy: "review",
      marks: true,
      status: "planned",
      phase: null,
      hold: null,
      claim_id: null,
    });
    const tool = new SlowTool();
    const { calls, network } = scene.worker("A");
    network.fault("renew", "reply lost", 3);
    network.fault("released", "unreachable", 100);
    await expect(calls.run(request, tool.run)).rejects.toMatchObject({ code: "outcome_unknown" });
    expect(tool.fires).toBe(0);
    expect(await calls.run(request, () => "charged")).toMatchObject({ result: "charged" });
  });
});

describe("a document that is no record", () => {
  const alien: readonly [string, Fields][] = [
    ["has a member of another kind", { started_at: 1 }],
    ["comes from a newer version", { format: 2 }],
    ["has an unknown status", { status: "paused" }],
    ["is pending without a hold", { hold: null }],
    ["has failed without an error", { status: "failed" }],
    ["belongs to another key", { key: "another" }],
  ];

  it.each(alien)("because it %s, stops the call with a clear error and is left alone", async (_, changes) => {
    const scene = await openScene();
    const key = await leave(scene, changes);
    const before = await scene.store.getDocument("tool-call", key);
    const tool = new SlowTool();
    const { calls } = scene.worker("A");
    for (const call of [
      calls.run(request, tool.run),
      calls.claim(request),
      calls.get(key),
      calls.wait(key),
      calls.forget(key),
    ]) {
      const stopped = await outcomeOf<unknown>(call);
      expect(stopped).toMatchObject({
        code: "record_malformed",
        message: expect.stringContaining(JSON.stringify(key)),
      });
    }
    expect(tool.fires).toBe(0);
    expect((await scene.store.getDocument("tool-call", key))?.revision).toBe(before?.revision);
  });

  it("because the seed's own code wrote it, stops the call, too", async () => {
    const { worker, store } = await openScene();
    const { calls } = worker("A");
    const set = { intent: {}, status: "completed", result: 1, completed_at: 1 };
    await store.put({ shape: "tool-call", id: calls.keyOf(request), set });
    await expect(calls.run(request, () => 2)).rejects.toMatchObject({ code: "record_malformed" });
  });

  it("put there while the tool ran, loses the claim", async () => {
    const { worker, store } = await openScene();
    const { calls } = worker("A");
    const key = calls.keyOf(request);
    const lost = await outcomeOf(
      calls.run(request, async () => {
        await store.put({ shape: "tool-call", id: key, set: { hello: "world" } });
        return "charged";
      }),
    );
    expect(lost).toMatchObject({ code: "claim_lost" });
    expect(await store.get("tool-call", key)).toEqual({ hello: "world" });
  });
});
