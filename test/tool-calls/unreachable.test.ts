import { describe, expect, it } from "vitest";
import { openScene, outcomeOf, SlowTool, settled } from "./scene.js";

const request = { tool: "charge", args: { amount: 10 }, pendingTtl: 30 };

describe("a store that cannot be reached before the claim is known to be made", () => {
  it("fires nothing", async () => {
    const { worker } = await openScene();
    const { calls, network } = worker("A");
    const tool = new SlowTool();
    network.down = true;
    await expect(calls.run(request, tool.run)).rejects.toMatchObject({ code: "unavailable" });
    expect(tool.fires).toBe(0);
  });

  it("fires nothing when it refuses the write, and answers with the stored result when it has one", async () => {
    const { worker } = await openScene();
    const { calls, network } = worker("A");
    const tool = new SlowTool();
    network.fault("pending", "overloaded");
    await expect(calls.run(request, tool.run)).rejects.toMatchObject({ code: "overloaded", retryable: true });
    expect(tool.fires).toBe(0);
    await calls.run(request, () => "charged");
    network.fault("pending", "overloaded");
    expect(await calls.run(request, tool.run)).toMatchObject({ result: "charged", was_replay: true });
  });

  it("fires once when only the reply was lost: the run knows its own claim again", async () => {
    const { worker } = await openScene();
    const { calls, network } = worker("A");
    network.fault("pending", "reply lost");
    const outcome = await calls.run(request, (call) => call.attempt);
    expect(outcome).toMatchObject({ result: 1, was_replay: false, attempt: 1, persisted: true });
    expect(network.sent).toEqual(["pending", "read", "completed"]);
  });

  it("fires once when the request was lost, with a claim of another id", async () => {
    const { worker, store } = await openScene();
    const { calls, network } = worker("A");
    network.fault("pending", "request lost");
    const outcome = await calls.run(request, (call) => call.attempt);
    expect(outcome).toMatchObject({ result: 1, was_replay: false, attempt: 1 });
    expect((await store.get("tool-call", outcome.key))?.["claim_id"]).not.toBe("A-1");
  });

  it("fires once when a request that was given up arrives after the next one was sent", async () => {
    const { worker } = await openScene();
    const { calls, network } = worker("A");
    const tool = new SlowTool();
    network.fault("pending", "late");
    network.fault("pending", "held");
    const running = calls.run(request, tool.run);
    await settled();
    // The late one arrives first, the other one is refused by it, and finds its own claim in the record.
    network.deliver();
    await settled();
    expect(tool.fires).toBe(1);
    tool.end(0, "charged");
    expect(await running).toMatchObject({ result: "charged", attempt: 1 });
  });

  it("fires nothing when it falls silent, and takes the claim back when it is there again", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    const tool = new SlowTool();
    network.fault("pending", "reply lost");
    network.fault("read", "unreachable");
    network.fault("released", "unreachable", 2);
    await expect(calls.run(request, tool.run)).rejects.toMatchObject({ code: "outcome_unknown" });
    expect(tool.fires).toBe(0);
    const other = worker("B").calls;
    await expect(other.run({ ...request, wait: false }, tool.run)).rejects.toMatchObject({ code: "call_in_flight" });
    await advance(1);
    expect(await other.get(request)).toMatchObject({ fields: { status: "released", attempt: 1 } });
    expect(await other.run(request, () => "charged")).toMatchObject({ attempt: 2, was_replay: false });
  });

  it("does not make the same process wait for the claim that it gave up itself", async () => {
    const { worker } = await openScene();
    const { calls, network } = worker("A");
    network.fault("pending", "reply lost");
    network.fault("read", "unreachable");
    network.fault("released", "unreachable", 100);
    await expect(calls.run(request, () => 1)).rejects.toMatchObject({ code: "outcome_unknown" });
    expect(await calls.run({ ...request, wait: false }, () => "charged")).toMatchObject({
      result: "charged",
      attempt: 2,
    });
  });

  it("gives up after three claims without an answer", async () => {
    const { worker } = await openScene();
    const { calls, network } = worker("A");
    network.fault("pending", "request lost", 10);
    await expect(calls.run(request, () => 1)).rejects.toMatchObject({ code: "outcome_unknown" });
    expect(network.sent.filter((each) => each === "pending")).toHaveLength(3);
  });
});

describe("a caller that leaves", () => {
  it("while the claim is on its way gets the signal's reason, and the claim is taken back", async () => {
    const { worker } = await openScene();
    const { calls, network } = worker("A");
    const tool = new SlowTool();
    const gone = new AbortController();
    network.fault("pending", "held");
    const running = outcomeOf(calls.run({ ...request, signal: gone.signal }, tool.run));
    await settled();
    const reason = new Error("the user left");
    gone.abort(reason);
    expect(await running).toBe(reason);
    network.deliver();
    await settled();
    expect(await calls.get(request)).toMatchObject({ fields: { status: "released" } });
    expect(tool.fires).toBe(0);
  });

  it("while the tool runs has its signal forwarded, and the outcome is recorded all the same", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const tool = new SlowTool();
    const gone = new AbortController();
    const running = calls.run({ ...request, signal: gone.signal }, tool.run);
    await settled();
    const reason = new Error("the user left");
    gone.abort(reason);
    expect(tool.signals[0]?.reason).toBe(reason);
    tool.end(0, "charged");
    expect(await running).toMatchObject({ result: "charged", persisted: true });
    expect(await calls.run(request, tool.run)).toMatchObject({ result: "charged", was_replay: true });
  });
});

describe("a store that cannot be reached after the fire", () => {
  it("does not cost the caller its result, and gets it as soon as it is there again", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    const outcome = await calls.run(request, () => {
      network.down = true;
      return "charged";
    });
    expect(outcome).toMatchObject({ result: "charged", persisted: false, was_replay: false });
    await advance(20);
    const { calls: b } = worker("B");
    await expect(b.run({ ...request, wait: false }, () => "twice")).rejects.toMatchObject({ code: "call_in_flight" });
    network.down = false;
    await advance(10);
    expect(await b.run(request, () => "twice")).toMatchObject({ result: "charged", was_replay: true, attempt: 1 });
  });

  it("knows the outcome already when only the reply was lost", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    network.fault("completed", "reply lost");
    expect(await calls.run(request, () => "charged")).toMatchObject({ result: "charged", persisted: false });
    expect(await worker("B").calls.run(request, () => "twice")).toMatchObject({ result: "charged", was_replay: true });
    await advance(1);
    // The copy was refused, and the record showed that it was there already: no more are sent.
    expect(network.sent.filter((each) => each === "completed")).toHaveLength(2);
    await advance(60);
    expect(network.sent.filter((each) => each === "completed")).toHaveLength(2);
  });

  it("hears of a failure, too", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    network.fault("failed", "request lost");
    const refused = new Error("card refused");
    const failing = calls.run({ ...request, classify: () => "failed" }, () => Promise.reject(refused));
    expect(await outcomeOf(failing)).toBe(refused);
    await advance(1);
    await expect(calls.run(request, () => 1)).rejects.toMatchObject({ code: "tool_call_failed" });
  });

  it("does not overwrite what another caller did after the claim had lapsed", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    await calls.run(request, () => {
      network.down = true;
      return "charged by A";
    });
    await advance(31);
    const { calls: b } = worker("B");
    await b.run(request, () => "charged by B");
    network.down = false;
    await advance(30);
    expect(await b.run(request, () => 3)).toMatchObject({ result: "charged by B", attempt: 2 });
  });

  it("is tried for as long as the window, and then left", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A", { pendingTtl: 30, completedTtl: 60, failedTtl: 30 });
    await calls.run(request, () => {
      network.down = true;
      return "charged";
    });
    await advance(80);
    const tries = network.sent.length;
    await advance(100);
    expect(network.sent.length).toBe(tries);
  });
});

describe("closing", () => {
  it("takes no more calls, waits for those that run, and lets the last writes through", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    const tool = new SlowTool();
    const running = calls.run(request, tool.run);
    await settled();
    network.fault("completed", "unreachable");
    let closed = false;
    const closing = calls.close().then(() => {
      closed = true;
    });
    await expect(calls.run(request, tool.run)).rejects.toMatchObject({ code: "store_closed" });
    await settled();
    expect(closed).toBe(false);
    tool.end(0, "charged");
    expect(await running).toMatchObject({ persisted: false });
    await advance(1);
    await closing;
    expect(await worker("B").calls.run(request, tool.run)).toMatchObject({ result: "charged", was_replay: true });
  });

  it("does not wait for ever: what has not ended is no longer renewed and lapses", async () => {
    const { worker, advance, clock } = await openScene();
    const { calls } = worker("A");
    const tool = new SlowTool();
    void calls.run(request, tool.run);
    await settled();
    const closing = calls.close({ timeout: 10 });
    await advance(10);
    await closing;
    await advance(30);
    expect(await worker("B").calls.run(request, () => "charged by B")).toMatchObject({ attempt: 2 });
    expect(clock.timerCount).toBeLessThan(5);
  });
});
