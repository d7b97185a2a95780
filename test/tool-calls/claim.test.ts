import { describe, expect, it } from "vitest";
import { type Claim, ClaimLostError, type NotClaimed } from "../../src/tool-calls/index.js";
import { openScene, settled } from "./scene.js";

const request = { tool: "charge", args: { amount: 10 }, pendingTtl: 30 };

function claimed(claim: Claim | NotClaimed): Claim {
  if (!claim.claimed) throw new Error("expected a claim");
  return claim;
}

describe("a claim by hand", () => {
  it("is completed, and then replayed to others", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const claim = claimed(await calls.claim(request));
    expect(claim).toMatchObject({
      attempt: 1,
      fencingToken: 1,
      key: calls.keyOf(request),
    });
    expect(claim.isValid()).toBe(true);
    expect(await claim.complete({ id: 1, gone: undefined })).toMatchObject({ result: { id: 1 }, was_replay: false });
    const second = await calls.claim(request);
    expect(second).toMatchObject({ claimed: false, result: { id: 1 }, was_replay: true });
  });

  it("fails: later claims get the error until it may be tried again", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    await claimed(await calls.claim(request)).fail(new Error("card refused"));
    await expect(calls.claim(request)).rejects.toMatchObject({
      code: "tool_call_failed",
      was_replay: true,
      retryAfter: 300,
      cause: { message: "card refused" },
    });
    await advance(300);
    expect(claimed(await calls.claim(request)).attempt).toBe(2);
  });

  it("is released: the next caller claims at once, with the binding and the attempt kept", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    await claimed(await calls.claim(request)).release();
    expect(await calls.get(request)).toMatchObject({
      fields: { status: "released", attempt: 1, hold: null },
      lease_expires_at: null,
    });
    expect(claimed(await calls.claim(request)).attempt).toBe(2);
  });

  it("of unknown end is released under refire, with what is known of the error", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    await claimed(await calls.claim(request)).unknown(new Error("timed out"));
    const record = await calls.get(request);
    expect(record?.fields).toMatchObject({ status: "released", last_error: { message: "timed out" } });
  });

  it("is renewed in the background and on request, and settled once", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const claim = claimed(await calls.claim(request));
    await advance(100);
    expect(claim.isValid()).toBe(true);
    await claim.renew();
    await claim.complete(1);
    await expect(claim.complete(2)).rejects.toMatchObject({ code: "invalid_request" });
    await expect(claim.fail(new Error("late"))).rejects.toMatchObject({ code: "invalid_request" });
    await advance(100);
    expect(await calls.wait(request)).toMatchObject({ result: 1 });
  });

  it("left alone by a worker that died lapses, and exactly one of those who wait takes over", async () => {
    const { worker, advance } = await openScene();
    const { calls: a, network } = worker("A");
    await a.claim(request);
    network.down = true;
    const others = ["B", "C", "D"].map((name) => worker(name).calls);
    let fires = 0;
    const waiting = others.map((calls) => calls.run({ ...request, waitTimeout: 60 }, () => ++fires));
    await advance(29);
    expect(fires).toBe(0);
    await advance(2);
    const outcomes = await Promise.all(waiting);
    expect(fires).toBe(1);
    expect(outcomes.map((outcome) => outcome.was_replay).sort()).toEqual([false, true, true]);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ result: 1, attempt: 2 });
  });

  it("that was taken over is told so by renew and by complete, with the record as it is", async () => {
    const { worker, advance } = await openScene();
    const { calls: a, network } = worker("A");
    const claim = claimed(await a.claim(request));
    network.down = true;
    await advance(31);
    expect(claim.isValid()).toBe(false);
    expect(claim.signal.aborted).toBe(true);
    const taken = claimed(await worker("B").calls.claim(request));
    expect(taken.attempt).toBe(2);
    expect(taken.fencingToken).toBeGreaterThan(claim.fencingToken);
    network.down = false;
    await expect(claim.renew()).rejects.toThrow(ClaimLostError);
    await expect(claim.complete("late")).rejects.toMatchObject({ current: { owner: "B", status: "pending" } });
    await taken.complete("in time");
    expect(await a.wait(request)).toMatchObject({ result: "in time" });
  });

  it("is forgotten only when nobody can be working under it", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    await calls.claim(request);
    await expect(calls.forget(request)).rejects.toMatchObject({ code: "call_in_flight", retryAfter: 30 });
    network.down = true;
    await advance(30);
    network.down = false;
    await settled();
    expect(await calls.forget(request)).toBe(true);
    expect(await calls.forget(request)).toBe(false);
    expect(claimed(await calls.claim(request)).attempt).toBe(1);
  });
});
