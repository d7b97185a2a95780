import { describe, expect, it } from "vitest";
import { IdempotencyConflictError, type ToolCallRequest } from "../../src/tool-calls/index.js";
import { openScene, outcomeOf, SlowTool, settled } from "./scene.js";

const request = { tool: "send_email", args: { order: 12345, user: "U" } } satisfies ToolCallRequest;

describe("a call", () => {
  it("fires once and replays the stored result with the flag and the time of the original", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const tool = new SlowTool();
    const first = calls.run(request, tool.run);
    await settled();
    tool.end(0, { id: "m1" });
    const original = await first;
    expect(original).toMatchObject({ result: { id: "m1" }, was_replay: false, attempt: 1, persisted: true });
    await advance(60);
    expect(await calls.run(request, tool.run)).toEqual({ ...original, was_replay: true });
    expect(original.original_called_at).toBe("2026-01-01T00:00:00.000Z");
    expect(tool.fires).toBe(1);
  });

  it("fires once for 100 callers at the same time, and gives 99 of them an equal replay", async () => {
    const { worker } = await openScene();
    const workers = [worker("A"), worker("B"), worker("C"), worker("D")];
    let fires = 0;
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        workers[index % 4]?.calls.run(request, async () => {
          fires += 1;
          await settled();
          return { fire: fires };
        }),
      ),
    );
    expect(fires).toBe(1);
    expect(outcomes.filter((outcome) => outcome?.was_replay === false)).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome?.was_replay === true)).toHaveLength(99);
    for (const outcome of outcomes) expect(outcome?.result).toEqual({ fire: 1 });
  });

  it("enters the tool only after its claim is in the store", async () => {
    const { worker, store } = await openScene();
    const { calls, network } = worker("A");
    network.fault("pending", "held");
    const tool = new SlowTool();
    const running = calls.run(request, tool.run);
    await settled();
    expect(tool.fires).toBe(0);
    network.deliver();
    await settled();
    expect(tool.fires).toBe(1);
    const record = await store.get("tool-call", calls.keyOf(request));
    expect(record).toMatchObject({ status: "pending", claim_id: "A-1", attempt: 1, owner: "A" });
    tool.end(0, 1);
    await running;
  });

  it("gives the tool its key, the arguments, the attempt and the fencing token", async () => {
    const { worker, store } = await openScene();
    const { calls } = worker("A");
    const outcome = await calls.run(request, (call) => ({
      tool: call.tool,
      args: call.args as object,
      attempt: call.attempt,
      token: call.fencingToken,
      key: call.headers["Idempotency-Key"],
      valid: call.isValid(),
    }));
    expect(outcome.result).toEqual({
      tool: "send_email",
      args: { order: 12345, user: "U" },
      attempt: 1,
      token: 1,
      key: outcome.key,
      valid: true,
    });
    expect(outcome.fencing_token).toBe(1);
    expect((await store.getDocument("tool-call", outcome.key))?.revision).toBe(2);
  });

  it("is one with a call whose properties come in another order, and not with one whose elements do", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const fire = async (args: unknown): Promise<boolean> => !(await calls.run({ tool: "t", args }, () => 1)).was_replay;
    expect(await fire({ a: 1, b: { c: [1, 2] } })).toBe(true);
    expect(await fire({ b: { c: [1, 2] }, a: 1 })).toBe(false);
    expect(await fire({ b: { c: [2, 1] }, a: 1 })).toBe(true);
  });

  it("is another call for another tool or in another scope, also under the same given key", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const run = async (tool: string, scope?: string): Promise<unknown> =>
      (await calls.run({ tool, args: 1, key: "order-7", scope }, () => `${tool} in ${scope}`)).result;
    expect(await run("charge")).toBe("charge in undefined");
    expect(await run("refund")).toBe("refund in undefined");
    expect(await run("charge", "tenant-1")).toBe("charge in tenant-1");
    expect(await run("charge", "tenant-2")).toBe("charge in tenant-2");
    expect(await run("charge", "tenant-1")).toBe("charge in tenant-1");
  });

  it("may be a function of the arguments that only some of them take part in", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const key = (args: unknown): string => `order-${(args as { order: number }).order}`;
    const outcome = await calls.run({ tool: "ship", args: { order: 7 }, key }, () => 1);
    expect(outcome.key).toBe("ship:order-7");
    // The whole key of an earlier outcome names the same record.
    const again = await calls.run({ tool: "ship", args: { order: 7 }, key: outcome.key }, () => 2);
    expect(again).toMatchObject({ result: 1, was_replay: true });
  });
});

describe("other arguments under the same key are a conflict, never a replay and never a fire,", () => {
  const named = (amount: number): ToolCallRequest => ({ tool: "pay", key: "K", args: { amount } });

  it("while the call is pending", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const tool = new SlowTool();
    const running = calls.run(named(10), tool.run);
    await settled();
    await expect(calls.run(named(20), tool.run)).rejects.toMatchObject({
      code: "idempotency_conflict",
      status: 422,
      call_status: "pending",
    });
    tool.end(0, "paid");
    await running;
    expect(tool.fires).toBe(1);
  });

  it("when it is completed, and while they wait for it by name", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    await calls.run(named(10), () => "paid");
    await expect(calls.run(named(20), () => "paid twice")).rejects.toThrow(IdempotencyConflictError);
    await expect(calls.wait(named(20))).rejects.toThrow(IdempotencyConflictError);
    await expect(calls.claim(named(20))).rejects.toThrow(IdempotencyConflictError);
  });

  it("when it has failed, when it was released, and when its claim has lapsed", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const failed = { ...named(10), key: "failed" };
    const released = { ...named(10), key: "released" };
    const lapsed = { ...named(10), key: "lapsed", maxRunTime: 1 };
    await outcomeOf(calls.run({ ...failed, classify: () => "failed" }, () => Promise.reject(new Error("no"))));
    await outcomeOf(calls.run({ ...released, classify: () => "retryable" }, () => Promise.reject(new Error("no"))));
    await calls.claim(lapsed);
    await advance(400);
    for (const each of [failed, released, lapsed]) {
      const other = { ...each, args: { amount: 20 } };
      await expect(calls.run(other, () => "paid twice")).rejects.toThrow(IdempotencyConflictError);
    }
    expect((await calls.run(lapsed, () => "paid")).attempt).toBe(2);
  });

  it("until the window is over: then the key is free", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A", { completedTtl: 400 });
    await calls.run(named(10), () => "paid");
    await advance(399);
    await expect(calls.run(named(20), () => "again")).rejects.toThrow(IdempotencyConflictError);
    await advance(1);
    expect(await calls.run(named(20), () => "again")).toMatchObject({ result: "again", attempt: 1, was_replay: false });
  });
});

describe("the window", () => {
  it("answers a retry shortly before its end and knows nothing shortly after", async () => {
    const { worker, advance, store } = await openScene();
    const { calls } = worker("A", { pendingTtl: 1, completedTtl: 1, failedTtl: 1, waitTimeout: 1 });
    const { calls: other } = worker("B", { pendingTtl: 1, completedTtl: 1, failedTtl: 1, waitTimeout: 1 });
    await calls.run(request, () => "done");
    await advance(0.9);
    expect(await other.run(request, () => "twice")).toMatchObject({ result: "done", was_replay: true });
    await advance(0.2);
    expect(await store.get("tool-call", calls.keyOf(request))).toBeUndefined();
    expect(await other.run(request, () => "forgotten")).toMatchObject({ result: "forgotten", was_replay: false });
  });

  it("re-run three times, a chain of three calls whose last one fails fires the first two once", async () => {
    const { worker } = await openScene();
    const fires = { a: 0, b: 0, c: 0 };
    for (let attempt = 1; attempt <= 3; attempt++) {
      // A new process each time.
      const { calls } = worker(`process ${attempt}`);
      const a = await calls.run({ tool: "a", args: 1, scope: "run-1" }, () => ++fires.a);
      const b = await calls.run({ tool: "b", args: 1, scope: "run-1" }, () => ++fires.b);
      expect([a.was_replay, b.was_replay]).toEqual(attempt === 1 ? [false, false] : [true, true]);
      const model = calls.run({ tool: "c", args: 1, scope: "run-1", classify: () => "retryable" }, () => {
        fires.c += 1;
        throw new Error("the model is not available");
      });
      await expect(model).rejects.toThrow("not available");
    }
    expect(fires).toEqual({ a: 1, b: 1, c: 3 });
  });
});
