import { describe, expect, it } from "vitest";
import { openScene, outcomeOf } from "./scene.js";

describe("looking at a call", () => {
  it("shows its record, by name or by key, with the end of its lease", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const request = { tool: "ship", args: { order: 7 }, pendingTtl: 60, scope: "run-1", key: "order-7" };
    expect(await calls.get(request)).toBeUndefined();
    const claim = await calls.claim(request);
    const call = await calls.get(request);
    expect(call).toEqual(await calls.get("run-1/ship:order-7"));
    expect(call).toMatchObject({
      id: claim.key,
      fields: { tool: "ship", status: "pending", intent: { order: 7 }, hold: 60 },
      updated_at: "2026-01-01T00:00:00.000Z",
      lease_expires_at: "2026-01-01T00:01:00.000Z",
    });
  });
});

describe("listing calls", () => {
  it("goes by scope, tool and status, page by page", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    for (const order of [1, 2, 3]) {
      await calls.run({ tool: "ship", args: order, scope: "run-1", key: `order-${order}` }, () => order);
    }
    await calls.run({ tool: "mail", args: 1, scope: "run-1", key: "k" }, () => 1);
    await calls.run({ tool: "ship", args: 1, key: "k" }, () => 1);
    const classify = () => "failed" as const;
    await outcomeOf(
      calls.run({ tool: "ship", args: 1, scope: "run-1", key: "bad", classify }, () => Promise.reject(new Error("no"))),
    );
    const keys = async (options: Parameters<typeof calls.list>[0]): Promise<string[]> =>
      (await calls.list(options)).calls.map((call) => call.id);
    expect(await keys({})).toHaveLength(6);
    expect(await keys({ scope: "run-1", tool: "ship", status: "completed" })).toEqual([
      "run-1/ship:order-1",
      "run-1/ship:order-2",
      "run-1/ship:order-3",
    ]);
    expect(await keys({ tool: "ship" })).toEqual(["ship:k"]);
    expect(await keys({ scope: "run-1", status: "failed" })).toEqual(["run-1/ship:bad"]);
    const first = await calls.list({ scope: "run-1", limit: 3 });
    expect(first.calls).toHaveLength(3);
    expect(await keys({ scope: "run-1", limit: 3, after: first.next ?? "" })).toHaveLength(2);
  });

  it("names documents that are no records, and shows the rest", async () => {
    const { worker, store } = await openScene();
    const { calls } = worker("A");
    await store.put({ shape: "tool-call", id: "alien", set: { status: "pending" } });
    await calls.run({ tool: "t", args: 1 }, () => 1);
    const page = await calls.list();
    expect(page.calls).toHaveLength(1);
    expect(page.malformed).toEqual(["alien"]);
  });

  it("refuses an option that it does not know", async () => {
    const { worker } = await openScene();
    await expect(worker("A").calls.list({ state: "pending" } as object)).rejects.toMatchObject({
      code: "invalid_request",
    });
  });
});

describe("forgetting a call", () => {
  it("makes the next one new, with any arguments", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    await calls.run({ tool: "pay", args: 10, key: "K" }, () => "paid 10");
    expect(await calls.forget("pay:K")).toBe(true);
    expect(await calls.forget("pay:K")).toBe(false);
    expect(await calls.run({ tool: "pay", args: 20, key: "K" }, () => "paid 20")).toMatchObject({
      result: "paid 20",
      attempt: 1,
      was_replay: false,
    });
  });

  it("never forgets more than it saw: a change in between is looked at first", async () => {
    const { worker } = await openScene();
    const { calls, network } = worker("A");
    const request = { tool: "pay", args: 10, key: "K" };
    await calls.run({ ...request, classify: () => "retryable" }, () => Promise.reject(new Error("no"))).catch(() => {});
    network.fault("delete", "held");
    const forgetting = outcomeOf(calls.forget("pay:K"));
    await worker("B").calls.claim(request);
    network.deliver();
    expect(await forgetting).toMatchObject({ code: "call_in_flight", owner: "B" });
  });

  it("says so when it is not known to have happened", async () => {
    const { worker } = await openScene();
    const { calls, network } = worker("A");
    await calls.run({ tool: "pay", args: 10, key: "K" }, () => 1);
    network.fault("delete", "reply lost");
    await expect(calls.forget("pay:K")).rejects.toMatchObject({ code: "outcome_unknown" });
  });
});
