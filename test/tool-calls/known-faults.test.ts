import { describe, expect, it } from "vitest";
import type { Fields } from "../../src/documents/contract.js";
import { openStore } from "../../src/level/index.js";
import { type Claim, toolCalls } from "../../src/tool-calls/index.js";
import { fingerprintOf } from "../../src/tool-calls/keys.js";
import { temporaryFolder } from "../store/temporary-folder.js";
import { openScene, outcomeOf, SlowTool, settled, type Worker } from "./scene.js";

/* Faults that layers like this one are known for, and that tests of its single parts do not show. */

const request = { tool: "charge", args: { amount: 10 }, key: "order-7", pendingTtl: 30 };
const key = "charge:order-7";
const fingerprint = fingerprintOf(request.args);
const ann = { by: "ann", note: "asked the bank" };

async function claimedBy({ calls }: Worker, options: object = {}): Promise<Claim<unknown>> {
  const claim = await calls.claim({ ...request, ...options });
  if (!claim.claimed) throw new Error("not claimed");
  return claim;
}

describe("what a claim wrote down", () => {
  const ends: readonly [string, string, (claim: Claim<unknown>) => Promise<unknown>][] = [
    ["completed", "completed", (claim) => claim.complete("charged")],
    ["failed", "failed", (claim) => claim.fail(new Error("refused"))],
    ["released", "released", (claim) => claim.release()],
    ["in doubt", "unknown", (claim) => claim.unknown(new Error("timed out"))],
    ["parked", "parked", (claim) => outcomeOf(claim.park("approval"))],
  ];

  it.each(ends)(
    "is still there when the call is %s: the same retry is known, and another one is not",
    async (_, status, end) => {
      const { worker } = await openScene();
      const a = worker("A");
      const options = { policy: "review", marks: true, extra: { turn: 7 } } as const;
      await outcomeOf(a.calls.run({ ...request, ...options }, (call) => call.park("approval")));
      await a.calls.approve(key, { ...ann, fingerprint });
      const claim = await claimedBy(a, options);
      const before = (await a.calls.get(key))?.fields;
      await end(claim);
      const after = (await a.calls.get(key))?.fields;
      const { tool, intent, policy, marks, attempt, history, extra, window, started_at, owner, claim_id } =
        before ?? {};
      expect(after).toMatchObject({
        ...{
          tool,
          key,
          fingerprint,
          intent,
          policy,
          marks,
          attempt,
          history,
          extra,
          window,
          started_at,
          owner,
          claim_id,
        },
        status,
      });
      expect([policy, marks, attempt, extra, history?.length]).toEqual(["review", true, 2, { turn: 7 }, 1]);
      const other = await outcomeOf(worker("B").calls.run({ ...request, args: { amount: 11 } }, () => "again"));
      expect(other).toMatchObject({ code: "idempotency_conflict" });
    },
  );

  it("is forgotten when the last write said so, and no write leaves a record to live for ever by accident", async () => {
    const { worker, advance } = await openScene();
    const a = worker("A");
    const times = { completedTtl: 100, failedTtl: 100, marks: true };
    const expiry = async () => (await a.calls.get(key))?.expires_at;
    const claim = await claimedBy(a, times);
    const claimed = "2026-01-01T00:02:10.000Z";
    expect(await expiry()).toBe(claimed);
    await advance(5);
    await claim.fired();
    expect(await expiry()).toBe(claimed);
    await claim.renew();
    expect(await expiry()).toBe("2026-01-01T00:02:15.000Z");
    await claim.complete("charged");
    expect(await expiry()).toBe("2026-01-01T00:01:45.000Z");
    await a.calls.run({ ...request, ...times }, () => "again");
    expect(await expiry()).toBe("2026-01-01T00:01:45.000Z");
    await advance(100);
    expect(await a.calls.get(key)).toBeUndefined();
  });
});

describe("a takeover", () => {
  it("that was decided before the holder completed overwrites nothing: it reads again, and replays", async () => {
    const { worker, advance } = await openScene();
    const a = worker("A");
    const b = worker("B");
    const claim = await claimedBy(a);
    const tool = new SlowTool();
    const taking = b.calls.run({ ...request, waitTimeout: 60 }, tool.run);
    await settled();
    a.network.down = true;
    b.network.fault("pending", "held");
    await advance(31);
    a.network.down = false;
    expect(await claim.complete("charged by A")).toMatchObject({ persisted: true });
    b.network.deliver();
    expect(await taking).toMatchObject({ result: "charged by A", was_replay: true, attempt: 1 });
    expect(tool.fires).toBe(0);
  });

  it("is tried by all that saw the same lapse, and by each with the revision that it saw", async () => {
    const { worker, advance } = await openScene();
    const a = worker("A");
    await claimedBy(a);
    a.network.down = true;
    const others = ["B", "C"].map((name) => worker(name));
    let fires = 0;
    const running = others.map(({ calls }) => calls.run({ ...request, waitTimeout: 60 }, () => ++fires));
    await settled();
    for (const { network } of others) network.fault("pending", "held");
    await advance(31);
    for (const { network } of others) expect(network.sent).toEqual(["pending", "wait", "pending"]);
    for (const { network } of others) network.deliver();
    const outcomes = await Promise.all(running);
    expect(outcomes.map((outcome) => outcome.was_replay).sort()).toEqual([false, true]);
    expect(fires).toBe(1);
  });
});

describe("a call in flight", () => {
  it("is asked for anew each time: what a process was told a moment ago is not what it says now", async () => {
    const { worker } = await openScene();
    const a = worker("A");
    const b = worker("B");
    const ask = () => outcomeOf(b.calls.run({ ...request, wait: false }, () => "charged by B"));
    const first = await claimedBy(a);
    expect(await ask()).toMatchObject({ code: "call_in_flight" });
    await first.release();
    const second = await claimedBy(a);
    expect(await ask()).toMatchObject({ code: "call_in_flight", attempt: 2 });
    await second.complete("charged by A");
    expect(await ask()).toMatchObject({ result: "charged by A", was_replay: true });
    // The holder's own process does not answer from memory either.
    await b.calls.forget(key);
    expect(await a.calls.run(request, () => "anew")).toMatchObject({ result: "anew", was_replay: false });
  });

  it("is refused under a code of its own, with the time that is left since the last renewal", async () => {
    const { worker, clock } = await openScene();
    const b = worker("B").calls;
    const ask = () => outcomeOf(b.run({ ...request, wait: false }, () => "again"));
    const claim = await claimedBy(worker("A"));
    clock.advance(9_000);
    expect(await ask()).toMatchObject({ code: "call_in_flight", status: 409, retryable: true, retryAfter: 21 });
    await claim.renew();
    clock.advance(4_000);
    expect(await ask()).toMatchObject({ retryAfter: 26 });
    // A record that waits for a person is no call in flight: nobody is told to come again.
    await b
      .run({ ...request, key: "other", policy: "review" }, () => Promise.reject(new Error("timed out")))
      .catch(() => {});
    const closed = await outcomeOf(b.run({ ...request, key: "other", wait: false }, () => "again"));
    expect(closed).toMatchObject({ code: "needs_review", status: 409, retryable: false });
    expect(closed).not.toHaveProperty("retryAfter", expect.any(Number));
  });

  it("is not asked about, taken over or resolved beside its own tool, by a reconciler of the very process", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const tool = new SlowTool();
    const asked: string[] = [];
    const reconcile = (record: { readonly key: string }) => {
      asked.push(record.key);
      return { not_done: true } as const;
    };
    const running = calls.run({ ...request, reconcile }, tool.run);
    await settled();
    const reconciler = calls.reconciler({ lookup: reconcile, interval: 5 });
    await advance(120);
    expect(await reconciler.run()).toEqual({ done: 0, failed: 0, not_done: 0, unknown: 0, skipped: 0 });
    expect(await outcomeOf(calls.run({ ...request, reconcile, wait: false }, tool.run))).toMatchObject({
      code: "call_in_flight",
    });
    tool.end(0, "charged");
    expect(await running).toMatchObject({ result: "charged", was_replay: false, attempt: 1 });
    expect([asked, tool.fires]).toEqual([[], 1]);
  });
});

describe("a failure", () => {
  it("is the same for another process, after a restart too, and is tried again by another one when its time is over", async () => {
    const { clock, advance } = await openScene();
    const dataDir = await temporaryFolder();
    const refused = Object.assign(new Error("card refused"), { code: "card_declined", status: 402 });
    async function inProcess<T>(name: string, work: (calls: ReturnType<typeof toolCalls>) => Promise<T>): Promise<T> {
      const store = await openStore({ dataDir, clock });
      const calls = toolCalls(store, { clock, owner: name, failedTtl: 60 });
      try {
        return await work(calls);
      } finally {
        await calls.close();
        await store.close();
      }
    }
    const tool = new SlowTool();
    await inProcess("A", (calls) => outcomeOf(calls.run(request, () => Promise.reject(refused))));
    await advance(20);
    const replayed = await inProcess("B", (calls) => outcomeOf(calls.run(request, tool.run)));
    expect(replayed).toMatchObject({
      code: "tool_call_failed",
      was_replay: true,
      retryAfter: 40,
      cause: { message: "card refused", code: "card_declined", status: 402 },
    });
    expect(tool.fires).toBe(0);
    await advance(40);
    const other = { ...request, args: { amount: 11 } };
    expect(await inProcess("C", (calls) => outcomeOf(calls.run(other, tool.run)))).toMatchObject({
      code: "idempotency_conflict",
    });
    const again = await inProcess("D", (calls) => calls.run(request, (call) => `attempt ${call.attempt}`));
    expect(again).toMatchObject({ result: "attempt 2", was_replay: false });
    expect(await inProcess("E", (calls) => calls.run(request, tool.run))).toEqual({ ...again, was_replay: true });
  });
});

describe("an approver's no", () => {
  it("is the end: no approval, no policy and no other process makes the call go on, and no time but its window's", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A", { failedTtl: 1 });
    const tool = new SlowTool();
    await outcomeOf(calls.run({ ...request, policy: "review" }, (call) => call.park("approval")));
    await calls.resolve(key, { error: new Error("denied by ann") }, { ...ann, fingerprint });
    for (const change of [
      calls.approve(key, { by: "bob", fingerprint }),
      calls.resolve(key, { not_done: true }, { by: "bob" }),
      calls.resolve(key, { result: "charged" }, { by: "bob" }),
    ]) {
      expect(await outcomeOf(change)).toMatchObject({ code: "nothing_to_resolve", record: { status: "failed" } });
    }
    await advance(3500);
    for (const name of ["A2", "B"]) {
      const options = { policy: "refire", failedTtl: 1 } as const;
      const refused = await outcomeOf(worker(name).calls.run({ ...request, ...options }, tool.run));
      expect(refused).toMatchObject({ code: "tool_call_failed", cause: { message: "denied by ann" } });
      expect(refused).not.toHaveProperty("retryAfter", expect.any(Number));
    }
    expect(tool.fires).toBe(0);
  });

  it("comes too late for a call that is done, and so does a yes", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const done = await calls.run(request, () => "charged");
    for (const change of [
      calls.approve(key, { ...ann, fingerprint }),
      calls.resolve(key, { error: new Error("denied") }, ann),
    ]) {
      expect(await outcomeOf(change)).toMatchObject({ code: "nothing_to_resolve", record: { status: "completed" } });
    }
    expect(await calls.run(request, () => "again")).toEqual({ ...done, was_replay: true });
  });
});

describe("a replay", () => {
  it("is what the call came to, flagged and dated, also when its subject has changed since", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const orders = new Map<number, Fields>();
    const create = { tool: "create_order", args: { item: "tea" }, scope: "turn-1" };
    const order = () => {
      orders.set(7, { order: 7, state: "open" });
      return orders.get(7);
    };
    const first = await calls.run(create, order);
    await calls.run({ tool: "cancel_order", args: { order: 7 }, scope: "turn-1" }, () => {
      orders.set(7, { order: 7, state: "cancelled" });
    });
    await advance(60);
    expect(await calls.run(create, order)).toEqual({
      ...first,
      result: { order: 7, state: "open" },
      was_replay: true,
      original_called_at: "2026-01-01T00:00:00.000Z",
    });
    // To look at it is another call, and fresh.
    expect(orders.get(7)).toEqual({ order: 7, state: "cancelled" });
  });
});
