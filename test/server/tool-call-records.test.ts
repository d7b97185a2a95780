import { expect, test } from "vitest";
import { newToken } from "../../server/index.js";
import { toolCalls } from "../../src/tool-calls/index.js";
import { bodyOf, callOf, pathOf, startCallServer } from "./calls.js";
import { until } from "./gate.js";
import { problemOf } from "./test-server.js";

const mail = { tool: "send_email", args: { order: 1 }, key: "order-1", pending_ttl: 60 };
const path = pathOf("send_email:order-1");

test("a record is read, with the end of its lease", async () => {
  const { claim, request } = await startCallServer();
  await claim({ ...mail, owner: "w", extra: { job: 1 } });
  const answer = await request("GET", path);
  expect(answer.json).toMatchObject({
    shape: "tool-call",
    id: "send_email:order-1",
    lease_expires_at: "2026-01-01T00:01:00.000Z",
    fields: { status: "pending", owner: "w", intent: { order: 1 }, extra: { job: 1 } },
  });
  const absent = await request("GET", pathOf("send_email:none"));
  expect(problemOf(absent)).toEqual({ status: 404, code: "not_found" });
});

test("an outcome is waited for, by query or by preference, and nothing is claimed", async () => {
  const { claim, say, request, store, record } = await startCallServer();
  const held = bodyOf(await claim(mail));
  expect(problemOf(await request("GET", `${path}/outcome`)).code).toBe("call_in_flight");
  const waiting = [
    request("GET", `${path}/outcome?wait=30`),
    request("GET", `${path}/outcome`, { headers: { prefer: "wait=30" } }),
  ];
  await until(() => store.stats().waiters === 2);
  expect(await record("send_email:order-1")).toMatchObject({ attempt: 1 });
  await say("complete", held, { result: "sent" });
  const [byQuery, byHeader] = await Promise.all(waiting);
  expect(byQuery?.json).toMatchObject({ result: "sent", was_replay: true });
  expect(byHeader?.json).toEqual(byQuery?.json);
  expect(byHeader?.headers["preference-applied"]).toBe("wait");
});

test("a wait ends with what the record says when its time is over", async () => {
  const { claim, request, store, clock } = await startCallServer();
  await claim(mail);
  const waiting = request("GET", `${path}/outcome?wait=10`);
  await until(() => store.stats().waiters === 1);
  clock.advance(10_000);
  const answer = await waiting;
  expect(problemOf(answer)).toEqual({ status: 409, code: "call_in_flight" });
  expect(answer.headers["retry-after"]).toBe("50");
});

test("waits are refused beyond their bound, and answered when the server drains", async () => {
  const { claim, request, store, app } = await startCallServer({ bounds: { waitsMax: 1 } });
  await claim({ ...mail, wait: 0 });
  const waiting = request("GET", `${path}/outcome?wait=30`);
  await until(() => store.stats().waiters === 1);
  expect(problemOf(await claim(mail))).toEqual({ status: 503, code: "overloaded" });
  const closing = app.close();
  const answer = await waiting;
  expect(problemOf(answer)).toEqual({ status: 503, code: "store_closed" });
  expect(answer.headers["retry-after"]).toBe("1");
  await closing;
});

test.each([
  ["?wait=301", "wait"],
  ["?wait=", "wait"],
  ["?timeout=1", "timeout"],
])("the outcome's query %s is refused", async (query, member) => {
  const { request } = await startCallServer();
  expect(problemOf(await request("GET", `${path}/outcome${query}`))).toEqual({
    status: 400,
    code: "invalid_request",
    path: member,
  });
});

test("records are listed by tool, scope and status, page by page", async () => {
  const { claim, say, request } = await startCallServer();
  for (const [tool, scope, key] of [
    ["a", undefined, "1"],
    ["a", undefined, "2"],
    ["b", "turn", "3"],
  ] as const) {
    const held = bodyOf(await claim({ tool, args: {}, key, ...(scope === undefined ? {} : { scope }) }));
    if (key === "2") await say("complete", held);
  }
  const keysOf = async (query: string): Promise<unknown> => {
    const page = await request("GET", `/v1/tool-calls${query}`);
    return (page.json as { calls: { id: string }[] }).calls.map(({ id }) => id);
  };
  expect(await keysOf("")).toEqual(["a:1", "a:2", "turn/b:3"]);
  expect(await keysOf("?tool=a")).toEqual(["a:1", "a:2"]);
  expect(await keysOf("?scope=turn")).toEqual(["turn/b:3"]);
  expect(await keysOf("?status=completed")).toEqual(["a:2"]);
  const first = await request("GET", "/v1/tool-calls?limit=1");
  expect(first.json).toMatchObject({ next: "a:1", malformed: [] });
  expect(await keysOf("?limit=1&after=a:1")).toEqual(["a:2"]);
  const refused = await request("GET", "/v1/tool-calls?status=done");
  expect(problemOf(refused)).toEqual({ status: 400, code: "invalid_request", path: "status" });
});

test("a call in doubt is resolved with a result, an error, or as not done, and the history says by whom", async () => {
  const { claim, say } = await startCallServer();
  const inDoubt = async (key: string): Promise<string> => {
    const held = bodyOf(await claim({ ...mail, key, policy: "review" }));
    await say("unknown", held, { error: "timeout" });
    return String(held["key"]);
  };
  const done = await say(
    "resolve",
    { key: await inDoubt("a") },
    { result: null, by: "Ann", note: "seen in the outbox" },
  );
  expect(done.json).toMatchObject({
    status: "completed",
    result: null,
    history: [{ by: "Ann", note: "seen in the outbox", verdict: "done", status: "unknown" }],
  });
  const failed = await say("resolve", { key: await inDoubt("b") }, { error: "bounced", by: "Ann" });
  expect(failed.json).toMatchObject({ status: "failed", hold: null, error: { message: "bounced" } });
  const notDone = await say("resolve", { key: await inDoubt("c") }, { not_done: true, by: "Ann" });
  expect(notDone.json).toMatchObject({ status: "released" });
  expect((await claim({ ...mail, key: "c" })).json).toMatchObject({
    claimed: true,
    history: [{ verdict: "not_done" }],
  });

  const again = await say("resolve", { key: "send_email:a" }, { not_done: true, by: "Ben" });
  expect(problemOf(again)).toEqual({ status: 409, code: "nothing_to_resolve" });
  expect(callOf(again)).toMatchObject({ call_status: "completed", record: { history: [{ by: "Ann" }] } });
  const working = await say("resolve", { key: "send_email:c" }, { not_done: true, by: "Ben" });
  expect(problemOf(working)).toEqual({ status: 409, code: "call_in_flight" });
  const other = await say("resolve", { key: await inDoubt("d") }, { not_done: true, by: "Ben", fingerprint: "0" });
  expect(problemOf(other)).toEqual({ status: 422, code: "idempotency_conflict" });
});

test.each([
  ["resolve", { by: "Ann" }, undefined],
  ["resolve", { by: "Ann", result: 1, not_done: true }, undefined],
  ["resolve", { by: "", not_done: true }, "by"],
  ["resolve", { not_done: true }, "by"],
  ["resolve", { by: "Ann", not_done: false }, "not_done"],
  ["approve", { by: "Ann" }, "fingerprint"],
])("%s with %j is refused", async (action, body, member) => {
  const { claim, say } = await startCallServer();
  const held = bodyOf(await claim({ ...mail, policy: "review" }));
  await say("unknown", held, { error: "timeout" });
  const refused = await say(action, { key: held["key"] }, body);
  expect(problemOf(refused)).toEqual({
    status: 400,
    code: "invalid_request",
    ...(member === undefined ? {} : { path: member }),
  });
});

test("an approval is of those arguments, and of a parked call only", async () => {
  const { claim, say, record } = await startCallServer();
  const held = bodyOf(await claim(mail));
  const { fingerprint } = await record("send_email:order-1");
  const decision = { by: "Ann", fingerprint };
  expect(problemOf(await say("approve", { key: held["key"] }, decision)).code).toBe("nothing_to_resolve");
  await say("park", held, { reason: "approval" });
  const wrong = await say("approve", { key: held["key"] }, { by: "Ann", fingerprint: "0" });
  expect(problemOf(wrong).status).toBe(422);
  expect((await say("approve", { key: held["key"] }, decision)).json).toMatchObject({ status: "released" });
});

test("a call is forgotten once nobody works on it, and a body that says more is refused", async () => {
  const { claim, say, request } = await startCallServer();
  const held = bodyOf(await claim(mail));
  expect(problemOf(await request("DELETE", path)).code).toBe("call_in_flight");
  await say("complete", held);
  const refused = await request("DELETE", path, { body: { if_match: { revision: 1 } } });
  expect(problemOf(refused)).toEqual({ status: 400, code: "invalid_request", path: "if_match" });
  expect((await request("DELETE", path, { headers: { "if-match": '"1"' } })).status).toBe(400);
  expect((await request("DELETE", path)).json).toEqual({ forgotten: true });
  expect((await request("DELETE", path)).json).toEqual({ forgotten: false });
  expect((await claim({ ...mail, args: 2 })).json).toMatchObject({ claimed: true, attempt: 1 });
});

test("workers with a store of their own and callers over HTTP share their calls", async () => {
  const { claim, say, store, clock } = await startCallServer();
  const calls = toolCalls(store, { clock });
  const held = bodyOf(await claim(mail));
  const waiting = calls.run(mailInTypeScript, () => "fired here");
  await say("complete", held, { result: "fired elsewhere" });
  expect(await waiting).toMatchObject({ result: "fired elsewhere", was_replay: true, attempt: 1 });

  const other = { ...mailInTypeScript, key: "order-2" };
  const here = await calls.claim(other);
  if (!here.claimed) throw new Error("nobody else has it");
  expect(problemOf(await claim({ ...mail, key: "order-2", wait: 0 })).code).toBe("call_in_flight");
  await here.complete(7);
  expect((await claim({ ...mail, key: "order-2" })).json).toMatchObject({ claimed: false, result: 7 });
  await calls.close();
});

const mailInTypeScript = { tool: "send_email", args: { order: 1 }, key: "order-1" };

test("something else under the key fires nothing", async () => {
  const { claim, store } = await startCallServer();
  await store.put({ shape: "tool-call", id: "send_email:order-1", set: { mine: true } });
  expect(problemOf(await claim(mail))).toEqual({ status: 500, code: "record_malformed" });
});

test("tokens must cover the shape of the records, and who may only write is shown no record", async () => {
  const scopes = {
    worker: { read: ["tool-call"], write: ["tool-call"] },
    reader: { read: ["tool-call"], write: [] },
    writer: { read: [], write: ["tool-call"] },
    other: { read: ["note"], write: ["note"] },
  };
  const entries = Object.entries(scopes).map(([name, scope]) => ({ name, ...newToken(name, scope) }));
  const as = Object.fromEntries(entries.map(({ name, token }) => [name, { authorization: `Bearer ${token}` }]));
  const { claim, request } = await startCallServer({ tokens: entries.map(({ entry }) => entry) });
  const headersOf = (name: string) => as[name] ?? {};
  const held = bodyOf(await claim(mail, headersOf("worker")));
  expect(held).toMatchObject({ claimed: true });
  expect((await request("GET", path, { headers: headersOf("reader") })).json).toMatchObject({
    fields: { owner: "worker" },
  });

  for (const [method, address, body] of [
    ["POST", "/v1/tool-calls/claim", mail],
    ["POST", "/v1/tool-calls/prepare", { tool: "t", args: 1 }],
    ["POST", `${path}/renew`, { claim_id: "c" }],
    ["POST", `${path}/complete`, { claim_id: "c" }],
    ["POST", `${path}/resolve`, { by: "x", not_done: true }],
    ["POST", `${path}/approve`, { by: "x", fingerprint: "f" }],
    ["DELETE", path, undefined],
    ["GET", path, undefined],
    ["GET", `${path}/outcome`, undefined],
    ["GET", "/v1/tool-calls", undefined],
  ] as const) {
    const send = (headers: Record<string, string>) =>
      request(method, address, { headers, ...(body === undefined ? {} : { body }) });
    expect(problemOf(await send({})).status, `${method} ${address}`).toBe(401);
    expect(problemOf(await send(headersOf("other"))).status, `${method} ${address}`).toBe(403);
    if (method !== "GET") expect(problemOf(await send(headersOf("reader"))).status, address).toBe(403);
    else expect(problemOf(await send(headersOf("writer"))).status, address).toBe(403);
  }
  const lost = await request("POST", `${path}/renew`, { headers: headersOf("writer"), body: { claim_id: "c" } });
  expect(problemOf(lost)).toEqual({ status: 409, code: "claim_lost" });
  expect(callOf(lost)).toEqual({ key: "send_email:order-1", current_omitted: true });
  expect(lost.text).not.toContain("worker");
});
