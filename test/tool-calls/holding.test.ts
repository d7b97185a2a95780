import { describe, expect, it } from "vitest";
import { CallInFlightError, ClaimLostError } from "../../src/tool-calls/index.js";
import { openScene, outcomeOf, SlowTool, settled } from "./scene.js";

const request = { tool: "charge", args: { amount: 10 }, pendingTtl: 30 };

describe("the claim of a slow tool", () => {
  it("is renewed, so that nobody else begins however long it takes", async () => {
    const { worker, advance } = await openScene();
    const { calls: a, network } = worker("A");
    const { calls: b } = worker("B");
    const tool = new SlowTool();
    const slow = a.run(request, tool.run);
    await settled();
    const waiting = b.run({ ...request, waitTimeout: 200 }, tool.run);
    await advance(150);
    expect(network.sent.filter((each) => each === "renew").length).toBeGreaterThanOrEqual(14);
    tool.end(0, "charged");
    expect(await slow).toMatchObject({ result: "charged", was_replay: false, attempt: 1 });
    expect(await waiting).toMatchObject({ result: "charged", was_replay: true });
    expect(tool.fires).toBe(1);
    expect(tool.signals[0]?.aborted).toBe(false);
  });

  it("survives renewals that get no answer while one in three does", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    const tool = new SlowTool();
    const slow = calls.run(request, tool.run);
    await settled();
    network.fault("renew", "request lost", 3);
    await advance(60);
    expect(tool.signals[0]?.aborted).toBe(false);
    tool.end(0, "charged");
    expect(await slow).toMatchObject({ persisted: true });
  });

  it("holds from when a renewal was sent, however late its answer comes", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    const claim = await calls.claim(request);
    if (!claim.claimed) throw new Error("not claimed");
    network.fault("renew", "reply held");
    await advance(25);
    expect(network.sent).toEqual(["pending", "renew"]);
    network.down = true;
    network.deliver();
    // The renewal was sent after a third of the 30 seconds.
    await advance(14.5);
    expect([claim.isValid(), claim.signal.aborted]).toEqual([true, false]);
    await advance(1);
    expect([claim.isValid(), claim.signal.aborted]).toEqual([false, true]);
    await expect(claim.renew()).rejects.toBeInstanceOf(ClaimLostError);
  });

  it("is no longer renewed after maxRunTime: the signal aborts, the claim lapses, and the next caller fires", async () => {
    const { worker, advance } = await openScene();
    const { calls: a } = worker("A");
    const { calls: b } = worker("B");
    const tool = new SlowTool();
    const hung = outcomeOf(a.run({ ...request, maxRunTime: 60 }, tool.run));
    await settled();
    await advance(59);
    expect(tool.signals[0]?.aborted).toBe(false);
    await advance(1);
    expect(tool.signals[0]?.reason).toBeInstanceOf(ClaimLostError);
    await expect(b.run({ ...request, wait: false }, tool.run)).rejects.toThrow(CallInFlightError);
    const next = b.run({ ...request, waitTimeout: 60 }, tool.run);
    await advance(31);
    expect(tool.fires).toBe(2);
    // The caller of the tool that does not heed its signal gets an answer all the same.
    expect(await hung).toMatchObject({ code: "claim_lost", message: expect.stringContaining("60 seconds") });
    tool.end(1, "charged by B");
    expect(await next).toMatchObject({ result: "charged by B", attempt: 2, was_replay: false });
    tool.end(0, "charged by A");
    await settled();
    expect(await a.run(request, tool.run)).toMatchObject({ result: "charged by B", was_replay: true });
  });

  it("that ended too late, when nobody took over, is recorded all the same", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const tool = new SlowTool();
    const hung = outcomeOf(calls.run({ ...request, maxRunTime: 60 }, tool.run));
    await advance(100);
    expect(await hung).toBeInstanceOf(ClaimLostError);
    tool.end(0, "charged");
    await settled();
    expect(await calls.run(request, tool.run)).toMatchObject({ result: "charged", was_replay: true });
    expect(tool.fires).toBe(1);
  });
});

describe("a holder that lost its claim", () => {
  it("is told so by the signal when a renewal is refused, and its result changes nothing", async () => {
    const { worker, advance } = await openScene();
    const { calls: a, network } = worker("A");
    const { calls: b } = worker("B");
    const tool = new SlowTool();
    const late = outcomeOf(a.run(request, tool.run));
    await settled();
    network.down = true;
    await advance(29);
    expect(tool.signals[0]?.aborted).toBe(false);
    await advance(2);
    // Nothing was heard of the store for a whole hold.
    expect(tool.signals[0]?.reason).toBeInstanceOf(ClaimLostError);
    expect(await b.run(request, () => "charged by B")).toMatchObject({ attempt: 2, was_replay: false });
    network.down = false;
    tool.end(0, "charged by A");
    const error = await late;
    expect(error).toBeInstanceOf(ClaimLostError);
    expect(error).toMatchObject({ code: "claim_lost", status: 409, current: { status: "completed", attempt: 2 } });
    expect(await a.run(request, tool.run)).toMatchObject({ result: "charged by B", was_replay: true });
  });

  it("cannot fail the call that another holder completed", async () => {
    const { worker, advance } = await openScene();
    const { calls: a, network } = worker("A");
    const { calls: b } = worker("B");
    const tool = new SlowTool();
    const late = outcomeOf(a.run({ ...request, classify: () => "failed" }, tool.run));
    await settled();
    network.down = true;
    await advance(31);
    await b.run(request, () => "charged by B");
    network.down = false;
    const refused = new Error("card refused");
    tool.break(0, refused);
    expect(await late).toMatchObject({ code: "claim_lost", cause: refused });
    expect(await b.run(request, tool.run)).toMatchObject({ result: "charged by B", was_replay: true });
  });

  it("cannot free the claim of the next one, so that no third one begins", async () => {
    const { worker, advance } = await openScene();
    const { calls: a, network } = worker("A");
    const { calls: b } = worker("B");
    const tool = new SlowTool();
    const late = outcomeOf(a.run({ ...request, classify: () => "retryable" }, tool.run));
    await settled();
    network.down = true;
    await advance(31);
    const second = b.run(request, tool.run);
    await settled();
    network.down = false;
    tool.break(0, new Error("never sent"));
    expect(await late).toMatchObject({ code: "claim_lost", current: { status: "pending", owner: "B" } });
    await expect(a.run({ ...request, wait: false }, tool.run)).rejects.toThrow(CallInFlightError);
    tool.end(1, "charged");
    expect(await second).toMatchObject({ result: "charged" });
    expect(tool.fires).toBe(2);
  });

  it("is told that the record is gone when it was forgotten", async () => {
    const { worker, advance } = await openScene();
    const { calls: a, network } = worker("A");
    const { calls: b } = worker("B");
    const tool = new SlowTool();
    const late = outcomeOf(a.run(request, tool.run));
    await settled();
    network.down = true;
    await advance(31);
    expect(await b.forget(request)).toBe(true);
    network.down = false;
    tool.end(0, "charged");
    expect(await late).toMatchObject({ code: "claim_lost", current: null });
    expect(await b.get(request)).toBeUndefined();
  });

  it("does not enter its tool when the store's answer came after the lease, and fires in a claim renewed first", async () => {
    const { worker, advance } = await openScene();
    const { calls: a, network } = worker("A");
    network.fault("pending", "held");
    const tool = new SlowTool();
    const running = a.run(request, tool.run);
    await settled();
    // The claim sets out, and for longer than its hold nothing is heard.
    await advance(31);
    network.fault("renew", "held");
    network.deliver();
    await settled();
    expect(tool.fires).toBe(0);
    network.deliver();
    await settled();
    expect(tool.fires).toBe(1);
    tool.end(0, "charged");
    expect(await running).toMatchObject({ attempt: 1 });
  });
});

describe("fencing tokens and attempts", () => {
  it("grow from claim to claim, tokens also when the record was forgotten in between", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const seen: [number, number][] = [];
    const classify = () => "retryable" as const;
    for (let round = 0; round < 3; round++) {
      const failing = calls.run({ ...request, classify }, (call) => {
        seen.push([call.attempt, call.fencingToken]);
        throw new Error("not now");
      });
      await outcomeOf(failing);
    }
    await calls.forget(request);
    await calls.run(request, (call) => {
      seen.push([call.attempt, call.fencingToken]);
    });
    expect(seen.map(([attempt]) => attempt)).toEqual([1, 2, 3, 1]);
    const tokens = seen.map(([, token]) => token);
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(new Set(tokens).size).toBe(4);
  });
});
