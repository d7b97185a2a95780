import { expect, test } from "vitest";
import { bodyOf, callOf, pathOf, startCallServer } from "./calls.js";
import { problemOf, sharedServer } from "./test-server.js";

const mail = { tool: "send_email", args: { order: 1 }, key: "order-1", pending_ttl: 60 };
const shared = sharedServer();

test("a holder renews, and keeps its token while the record's revision moves", async () => {
  const { claim, say, clock, record, store } = await startCallServer();
  await store.put({ shape: "other", id: "a", set: {} });
  const held = bodyOf(await claim(mail));
  for (let renewal = 1; renewal <= 3; renewal++) {
    clock.advance(40_000);
    expect((await say("renew", held)).json).toEqual({
      claim_id: held["claim_id"],
      key: held["key"],
      attempt: 1,
      fencing_token: 2,
      hold: 60,
      valid_for: 60,
    });
  }
  await say("complete", held, { result: 1 });
  expect(await record("send_email:order-1")).toMatchObject({ status: "completed", fencing_token: 2, attempt: 1 });
});

test("a settled record holds nothing of the claim's own terms", async () => {
  const { claim, say, record } = await startCallServer();
  const held = bodyOf(await claim(mail));
  expect(await record("send_email:order-1")).toMatchObject({ terms: { completed_ttl: 3600, failed_ttl: 300 } });
  await say("complete", held);
  expect(await record("send_email:order-1")).not.toHaveProperty("terms");
});

test("a completion that comes after the lapse is accepted while nobody has taken over", async () => {
  const { claim, say, clock } = await startCallServer();
  const held = bodyOf(await claim(mail));
  clock.advance(3_000_000);
  expect((await say("complete", held, { result: "late" })).status).toBe(200);
  expect((await claim(mail)).json).toMatchObject({ claimed: false, result: "late" });
});

test("a late holder changes nothing after a takeover, and is told what stands there", async () => {
  const { claim, say, clock, record } = await startCallServer();
  const late = bodyOf(await claim({ ...mail, owner: "late" }));
  clock.advance(60_000);
  const next = bodyOf(await claim({ ...mail, owner: "next" }));
  expect(next).toMatchObject({ claimed: true, attempt: 2 });
  expect(Number(next["fencing_token"])).toBeGreaterThan(Number(late["fencing_token"]));
  for (const [action, body] of [
    ["renew", {}],
    ["fired", {}],
    ["complete", { result: 1 }],
    ["fail", { error: "x" }],
    ["release", {}],
    ["unknown", { error: "x" }],
    ["park", { reason: "x" }],
  ] as const) {
    const refused = await say(action, late, body);
    expect(problemOf(refused), action).toEqual({ status: 409, code: "claim_lost" });
    expect(callOf(refused), action).toMatchObject({
      key: late["key"],
      current: { status: "pending", owner: "next", attempt: 2 },
    });
  }
  expect(await record("send_email:order-1")).toMatchObject({ status: "pending", owner: "next" });
  expect((await say("complete", next, { result: 2 })).status).toBe(200);
  expect((await say("complete", late, { result: 1 })).status).toBe(409);
  expect(await record("send_email:order-1")).toMatchObject({ status: "completed", result: 2 });
});

test("a claim that was settled in one way is not settled in another", async () => {
  const { claim, say } = await startCallServer();
  const held = bodyOf(await claim(mail));
  await say("release", held);
  for (const [action, body] of [
    ["renew", {}],
    ["complete", { result: 1 }],
    ["fail", { error: "x" }],
  ] as const) {
    const refused = await say(action, held, body);
    expect(callOf(refused), action).toMatchObject({ current: { status: "released" } });
  }
});

test("a claim whose record is gone is lost, and nothing is created", async () => {
  const { say, request } = await startCallServer();
  const refused = await say("complete", { key: "send_email:order-1", claim_id: "c" }, { result: 1 });
  expect(problemOf(refused)).toEqual({ status: 409, code: "claim_lost" });
  expect(callOf(refused)).toEqual({ key: "send_email:order-1", current: null });
  expect((await request("GET", pathOf("send_email:order-1"))).status).toBe(404);
});

test("the claim of a look-up is not for others to settle", async () => {
  const { claim, say, store, record } = await startCallServer();
  const held = bodyOf(await claim(mail));
  await store.patch({ shape: "tool-call", id: "send_email:order-1", merge: { phase: "reconcile" } });
  expect((await say("complete", held, { result: 1 })).status).toBe(409);
  expect(await record("send_email:order-1")).toMatchObject({ status: "pending" });
});

test("the mark is written once, and keeps a lapsed call from being fired again unasked", async () => {
  const { claim, say, clock, record } = await startCallServer();
  const request = { ...mail, marks: true, policy: "review", wait: 0 };
  const held = bodyOf(await claim(request));
  expect((await say("fired", held)).json).toMatchObject({ fencing_token: held["fencing_token"], valid_for: 60 });
  clock.advance(1000);
  expect((await say("fired", held)).status).toBe(200);
  expect(await record("send_email:order-1")).toMatchObject({ fired_at: "2026-01-01T00:00:00.000Z" });
  const parked = await say("park", held, { reason: "too late" });
  expect(problemOf(parked)).toEqual({ status: 400, code: "invalid_request" });
  clock.advance(60_000);
  const doubt = await claim(request);
  expect(problemOf(doubt)).toEqual({ status: 409, code: "needs_review" });
  expect(callOf(doubt)).toMatchObject({ key: held["key"], record: { status: "pending", policy: "review" } });
});

test("a lapse before the mark is free under every policy", async () => {
  const { claim, clock } = await startCallServer();
  const request = { ...mail, marks: true, policy: "review", wait: 0 };
  await claim(request);
  clock.advance(60_000);
  expect((await claim(request)).json).toMatchObject({ claimed: true, attempt: 2 });
});

test("an unknown outcome is free under refire, and must be resolved under review", async () => {
  const { claim, say } = await startCallServer();
  const free = bodyOf(await claim({ ...mail, key: "a" }));
  expect((await say("unknown", free, { error: "timeout" })).json).toMatchObject({ status: "released" });
  const asked = bodyOf(await claim({ ...mail, key: "b", policy: "review" }));
  expect((await say("unknown", asked, { error: "timeout" })).json).toMatchObject({ status: "unknown" });
  expect((await claim({ ...mail, key: "b" })).status).toBe(409);
});

test("a parked call is resumed by the next claim, which finds its approval", async () => {
  const { claim, say, request } = await startCallServer();
  const held = bodyOf(await claim(mail));
  const parked = await say("park", held, { reason: { waits_for: "Ann" } });
  expect(parked.json).toEqual({ key: held["key"], status: "parked", attempt: 1 });
  const outcome = await request("GET", `${pathOf(String(held["key"]))}/outcome`);
  expect(problemOf(outcome)).toEqual({ status: 409, code: "call_parked" });
  expect(callOf(outcome)).toMatchObject({ record: { reason: { waits_for: "Ann" } } });
  const { fingerprint } = callOf(outcome)["record"] as { fingerprint: string };
  await say("approve", { key: held["key"] }, { by: "Ann", fingerprint });
  expect((await claim(mail)).json).toMatchObject({ claimed: true, approval: { by: "Ann", fingerprint } });
});

test("a result that is too large is left out, and the call is known to be done", async () => {
  const { claim, say } = await startCallServer();
  const held = bodyOf(await claim(mail));
  const done = await say("complete", held, { result: "x".repeat(1024 * 1024) });
  expect([done.status, bodyOf(done)["result_omitted"]]).toEqual([200, "too_large"]);
  const replay = bodyOf(await claim(mail));
  expect(replay).toMatchObject({ claimed: false, result_omitted: "too_large" });
  expect(replay).not.toHaveProperty("result");
});

test.each([
  ["renew", {}, "claim_id"],
  ["renew", { claim_id: "c", result: 1 }, "result"],
  ["complete", { claim_id: 1 }, "claim_id"],
  ["complete", { claim_id: "c", outcome: 1 }, "outcome"],
  ["fail", { claim_id: "c" }, "error"],
  ["unknown", { claim_id: "c" }, "error"],
  ["park", { claim_id: "c" }, "reason"],
])("%s with %j is refused, naming the fault", async (action, body, path) => {
  const { request } = shared();
  const refused = await request("POST", `/v1/tool-calls/a/${action}`, { body });
  expect(problemOf(refused)).toEqual({ status: 400, code: "invalid_request", path });
});
