import { describe, expect, it } from "vitest";
import { openScene, outcomeOf, SlowTool, settled } from "./scene.js";

const request = { tool: "charge", args: { amount: 10 }, pendingTtl: 30 };

describe("a caller that finds the call in flight", () => {
  it("is answered at once when it does not wait, with the time that is left of the claim", async () => {
    const { worker, advance, clock } = await openScene();
    const tool = new SlowTool();
    const running = worker("A").calls.run(request, tool.run);
    await settled();
    clock.advance(4000);
    const { calls: b } = worker("B");
    for (const options of [{ wait: false }, { waitTimeout: 0 }]) {
      await expect(b.run({ ...request, ...options }, tool.run)).rejects.toMatchObject({
        code: "call_in_flight",
        status: 409,
        retryable: true,
        retryAfter: 26,
        call_status: "pending",
        owner: "A",
      });
    }
    await advance(1);
    tool.end(0, 1);
    await running;
  });

  it("is told that it is still pending when its time is over, after a millisecond as after a minute", async () => {
    const { worker, advance } = await openScene();
    const tool = new SlowTool();
    const running = worker("A").calls.run(request, tool.run);
    await settled();
    const { calls: b } = worker("B");
    const short = outcomeOf(b.run({ ...request, waitTimeout: 0.001 }, tool.run));
    const long = outcomeOf(b.run({ ...request, waitTimeout: 60 }, tool.run));
    await advance(0.001);
    expect(await short).toMatchObject({ code: "call_in_flight" });
    await advance(60);
    expect(await long).toMatchObject({ code: "call_in_flight" });
    tool.end(0, 1);
    await running;
  });

  it("gets the result without any passing of time", async () => {
    const { worker } = await openScene();
    const tool = new SlowTool();
    const running = worker("A").calls.run(request, tool.run);
    await settled();
    const { calls: b, network } = worker("B");
    const waiting = b.run(request, tool.run);
    await settled();
    tool.end(0, "charged");
    expect(await waiting).toMatchObject({ result: "charged", was_replay: true });
    // One refused claim, one wait: it does not poll.
    expect(network.sent).toEqual(["pending", "wait"]);
    await running;
  });

  it("gets the failure when the holder fails", async () => {
    const { worker } = await openScene();
    const tool = new SlowTool();
    const running = outcomeOf(worker("A").calls.run({ ...request, classify: () => "failed" }, tool.run));
    await settled();
    const waiting = outcomeOf(worker("B").calls.run(request, tool.run));
    await settled();
    tool.break(0, new Error("card refused"));
    expect(await waiting).toMatchObject({ code: "tool_call_failed", cause: { message: "card refused" } });
    expect(await running).toMatchObject({ message: "card refused" });
    expect(tool.fires).toBe(1);
  });

  it("fires itself when the holder releases", async () => {
    const { worker } = await openScene();
    const tool = new SlowTool();
    const running = outcomeOf(worker("A").calls.run({ ...request, classify: () => "retryable" }, tool.run));
    await settled();
    const waiting = worker("B").calls.run(request, tool.run);
    await settled();
    tool.break(0, new Error("connection refused"));
    await running;
    await settled();
    expect(tool.fires).toBe(2);
    tool.end(1, "charged");
    expect(await waiting).toMatchObject({ result: "charged", was_replay: false, attempt: 2 });
  });

  it("stops waiting when its signal aborts, with the signal's reason, and leaves the holder alone", async () => {
    const { worker } = await openScene();
    const tool = new SlowTool();
    const running = worker("A").calls.run(request, tool.run);
    await settled();
    const gone = new AbortController();
    const waiting = outcomeOf(worker("B").calls.run({ ...request, signal: gone.signal }, tool.run));
    await settled();
    const reason = new Error("the user left");
    gone.abort(reason);
    expect(await waiting).toBe(reason);
    tool.end(0, "charged");
    expect(await running).toMatchObject({ result: "charged" });
    const before = outcomeOf(worker("C").calls.run({ ...request, args: 1, signal: gone.signal }, tool.run));
    expect(await before).toBe(reason);
    expect(tool.fires).toBe(1);
  });

  it("gets the store's error when the store is closed under it", async () => {
    const { worker, store } = await openScene();
    const tool = new SlowTool();
    void worker("A").calls.run(request, tool.run);
    await settled();
    const waiting = outcomeOf(worker("B").calls.run(request, tool.run));
    await settled();
    await store.close();
    expect(await waiting).toMatchObject({ code: "store_closed" });
  });

  it("never fires for a record that vanished: it claims first, as if it had just come", async () => {
    const { worker, store } = await openScene();
    const tool = new SlowTool();
    const { calls: a } = worker("A");
    const running = outcomeOf(a.run(request, tool.run));
    await settled();
    const waiting = worker("B").calls.run(request, tool.run);
    await settled();
    await store.delete({ shape: "tool-call", id: a.keyOf(request) });
    await settled();
    expect(await a.get(request)).toMatchObject({ fields: { status: "pending", owner: "B", attempt: 1 } });
    expect(tool.fires).toBe(2);
    tool.end(1, "charged by B");
    expect(await waiting).toMatchObject({ result: "charged by B" });
    tool.end(0, "charged by A");
    expect(await running).toMatchObject({ code: "claim_lost" });
  });
});

describe("waiting by name or key", () => {
  it("answers undefined when there is no such call, and when it goes", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    expect(await calls.wait(request)).toBeUndefined();
    expect(await calls.wait("charge:unheard-of")).toBeUndefined();
  });

  it("gets the result, waits for a released call, and never claims", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const claim = await calls.claim(request);
    if (!claim.claimed) throw new Error("expected a claim");
    await claim.release();
    const { calls: b, network } = worker("B");
    const tired = outcomeOf(b.wait(claim.key, { timeout: 5 }));
    const patient = b.wait(claim.key, { timeout: 50 });
    await advance(5);
    expect(await tired).toMatchObject({ code: "call_in_flight", call_status: "released" });
    await calls.run(request, () => "charged");
    expect(await patient).toMatchObject({ result: "charged", was_replay: true, attempt: 2 });
    expect(network.sent.every((each) => each === "read" || each === "wait")).toBe(true);
  });

  it("goes on waiting over a lapse, which is not its business", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    await calls.claim(request);
    network.down = true;
    const waiting = outcomeOf(worker("B").calls.wait(request, { timeout: 100 }));
    await advance(100);
    expect(await waiting).toMatchObject({ code: "call_in_flight", retryAfter: 0 });
  });
});
