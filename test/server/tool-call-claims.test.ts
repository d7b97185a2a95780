import { expect, test } from "vitest";
import { bodyOf, callOf, pathOf, startCallServer } from "./calls.js";
import { until } from "./gate.js";
import { problemOf, sharedServer } from "./test-server.js";

const shared = sharedServer();

const mail = { tool: "send_email", args: { order: 12345 }, key: "order-12345" };

test("a call is claimed, completed and replayed", async () => {
  const { claim, say } = await startCallServer();
  const claimed = await claim({ ...mail, pending_ttl: 60, owner: "worker-1" });
  expect(claimed.status).toBe(200);
  expect(claimed.json).toEqual({
    claimed: true,
    claim_id: expect.any(String),
    key: "send_email:order-12345",
    attempt: 1,
    fencing_token: 1,
    hold: 60,
    valid_for: 60,
    headers: { "Idempotency-Key": "send_email:order-12345" },
    history: [],
  });

  const done = await say("complete", bodyOf(claimed), { result: { message: "m-1" } });
  const outcome = {
    result: { message: "m-1" },
    original_called_at: "2026-01-01T00:00:00.000Z",
    key: "send_email:order-12345",
    attempt: 1,
    fencing_token: 1,
    persisted: true,
  };
  expect([done.status, done.json]).toEqual([200, { ...outcome, was_replay: false }]);
  expect((await claim(mail)).json).toEqual({ claimed: false, ...outcome, was_replay: true });
});

test.each([null, 0, "", false, [], {}])("the result %j comes back as it went in", async (result) => {
  const { claim, say } = await startCallServer();
  await say("complete", bodyOf(await claim(mail)), { result });
  expect(bodyOf(await claim(mail))["result"]).toEqual(result);
});

test("a call may be completed without a result", async () => {
  const { claim, say } = await startCallServer();
  await say("complete", bodyOf(await claim(mail)));
  const replay = await claim(mail);
  expect(replay.json).toMatchObject({ claimed: false, was_replay: true });
  expect(bodyOf(replay)).not.toHaveProperty("result");
});

test("of two clients who race one gets the claim, and the other waits for its result", async () => {
  const { claim, say, store } = await startCallServer();
  const racers = [claim({ ...mail, owner: "a" }), claim({ ...mail, owner: "b" })];
  const first = await Promise.race(racers);
  expect(first.json).toMatchObject({ claimed: true });
  await until(() => store.stats().waiters === 1);
  await say("complete", bodyOf(first), { result: "sent" });
  const answers = (await Promise.all(racers)).map(({ json }) => json);
  expect(answers.filter((answer) => (answer as { claimed: boolean }).claimed)).toHaveLength(1);
  expect(answers).toContainEqual(expect.objectContaining({ claimed: false, result: "sent", was_replay: true }));
});

test("who does not wait is told that the call is in flight, and when it lapses", async () => {
  const { claim, clock } = await startCallServer();
  await claim({ ...mail, pending_ttl: 60, owner: "worker-1" });
  clock.advance(20_500);
  const refused = await claim({ ...mail, wait: 0 });
  expect(problemOf(refused)).toEqual({ status: 409, code: "call_in_flight" });
  expect(refused.headers["retry-after"]).toBe("40");
  expect(bodyOf(refused)).toMatchObject({ retryable: true, retry_after: 39.5 });
  expect(callOf(refused)).toEqual({
    key: "send_email:order-12345",
    tool: "send_email",
    call_status: "pending",
    attempt: 1,
    owner: "worker-1",
  });
});

test("who waits claims for itself when the other's claim is released, or lapses; its validity counts from its sending", async () => {
  const { claim, say, clock, store } = await startCallServer();
  const first = await claim({ ...mail, pending_ttl: 10 });
  const second = claim({ ...mail, pending_ttl: 10, wait: 60 });
  await until(() => store.stats().waiters === 1);
  await say("release", bodyOf(first), { error: "connection refused" });
  expect((await second).json).toMatchObject({ claimed: true, attempt: 2 });

  const third = claim({ ...mail, pending_ttl: 20, wait: 60 });
  await until(() => store.stats().waiters === 1);
  clock.advance(10_000);
  expect((await third).json).toMatchObject({ claimed: true, attempt: 3, hold: 20, valid_for: 30 });
});

test("other arguments under the same key are a conflict in every state", async () => {
  const { claim, say } = await startCallServer();
  const other = { ...mail, args: { order: 1 } };
  const held = bodyOf(await claim(mail));
  const conflict = await claim(other);
  expect(problemOf(conflict)).toEqual({ status: 422, code: "idempotency_conflict" });
  expect(callOf(conflict)).toMatchObject({ key: "send_email:order-12345", call_status: "pending" });
  expect(callOf(conflict)["bound_fingerprint"]).not.toBe(callOf(conflict)["given_fingerprint"]);
  await say("release", held);
  expect((await claim(other)).status).toBe(422);
});

test("a failure is answered with the same failure until its time is over", async () => {
  const { claim, say, clock } = await startCallServer();
  const held = bodyOf(await claim({ ...mail, failed_ttl: 30 }));
  const error = { name: "CardError", message: "card refused", code: "refused", status: 402 };
  const failed = await say("fail", held, { error });
  expect([failed.status, failed.json]).toEqual([200, { key: held["key"], status: "failed", attempt: 1 }]);
  const replay = await claim(mail);
  expect(problemOf(replay)).toEqual({ status: 424, code: "tool_call_failed" });
  expect(callOf(replay)).toMatchObject({ was_replay: true, attempt: 1, error });
  clock.advance(30_000);
  expect((await claim(mail)).json).toMatchObject({ claimed: true, attempt: 2 });
});

test("the times that a claim was given are those of its outcome, whoever takes the request that settles it", async () => {
  const { claim, say, request } = await startCallServer();
  const expiryOf = async (key: unknown) =>
    (bodyOf(await request("GET", pathOf(String(key)))) as { expires_at: string }).expires_at;
  const held = bodyOf(await claim({ ...mail, pending_ttl: 10, completed_ttl: 86_400 }));
  expect(await expiryOf(held["key"])).toBe("2026-01-02T00:00:10.000Z");
  await say("complete", held);
  expect(await expiryOf(held["key"])).toBe("2026-01-02T00:00:00.000Z");
});

test("keys with any characters are reached percent-encoded", async () => {
  const { claim, say, request } = await startCallServer();
  const held = bodyOf(await claim({ tool: "a/b:c", args: {}, scope: "turn/1 %", key: "\u00fc ? # / :" }));
  await say("complete", held, { result: 1 });
  const outcome = await request("GET", `${pathOf(String(held["key"]))}/outcome`);
  expect(outcome.json).toMatchObject({ result: 1, was_replay: true, key: held["key"] });
});

test("a call that was written down is claimed by its key, and again only by its arguments", async () => {
  const { claim, request, record } = await startCallServer();
  const prepared = await request("POST", "/v1/tool-calls/prepare", { body: { ...mail, extra: { job: 7 } } });
  expect([prepared.status, prepared.json]).toEqual([200, { key: "send_email:order-12345" }]);
  expect((await request("POST", "/v1/tool-calls/prepare", { body: mail })).json).toEqual(prepared.json);
  expect(await record("send_email:order-12345")).toMatchObject({ status: "planned", attempt: 0, extra: { job: 7 } });
  expect((await claim({ ...mail, key: "send_email:order-12345" })).json).toMatchObject({ claimed: true, attempt: 1 });
  const other = await request("POST", "/v1/tool-calls/prepare", { body: { ...mail, args: 1 } });
  expect(problemOf(other)).toEqual({ status: 422, code: "idempotency_conflict" });
});

test.each([
  [{ args: {} }, "tool"],
  [{ tool: "t" }, "args"],
  [{ tool: "", args: {} }, "tool"],
  [{ tool: "t", args: {}, pendingTtl: 1 }, "pendingTtl"],
  [{ tool: "t", args: {}, pending_ttl: "60" }, "pending_ttl"],
  [{ tool: "t", args: {}, pending_ttl: 0 }, "pending_ttl"],
  [{ tool: "t", args: {}, pending_ttl: 7200 }, "completed_ttl"],
  [{ tool: "t", args: {}, completed_ttl: 10, pending_ttl: 5, failed_ttl: 5, wait: 20 }, "completed_ttl"],
  [{ tool: "t", args: {}, wait: -1 }, "wait"],
  [{ tool: "t", args: {}, wait: 301 }, "wait"],
  [{ tool: "t", args: {}, wait: true }, "wait"],
  [{ tool: "t", args: {}, policy: "again" }, "policy"],
  [{ tool: "t", args: {}, marks: 1 }, "marks"],
  [{ tool: "t", args: {}, extra: [] }, "extra"],
  [{ tool: "t", args: {}, owner: "" }, "owner"],
  [{ tool: "t", args: {}, owner: "o".repeat(257) }, "owner"],
  [{ tool: "t", args: {}, claim_id: "" }, "claim_id"],
  [{ tool: "t", args: {}, claim_id: "c".repeat(256) }, "claim_id"],
  [{ tool: "t", args: {}, key: "" }, "key"],
  [{ tool: "t", args: { n: 2 ** 60 } }, "args.n"],
])("the claim %j is refused, and the fault is named as the request names it", async (body, path) => {
  const { request, store } = shared();
  const refused = await request("POST", "/v1/tool-calls/claim", { body });
  expect(problemOf(refused)).toEqual({ status: 400, code: "invalid_request", path });
  expect(refused.text).not.toMatch(/Ttl is|waitTimeout/);
  expect(store.revision).toBe(0);
});

test("who gives no time to wait waits no longer than outcomes are kept", async () => {
  const { claim } = await startCallServer();
  const body = { ...mail, pending_ttl: 5, failed_ttl: 5, completed_ttl: 10 };
  expect((await claim(body)).json).toMatchObject({ claimed: true, hold: 5 });
});
