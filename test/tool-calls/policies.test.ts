import { describe, expect, it, vi } from "vitest";
import type { LookedUp, ToolCallRecord } from "../../src/tool-calls/index.js";
import { fingerprintOf } from "../../src/tool-calls/keys.js";
import { openScene, outcomeOf, SlowTool, settled } from "./scene.js";

const request = { tool: "charge", args: { amount: 10 }, pendingTtl: 30 };
const review = { ...request, policy: "review" } as const;
const fingerprint = fingerprintOf(request.args);
const ann = { by: "ann", note: "asked the bank" };

describe("under review", () => {
  it("a throw that says nothing closes the call until somebody resolves it, and waiters then get the word", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const tool = new SlowTool();
    await expect(calls.run(review, () => Promise.reject(new Error("timed out")))).rejects.toThrow("timed out");
    expect(await outcomeOf(calls.run(review, tool.run))).toMatchObject({
      code: "needs_review",
      cause: { message: "timed out" },
    });
    const key = calls.keyOf(request);
    const resolved = await calls.resolve(key, { result: { charge: 7 } }, ann);
    expect(resolved).toMatchObject({
      status: "completed",
      history: [{ ...ann, verdict: "done", status: "unknown", fingerprint }],
    });
    expect(await calls.run(review, tool.run)).toMatchObject({ result: { charge: 7 }, was_replay: true });
    expect(tool.fires).toBe(0);
  });

  it("a lapse closes it, too, and not_done lets the next caller fire, with the history before it", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const lost = worker("B");
    const claim = await lost.calls.claim(review);
    if (!claim.claimed) throw new Error("not claimed");
    lost.network.down = true;
    const waiting = outcomeOf(calls.run({ ...review, waitTimeout: 120 }, () => "too early"));
    await advance(31);
    expect(await waiting).toMatchObject({ code: "needs_review" });
    await calls.resolve(request, { not_done: true }, ann);
    const outcome = await calls.run(review, (call) => call.history.map(({ by, verdict }) => `${by}: ${verdict}`));
    expect(outcome).toMatchObject({ result: ["ann: not_done"], attempt: 2, was_replay: false });
    lost.network.down = false;
    await expect(claim.complete("late")).rejects.toMatchObject({
      code: "claim_lost",
      current: { status: "completed" },
    });
  });

  it("a decreed failure is never over", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    await outcomeOf(calls.run({ ...review, failedTtl: 10 }, () => Promise.reject(new Error("timed out"))));
    await calls.resolve(request, { error: new Error("refused by the bank") }, ann);
    await advance(60);
    const tool = new SlowTool();
    expect(await outcomeOf(calls.run({ ...review, failedTtl: 10 }, tool.run))).toMatchObject({
      code: "tool_call_failed",
      cause: { message: "refused by the bank" },
    });
    expect(tool.fires).toBe(0);
  });

  it("nobody resolves what is worked on, what is settled, what is absent, or what has become another call", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const tool = new SlowTool();
    const key = calls.keyOf(request);
    const resolve = (options = {}) => outcomeOf(calls.resolve(key, { not_done: true }, { ...ann, ...options }));
    expect(await resolve()).toMatchObject({ code: "not_found" });
    const running = outcomeOf(calls.run(review, tool.run));
    await settled();
    expect(await resolve()).toMatchObject({ code: "call_in_flight", retryAfter: 30 });
    tool.break(0, new Error("timed out"));
    await running;
    expect(await resolve({ fingerprint: "other" })).toMatchObject({ code: "idempotency_conflict" });
    expect(await resolve({ fingerprint })).toMatchObject({ status: "released" });
    expect(await resolve()).toMatchObject({ code: "nothing_to_resolve", record: { status: "released" } });
    await outcomeOf(calls.run(review, () => Promise.reject(new Error("timed out"))));
    await calls.run({ ...review, key: "done" }, () => 1);
    expect((await calls.list({ inDoubt: true })).calls.map(({ id }) => id)).toEqual([key]);
  });

  it("a resolution must say who decided, and one thing", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const resolve = (known: unknown, options: unknown) =>
      outcomeOf(calls.resolve("k", known as never, options as never));
    expect(await resolve({ result: 1 }, {})).toMatchObject({ code: "invalid_request", path: "by" });
    expect(await resolve({ result: 1 }, { by: "" })).toMatchObject({ code: "invalid_request", path: "by" });
    expect(await resolve({ result: 1 }, { by: "a", why: "b" })).toMatchObject({ code: "invalid_request", path: "why" });
    for (const known of [{}, { result: 1, error: 2 }, { not_done: false }, { unknown: true }, "done", undefined]) {
      expect(await resolve(known, ann)).toMatchObject({ code: "invalid_request" });
    }
  });

  it("the record's policy counts, not the finder's", async () => {
    const { worker, advance } = await openScene();
    const lost = worker("B");
    await lost.calls.claim(review);
    lost.network.down = true;
    await advance(31);
    const tool = new SlowTool();
    const { calls } = worker("A");
    expect(await outcomeOf(calls.run({ ...request, policy: "refire" }, tool.run))).toMatchObject({
      code: "needs_review",
    });
    expect(tool.fires).toBe(0);
  });

  it("refuses a policy that is none, and one that contradicts itself says which counts", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const run = (options: object) => outcomeOf(calls.run({ ...request, ...options } as never, () => 1));
    expect(await run({ policy: "retry" })).toMatchObject({ code: "invalid_request", path: "policy" });
    expect(await run({ marks: 1 })).toMatchObject({ code: "invalid_request", path: "marks" });
    expect(await run({ reconcile: "ask" })).toMatchObject({ code: "invalid_request", path: "reconcile" });
    await run({ policy: "review", reconcile: () => ({ not_done: true }) });
    expect((await calls.get(request))?.fields.policy).toBe("review");
    const closed = worker("B", { policy: "review" }).calls;
    await closed.run({ ...request, key: "own", reconcile: () => ({ not_done: true }) }, () => 1);
    expect((await closed.get("charge:own"))?.fields.policy).toBe("reconcile");
  });
});

describe("under reconcile", () => {
  async function doubtful(looks: ((record: ToolCallRecord) => LookedUp | Promise<LookedUp>)[]) {
    const scene = await openScene();
    const { calls, network } = scene.worker("A");
    const asked: ToolCallRecord[] = [];
    const reconcile = async (record: ToolCallRecord): Promise<LookedUp> => {
      asked.push(record);
      const look = looks[asked.length - 1];
      if (look === undefined) throw new Error("asked too often");
      return look(record);
    };
    const call = { ...request, reconcile };
    await outcomeOf(calls.run(call, () => Promise.reject(new Error("timed out"))));
    return { ...scene, calls, network, asked, call, tool: new SlowTool() };
  }

  it("whoever meets the doubt asks, and replays what was done", async () => {
    const { calls, asked, call, tool } = await doubtful([() => ({ result: "charged" })]);
    expect(await calls.run(call, tool.run)).toMatchObject({ result: "charged", was_replay: true, attempt: 1 });
    expect(asked).toMatchObject([
      { status: "pending", phase: "reconcile", intent: { amount: 10 }, error: { message: "timed out" } },
    ]);
    expect(await calls.run(call, tool.run)).toMatchObject({ result: "charged", was_replay: true });
    expect(tool.fires).toBe(0);
  });

  it("fires when it was not done, and tells a definite failure", async () => {
    const { calls, call } = await doubtful([() => ({ not_done: true })]);
    expect(await calls.run(call, (each) => each.attempt)).toMatchObject({ result: 2, was_replay: false });
    const other = await doubtful([() => ({ error: new Error("refused") })]);
    expect(await outcomeOf(other.calls.run(other.call, other.tool.run))).toMatchObject({
      code: "tool_call_failed",
      cause: { message: "refused" },
    });
  });

  it.each<[string, () => LookedUp]>([
    ["says unknown", () => ({ unknown: true })],
    [
      "throws",
      () => {
        throw new Error("the bank is closed");
      },
    ],
    ["says nothing that can be understood", () => ({ maybe: 1 }) as never],
  ])("asks once a call when the look-up %s, and leaves the doubt", async (_, look) => {
    const { calls, call, asked, tool } = await doubtful([look, () => ({ result: "charged" })]);
    expect(await outcomeOf(calls.run(call, tool.run))).toMatchObject({ code: "needs_review" });
    expect(asked).toHaveLength(1);
    expect((await calls.get(request))?.fields.status).toBe("unknown");
    expect(await calls.run(call, tool.run)).toMatchObject({ result: "charged", was_replay: true });
    expect(tool.fires).toBe(0);
  });

  it("one asks at a time, and the others wait for the answer", async () => {
    let answer: (found: LookedUp) => void = () => {};
    const slow = new Promise<LookedUp>((resolve) => {
      answer = resolve;
    });
    const { calls, call, asked, tool, worker } = await doubtful([() => slow]);
    const first = calls.run(call, tool.run);
    const second = worker("B").calls.run(call, tool.run);
    await settled();
    expect(asked).toHaveLength(1);
    answer({ result: "charged" });
    expect(await first).toMatchObject({ result: "charged", was_replay: true });
    expect(await second).toMatchObject({ result: "charged", was_replay: true });
    expect(tool.fires).toBe(0);
  });

  it("a look-up that hangs ends, and its late answer changes nothing", async () => {
    const { calls, call, advance, tool } = await doubtful([() => new Promise(() => {}), () => ({ result: "charged" })]);
    const hanging = outcomeOf(calls.run({ ...call, maxRunTime: 60, waitTimeout: 600 }, tool.run));
    await advance(100);
    expect(await hanging).toMatchObject({ code: "needs_review" });
    expect(await calls.run(call, tool.run)).toMatchObject({ result: "charged" });
  });

  it("an operator may settle what is being looked up, and the look-up's own answer comes too late", async () => {
    let answer: (found: LookedUp) => void = () => {};
    const slow = new Promise<LookedUp>((resolve) => {
      answer = resolve;
    });
    const { calls, call, tool } = await doubtful([() => slow]);
    const running = calls.run(call, tool.run);
    await settled();
    await calls.resolve(request, { result: "by ann" }, ann);
    answer({ not_done: true });
    expect(await running).toMatchObject({ result: "by ann", was_replay: true });
    expect(tool.fires).toBe(0);
  });
});

describe("a tool that marks", () => {
  const marking = { ...review, marks: true } as const;

  it("writes the mark when it says so, and not before", async () => {
    const { worker, store } = await openScene();
    const { calls, network } = worker("A");
    const firedAt = async (key: string) => (await store.get("tool-call", key))?.["fired_at"];
    const outcome = await calls.run(marking, async (call) => {
      const before = (await firedAt(call.key)) ?? null;
      await Promise.all([call.fired(), call.fired()]);
      return [before, (await firedAt(call.key)) ?? null];
    });
    expect(outcome.result).toEqual([null, "2026-01-01T00:00:00.000Z"]);
    expect(network.sent).toEqual(["pending", "renew", "completed"]);
  });

  it("that dies before its mark is free under review; after it, it is not", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const dead = worker("B");
    const claim = await dead.calls.claim(marking);
    if (!claim.claimed) throw new Error("not claimed");
    dead.network.down = true;
    await advance(31);
    const second = worker("C");
    const marked = await second.calls.claim(marking);
    if (!marked.claimed) throw new Error("not claimed");
    expect(marked.attempt).toBe(2);
    await marked.fired();
    second.network.down = true;
    await advance(31);
    expect(await outcomeOf(calls.run(marking, () => "again"))).toMatchObject({ code: "needs_review" });
  });

  it("is told not to fire when the mark gets no answer, and the call is free again", async () => {
    const { worker } = await openScene();
    const { calls, network } = worker("A");
    network.fault("renew", "reply lost", 3);
    let effects = 0;
    const tool = async (call: { fired(): Promise<void> }) => {
      await call.fired();
      effects += 1;
      return "charged";
    };
    expect(await outcomeOf(calls.run(marking, tool))).toMatchObject({ code: "outcome_unknown" });
    expect(effects).toBe(0);
    expect((await calls.get(request))?.fields.status).toBe("released");
    expect(await calls.run(marking, tool)).toMatchObject({ result: "charged", attempt: 2 });
    expect(effects).toBe(1);
  });

  it("that goes on without its mark and then throws leaves the doubt", async () => {
    const { worker } = await openScene();
    const { calls, network } = worker("A");
    network.fault("renew", "reply lost", 3);
    const heedless = async (call: { fired(): Promise<void> }) => {
      await call.fired().catch(() => {});
      throw new Error("timed out");
    };
    await outcomeOf(calls.run(marking, heedless));
    expect((await calls.get(request))?.fields.status).toBe("unknown");
  });

  it("is free again when it could not be sure of its claim after the mark, but not when it had fired before", async () => {
    const statusAfter = async (announced: number) => {
      const { clock, worker } = await openScene();
      const { calls, network } = worker("A");
      const unsure = calls.run(marking, async (call) => {
        for (let times = 0; times < announced; times++) await call.fired();
        network.fault("renew", "unreachable", 100);
        clock.advance(31_000);
        await call.fired();
      });
      expect(await outcomeOf(unsure)).toBeInstanceOf(Error);
      return (await calls.get(request))?.fields.status;
    };
    expect(await statusAfter(0)).toBe("released");
    expect(await statusAfter(1)).toBe("unknown");
  });

  it("whose claim was taken over does not fire", async () => {
    const { worker, advance } = await openScene();
    const late = worker("B");
    const claim = await late.calls.claim(marking);
    if (!claim.claimed) throw new Error("not claimed");
    late.network.down = true;
    await advance(31);
    expect(await worker("A").calls.run(marking, () => "charged")).toMatchObject({ attempt: 2 });
    late.network.down = false;
    expect(await outcomeOf(claim.fired())).toMatchObject({ code: "claim_lost", current: { status: "completed" } });
  });

  it("that was not declared so has its claim renewed when it does not surely hold", async () => {
    const { worker, clock } = await openScene();
    const { calls, network } = worker("A");
    const claim = await calls.claim(request);
    if (!claim.claimed) throw new Error("not claimed");
    await claim.fired();
    expect(network.sent).toEqual(["pending"]);
    expect(claim.isValid()).toBe(true);
    expect(clock.monotonicNow()).toBe(0);
  });
});

describe("a parked call", () => {
  const guarded = async (call: {
    readonly approval: { readonly by: string } | undefined;
    park(reason: unknown): Promise<never>;
  }) => (call.approval === undefined ? call.park({ needs: "approval" }) : `approved by ${call.approval.by}`);

  it("is neither done nor failed, and goes on when these very arguments were approved", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const parked = await outcomeOf(calls.run(review, guarded));
    expect(parked).toMatchObject({ code: "call_parked", record: { status: "parked", reason: { needs: "approval" } } });
    // Without an approval it is entered again, and parks again.
    expect(await outcomeOf(calls.run(review, guarded))).toMatchObject({ code: "call_parked", record: { attempt: 2 } });
    expect(await outcomeOf(calls.run({ ...review, key: "k" }, guarded))).toMatchObject({ code: "call_parked" });
    expect(await outcomeOf(calls.run({ ...review, args: { amount: 11 }, key: "k" }, guarded))).toMatchObject({
      code: "idempotency_conflict",
    });
    const approve = (options: object) => outcomeOf(calls.approve(request, { ...ann, ...options } as never));
    expect(await approve({})).toMatchObject({ code: "invalid_request", path: "fingerprint" });
    expect(await approve({ fingerprint: "other" })).toMatchObject({ code: "idempotency_conflict" });
    expect(await approve({ fingerprint })).toMatchObject({ status: "released" });
    expect(await calls.run(review, guarded)).toMatchObject({ result: "approved by ann", attempt: 3 });
    expect(await approve({ fingerprint })).toMatchObject({ code: "nothing_to_resolve" });
  });

  it("is not approved by the word that nothing was done", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    await outcomeOf(calls.run(review, guarded));
    await calls.resolve(request, { not_done: true }, ann);
    expect(await outcomeOf(calls.run(review, guarded))).toMatchObject({ code: "call_parked" });
  });

  it("stays with its holder when the reason is too large to be kept beside the arguments", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const outcome = await calls.run(review, async (call) => {
      const refused = await outcomeOf(call.park("x".repeat(20_000)));
      return refused instanceof Error ? refused.message : "parked";
    });
    expect(outcome.result).toContain("16384");
  });

  it("is rejected by resolving it with an error", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    await outcomeOf(calls.run(review, guarded));
    await calls.resolve(request, { error: new Error("no") }, ann);
    expect(await outcomeOf(calls.run(review, guarded))).toMatchObject({ code: "tool_call_failed" });
  });

  it("cannot be parked once it has announced its effect, or settled once it is parked", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const claim = await calls.claim({ ...review, marks: true });
    if (!claim.claimed) throw new Error("not claimed");
    await claim.fired();
    expect(await outcomeOf(claim.park("late"))).toMatchObject({ code: "invalid_request" });
    await claim.complete(1);
    const other = await calls.claim({ ...review, key: "other" });
    if (!other.claimed) throw new Error("not claimed");
    expect(await outcomeOf(other.park("wait"))).toMatchObject({ code: "call_parked" });
    expect(await outcomeOf(other.complete(1))).toMatchObject({ code: "invalid_request" });
    expect(await outcomeOf(other.fired())).toMatchObject({ code: "claim_lost" });
  });

  it("cannot be parked by a tool without marks on a record that asks for them: the mark was set when it was entered", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    await calls.prepare({ ...review, marks: true });
    const outcome = await calls.run(review, async (call) => {
      const refused = await outcomeOf(call.park("late"));
      return refused instanceof Error ? refused.message : "parked";
    });
    expect(outcome.result).toContain("announced its effect");
  });

  it("stays with its holder when the reason cannot be stored", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const outcome = await calls.run(review, async (call) => {
      const refused = await outcomeOf(call.park(new Date(0)));
      return refused instanceof Error ? refused.message : "parked";
    });
    expect(outcome).toMatchObject({ result: expect.stringContaining("reason"), was_replay: false });
  });

  it("is parked also when its tool does not wait for that, and when the reason is none", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const heedless = (call: { park(reason: unknown): Promise<never> }) => {
      void call.park(undefined).catch(() => {});
      return "went on";
    };
    const parked = await outcomeOf(calls.run(review, heedless));
    expect(parked).toMatchObject({ code: "call_parked", record: { reason: null } });
  });
});

describe("whoever holds a claim", () => {
  it("is told by its signal when the calls are closed, so that it does not act after its claim has lapsed", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const tool = new SlowTool();
    const running = outcomeOf(calls.run(request, tool.run));
    await settled();
    await calls.close({ timeout: 0 });
    expect(tool.signals[0]?.aborted).toBe(true);
    await advance(31);
    expect(await worker("B").calls.run(request, () => "by B")).toMatchObject({ result: "by B", attempt: 2 });
    tool.end(0, "late");
    expect(await running).toMatchObject({ code: "claim_lost" });
  });

  it("keeps it though the record fills its document to the last byte, and an operator can resolve that", async () => {
    const { worker, advance, store } = await openScene();
    const { calls } = worker("A");
    let filler = store.limits.fieldsBytesMax - 600;
    const args = () => ({ text: "x".repeat(filler) });
    const claimed = async (): Promise<boolean> => {
      const tried = await outcomeOf(calls.claim({ ...review, args: args(), key: "full" }));
      if (!(tried instanceof Error) && tried.claimed) await tried.release();
      await calls.forget("charge:full");
      return !(tried instanceof Error);
    };
    // As large as the store takes it, to the byte.
    for (let step = 512; step >= 1; step /= 2) {
      filler += step;
      if (!(await claimed())) filler -= step;
    }
    const full = { ...review, args: args(), key: "full" };
    const tool = new SlowTool();
    const running = outcomeOf(calls.run(full, tool.run));
    await advance(100);
    expect(tool.signals[0]?.aborted).toBe(false);
    expect(await outcomeOf(worker("B").calls.run({ ...full, wait: false }, tool.run))).toMatchObject({
      code: "call_in_flight",
    });
    tool.break(0, new Error("timed out"));
    await running;
    expect(await calls.resolve("charge:full", { result: 1 }, ann)).toMatchObject({ status: "completed" });
    expect(tool.fires).toBe(1);
  });

  it("does not keep it beyond its time by asking again and again", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    const claim = await calls.claim({ ...request, maxRunTime: 60 });
    if (!claim.claimed) throw new Error("not claimed");
    await advance(61);
    network.sent.length = 0;
    for (let times = 0; times < 3; times++) {
      expect(await outcomeOf(claim.renew())).toMatchObject({ code: "claim_lost" });
      expect(await outcomeOf(claim.fired())).toMatchObject({ code: "claim_lost" });
    }
    expect(network.sent).toEqual([]);
    await advance(31);
    expect(await worker("B").calls.run(request, () => "by B")).toMatchObject({ attempt: 2 });
  });
});

describe("a call that is written down before it is made", () => {
  it("keeps its key and its arguments, and is claimed by run", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const key = await calls.prepare({ ...review, extra: { turn: 7 } });
    expect(await calls.prepare(review)).toBe(key);
    expect(await calls.get(key)).toMatchObject({
      fields: { status: "planned", attempt: 0, extra: { turn: 7 } },
      expires_at: null,
    });
    expect(await outcomeOf(calls.prepare({ ...review, key, args: { amount: 11 } }))).toMatchObject({
      code: "idempotency_conflict",
    });
    expect(await outcomeOf(calls.wait(key, { timeout: 0 }))).toMatchObject({ code: "call_in_flight" });
    expect(await calls.run({ ...review, key }, (call) => call.attempt)).toMatchObject({ result: 1, key });
    const scoped = await calls.prepare({ ...review, scope: "turn 7" });
    expect(await calls.run({ ...review, key: scoped }, () => 2)).toMatchObject({ key: scoped, attempt: 1 });
    expect(await calls.prepare(review)).toBe(key);
    expect((await calls.get(key))?.fields.status).toBe("completed");
  });

  it("is written down when only the reply was lost, and not when the store is away", async () => {
    const { worker } = await openScene();
    const { calls, network } = worker("A");
    network.fault("planned", "reply lost");
    expect(await calls.prepare(review)).toBe(calls.keyOf(request));
    network.down = true;
    expect(await outcomeOf(calls.prepare({ ...review, key: "x" }))).toMatchObject({ code: "unavailable" });
  });
});

describe("a reconciler", () => {
  it("settles what lapsed or ended in doubt under reconcile, and nothing else, in rounds", async () => {
    const { worker, advance } = await openScene();
    const { calls } = worker("A");
    const reconcile = () => ({ unknown: true }) as const;
    const doubt = (key: string, options: object = {}) =>
      outcomeOf(calls.run({ ...request, key, reconcile, ...options }, () => Promise.reject(new Error("timed out"))));
    await doubt("paid");
    await doubt("not-paid");
    await doubt("unclear");
    await doubt("reviewed", { policy: "review" });
    await doubt("other", { tool: "send_email" });
    const dead = worker("B");
    await dead.calls.claim({ ...request, key: "lapsed", reconcile });
    await dead.calls.claim({ ...request, key: "live", reconcile, pendingTtl: 3600 });
    dead.network.down = true;
    await advance(31);
    const asked: string[] = [];
    const lookup = vi.fn(async (record: ToolCallRecord): Promise<LookedUp> => {
      asked.push(record.key);
      if (record.key.endsWith(":not-paid")) return { not_done: true };
      return record.key.endsWith(":unclear") ? { unknown: true } : { result: "paid" };
    });
    const reconciler = calls.reconciler({ tool: "charge", lookup, interval: 10 });
    expect(lookup).not.toHaveBeenCalled();
    await advance(11);
    expect(asked.sort()).toEqual(["charge:lapsed", "charge:not-paid", "charge:paid", "charge:unclear"]);
    const status = async (key: string) => (await calls.get(`charge:${key}`))?.fields.status;
    expect(await Promise.all(["paid", "not-paid", "unclear", "lapsed", "reviewed", "live"].map(status))).toEqual([
      "completed",
      "released",
      "unknown",
      "completed",
      "unknown",
      "pending",
    ]);
    expect(await reconciler.run()).toEqual({ done: 0, failed: 0, not_done: 0, unknown: 1, skipped: 0 });
    await reconciler.close();
    asked.length = 0;
    await advance(60);
    expect(asked).toEqual([]);
  });

  it("of several processes one asks about a call", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const reconcile = () => ({ unknown: true }) as const;
    for (let n = 0; n < 20; n++) {
      await outcomeOf(calls.run({ ...request, key: `${n}`, reconcile }, () => Promise.reject(new Error("timed out"))));
    }
    const asked: string[] = [];
    const lookup = (record: ToolCallRecord): LookedUp => {
      asked.push(record.key);
      return { result: "paid" };
    };
    const others = ["B", "C", "D"].map((name) => worker(name).calls.reconciler({ lookup }));
    await Promise.all(others.map((each) => each.run()));
    expect(asked).toHaveLength(20);
    expect(new Set(asked).size).toBe(20);
  });

  it("tells what ended a round, and tries again", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    const errors: unknown[] = [];
    const reconciler = calls.reconciler({
      lookup: () => ({ unknown: true }),
      interval: 1,
      onError: (e) => errors.push(e),
    });
    network.down = true;
    await advance(1.5);
    expect(errors).toMatchObject([{ code: "unavailable" }]);
    network.down = false;
    await advance(5);
    expect(errors).toHaveLength(1);
    await reconciler.close();
    expect(() => calls.reconciler({ lookup: 1 as never })).toThrow("lookup");
    expect(() => calls.reconciler({ lookup: () => ({ unknown: true }), interval: 0 })).toThrow("interval");
  });
});

describe("hooks and counts", () => {
  it("tell what happened, and a hook that throws changes nothing", async () => {
    const scene = await openScene();
    const heard: string[] = [];
    const note = (name: string) => (call: { readonly key: string; readonly attempt: number }) => {
      heard.push(`${name} ${call.key.slice(-1)} ${call.attempt}`);
      const fault = new Error("a fault in a trace");
      // An async hook rejects where another one throws; neither must reach the process.
      if (name === "replay") return Promise.reject(fault);
      throw fault;
    };
    const hooks = {
      onFire: note("fire"),
      onReplay: note("replay"),
      onConflict: note("conflict"),
      onLapse: note("lapse"),
    };
    const { calls } = scene.worker("A", { hooks });
    const late = scene.worker("B");
    const lost = await late.calls.claim({ ...request, key: "k" });
    if (!lost.claimed) throw new Error("not claimed");
    late.network.down = true;
    const waiting = calls.run({ ...request, key: "k", waitTimeout: 60 }, () => 1);
    await scene.advance(31);
    await waiting;
    await calls.run({ ...request, key: "k" }, () => 2);
    await outcomeOf(calls.run({ ...request, key: "k", args: { amount: 11 } }, () => 3));
    await outcomeOf(calls.run({ ...review, key: "r" }, () => Promise.reject(new Error("timed out"))));
    await outcomeOf(calls.run({ ...review, key: "r" }, () => 4));
    late.network.down = false;
    await outcomeOf(lost.complete(5));
    expect(heard).toEqual(["lapse k 1", "fire k 2", "replay k 2", "conflict k 2", "fire r 1"]);
    expect(calls.stats()).toEqual({
      fired: 2,
      replayed: 1,
      conflicts: 1,
      waits: 1,
      lapses: 1,
      fenced: 0,
      reviews: 1,
    });
    expect(late.calls.stats()).toMatchObject({ fired: 1, fenced: 1 });
  });
});
