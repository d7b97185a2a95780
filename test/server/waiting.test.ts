import { expect, test } from "vitest";
import type { EmbeddedStore } from "../../src/level/index.js";
import { until } from "./gate.js";
import { oneConnection } from "./http.js";
import { documentOf, problemOf, sharedServer, startServer } from "./test-server.js";

const note = "/v1/documents/note/n-1";
const shared = sharedServer();

/** Lets requests that are on their way arrive: the store then has so many callers that wait. */
async function untilWaiting(store: EmbeddedStore, count = 1): Promise<void> {
  await until(() => store.stats().waiters === count);
}

test("a wait is answered at the next change, with the document and its ETag", async () => {
  const { request, store } = await startServer();
  await store.put({ shape: "note", id: "n-1", set: { n: 1 } });
  const waiting = request("GET", note, { headers: { "if-none-match": '"1"', prefer: "wait=30" } });
  await untilWaiting(store);
  await store.put({ shape: "note", id: "other", set: {} });
  await store.put({ shape: "note", id: "n-1", set: { n: 2 } });
  const answer = await waiting;
  expect([answer.status, answer.headers.etag, answer.headers["preference-applied"]]).toEqual([200, '"3"', "wait"]);
  expect(documentOf(answer).fields).toEqual({ n: 2 });
});

test("a wait is answered at once when the document already differs from what the reader knows", async () => {
  const { request, store } = await startServer();
  const headers = { "if-none-match": '"7"', prefer: "wait=30" };
  const absent = await request("GET", note, { headers });
  expect(problemOf(absent)).toEqual({ status: 404, code: "not_found" });
  expect(absent.headers["preference-applied"]).toBe("wait");
  await store.put({ shape: "note", id: "n-1", set: {} });
  expect((await request("GET", note, { headers })).status).toBe(200);
});

test("a wait for an absent document is answered when it is created", async () => {
  const { request, store } = await startServer();
  const waiting = request("GET", note, { headers: { "if-none-match": '"0"', prefer: "wait=30" } });
  await untilWaiting(store);
  await store.put({ shape: "note", id: "n-1", set: {} });
  expect((await waiting).status).toBe(200);
});

test("a wait is answered with 404 when the document is deleted, and at the instant it expires", async () => {
  const { request, store, clock } = await startServer();
  await store.put({ shape: "note", id: "n-1", set: {} });
  const deleted = request("GET", note, { headers: { "if-none-match": '"1"', prefer: "wait=30" } });
  await untilWaiting(store);
  await store.delete({ shape: "note", id: "n-1" });
  expect((await deleted).status).toBe(404);

  await store.put({ shape: "note", id: "n-1", set: {}, ttl: 1 });
  const expired = request("GET", note, { headers: { "if-none-match": '"3"', prefer: "wait=30" } });
  await untilWaiting(store);
  clock.advance(1000);
  expect((await expired).status).toBe(404);
});

test.each([
  ["wait=0.25", 250],
  ["wait=300", 300_000],
  ['respond-async, wait="2"; foo, handling=lenient', 2000],
])("Prefer: %s ends the wait after %i ms with 304", async (prefer, ms) => {
  const { request, store, clock } = await startServer();
  await store.put({ shape: "note", id: "n-1", set: {} });
  let answered = false;
  const waiting = request("GET", note, { headers: { "if-none-match": '"1"', prefer } });
  const noted = waiting.then(() => {
    answered = true;
  });
  await untilWaiting(store);
  clock.advance(ms - 1);
  await request("GET", "/healthz");
  expect(answered).toBe(false);
  clock.advance(1);
  const answer = await waiting;
  await noted;
  expect([answer.status, answer.text, answer.headers.etag, answer.headers["preference-applied"]]).toEqual([
    304,
    "",
    '"1"',
    "wait",
  ]);
});

test("a wait without If-None-Match waits from the state at the call on", async () => {
  const { request, store, clock } = await startServer();
  await store.put({ shape: "note", id: "n-1", set: { n: 1 } });
  const changing = request("GET", note, { headers: { prefer: "wait=30" } });
  await untilWaiting(store);
  await store.put({ shape: "note", id: "n-1", set: { n: 2 } });
  expect(documentOf(await changing).fields).toEqual({ n: 2 });

  const quiet = request("GET", note, { headers: { prefer: "wait=30" } });
  await untilWaiting(store);
  clock.advance(30_000);
  const answer = await quiet;
  expect([answer.status, answer.headers.etag]).toEqual([304, '"2"']);
});

test("a wait of no time answers at once", async () => {
  const { request, store } = await startServer();
  await store.put({ shape: "note", id: "n-1", set: {} });
  expect((await request("GET", note, { headers: { "if-none-match": '"1"', prefer: "wait=0" } })).status).toBe(304);
});

test.each([
  ["wait", "Prefer"],
  ["wait=", "Prefer"],
  ["wait=abc", "Prefer"],
  ["wait=-1", "Prefer"],
  ["wait=1e1", "Prefer"],
  ["wait=301", "Prefer"],
])("Prefer: %s is refused, not taken for another time", async (prefer, path) => {
  const { request } = shared();
  const answer = await request("GET", note, { headers: { prefer } });
  expect(problemOf(answer)).toEqual({ status: 400, code: "invalid_request", path });
});

test("preferences that have nothing to do with waiting are passed over", async () => {
  const { request, store } = await startServer();
  await store.put({ shape: "note", id: "n-1", set: {} });
  const answer = await request("GET", note, { headers: { prefer: "return=minimal, respond-async" } });
  expect([answer.status, answer.headers["preference-applied"]]).toEqual([200, undefined]);
});

test("a wait ends when its client goes away", async () => {
  const { request, store } = await startServer();
  const client = new AbortController();
  const waiting = request("GET", note, { headers: { prefer: "wait=300" }, signal: client.signal });
  await untilWaiting(store);
  client.abort();
  await expect(waiting).rejects.toThrow();
  await untilWaiting(store, 0);
  expect(store.stats().waiters).toBe(0);
});

test("waits beyond the bound are refused as overloaded, and are welcome again when one has ended", async () => {
  const { request, store, clock } = await startServer({ bounds: { waitsMax: 2 } });
  const headers = { prefer: "wait=10" };
  const held = [request("GET", note, { headers }), request("GET", note, { headers })];
  await untilWaiting(store, 2);
  const refused = await request("GET", note, { headers });
  expect(problemOf(refused)).toEqual({ status: 503, code: "overloaded" });
  expect(refused.headers["retry-after"]).toBe("1");
  clock.advance(10_000);
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([304, 304]);
  const again = request("GET", note, { headers });
  await untilWaiting(store);
  clock.advance(10_000);
  expect((await again).status).toBe(304);
});

test("many waiters for one document all wake at one change", async () => {
  const { request, store } = await startServer();
  const headers = { "if-none-match": '"0"', prefer: "wait=30" };
  const waiting = Array.from({ length: 50 }, () => request("GET", note, { headers }));
  await untilWaiting(store, 50);
  await store.put({ shape: "note", id: "n-1", set: {} });
  expect((await Promise.all(waiting)).every(({ status }) => status === 200)).toBe(true);
});

test("a wait leaves its connection fit for the next request", async () => {
  const { request, store, clock } = await startServer();
  const agent = oneConnection();
  const waiting = request("GET", note, { headers: { prefer: "wait=5" }, agent });
  await untilWaiting(store);
  clock.advance(5000);
  expect((await waiting).status).toBe(304);
  expect((await request("PUT", note, { body: { set: {} }, agent })).status).toBe(201);
});
