import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../client/index.js";
import { RequestGate } from "../../server/access/request-gate.js";
import { createServer, newToken, Tokens } from "../../server/index.js";
import { openMemoryStore } from "../../src/level/index.js";
import { toolCalls } from "../../src/tool-calls/index.js";
import { EventReader } from "./events.js";
import { until } from "./gate.js";
import { problemOf, startServer } from "./test-server.js";

const all = { read: ["*"], write: ["*"] };
const limited = { status: 429, code: "rate_limited" };

function bearer({ token }: { readonly token: string }): { authorization: string } {
  return { authorization: `Bearer ${token}` };
}

test("a token that sends more than its rate is told when to come again, and the others notice nothing", async () => {
  const [busy, calm] = [newToken("busy", { ...all, requests_per_second: 2 }), newToken("calm", all)];
  const { request, clock } = await startServer({ tokens: [busy.entry, calm.entry] });
  const get = (token: typeof busy) => request("GET", "/v1/stats", { headers: bearer(token) });
  expect([(await get(busy)).status, (await get(busy)).status]).toEqual([200, 200]);
  const refused = await get(busy);
  expect(problemOf(refused)).toEqual(limited);
  expect(refused.headers["retry-after"]).toBe("1");
  expect(refused.json).toMatchObject({ retryable: true, retry_after: 0.5 });
  for (let times = 0; times < 10; times++) expect((await get(calm)).status).toBe(200);
  clock.advance(499);
  expect((await get(busy)).status).toBe(429);
  clock.advance(1);
  expect([(await get(busy)).status, (await get(busy)).status]).toEqual([200, 429]);
  // A rest is worth one second's requests, however long it was.
  clock.advance(3_600_000);
  expect([(await get(busy)).status, (await get(busy)).status, (await get(busy)).status]).toEqual([200, 200, 429]);
});

test("a token holds so many requests at once, waits and streams among them, and each end makes room", async () => {
  const worker = newToken("worker", { ...all, requests_at_once: 2 });
  const { request, port, store } = await startServer({ tokens: [worker.entry] });
  const headers = bearer(worker);
  const stream = await EventReader.open(port, "/v1/changes", headers);
  await stream.next();
  const gone = new AbortController();
  const wait = { headers: { ...headers, prefer: "wait=300" }, signal: gone.signal };
  const waiting = request("GET", "/v1/documents/note/a", wait);
  await until(() => store.stats().waiters === 1);
  expect(problemOf(await request("PUT", "/v1/documents/note/b", { headers, body: { set: {} } }))).toEqual(limited);
  expect(store.revision).toBe(0);
  gone.abort();
  await expect(waiting).rejects.toThrow();
  await until(() => store.stats().waiters === 0);
  for (let times = 0; times < 3; times++) {
    expect((await request("PUT", "/v1/documents/note/b", { headers, body: { set: {} } })).status).toBeLessThan(300);
    // A refused request has none of its own to give back.
    expect((await request("PUT", "/v1/documents/note/b", { headers, body: { sett: {} } })).status).toBe(400);
  }
  stream.close();
});

test("the server's bounds count for tokens without their own, and for everybody where there are no tokens", async () => {
  const [plain, own] = [newToken("plain", all), newToken("own", { ...all, requests_per_second: 100 })];
  const guarded = await startServer({ tokens: [plain.entry, own.entry], bounds: { requestsPerSecond: 1 } });
  const statuses = async (token: typeof plain) => {
    const get = () => guarded.request("GET", "/v1/stats", { headers: bearer(token) });
    return [(await get()).status, (await get()).status];
  };
  expect(await statuses(plain)).toEqual([200, 429]);
  expect(await statuses(own)).toEqual([200, 200]);

  const open = await startServer({ bounds: { requestsPerSecond: 1 } });
  expect((await open.request("GET", "/v1/stats")).status).toBe(200);
  expect(problemOf(await open.request("GET", "/v1/stats"))).toEqual(limited);
  // Orchestrators must not take a busy server for a dead one.
  expect((await open.request("GET", "/healthz")).status).toBe(200);
  expect((await open.request("GET", "/readyz")).status).toBe(200);
});

test("bounds change with the tokens, while the server runs", async () => {
  const worker = newToken("worker", { ...all, requests_per_second: 1 });
  const tokens = new Tokens([worker.entry]);
  const { request } = await startServer({ tokens });
  const status = async () => (await request("GET", "/v1/stats", { headers: bearer(worker) })).status;
  expect([await status(), await status()]).toEqual([200, 429]);
  const { requests_per_second, ...unbounded } = worker.entry;
  tokens.replace([unbounded]);
  expect([await status(), await status()]).toEqual([200, 200]);
});

test("the client waits for its turn and sends again: nothing is lost, and nothing is done twice", async () => {
  const worker = newToken("worker", { ...all, requests_per_second: 40, requests_at_once: 4 });
  const { port, store } = await startServer({ tokens: [worker.entry] });
  // The server's clock stands still: its first 40 requests are all that it lets in.
  const client = createClient({ url: `http://127.0.0.1:${port}`, token: worker.token, retryFor: 20 });
  onTestFinished(() => client.close());
  const puts = Array.from({ length: 16 }, (_, n) =>
    client.put({ shape: "note", id: String(n), set: { n }, if_match: { exists: false } }),
  );
  expect((await Promise.all(puts)).every(({ created }) => created)).toBe(true);
  expect(store.revision).toBe(16);
});

test("a client that gives up tells the caller that the write was not applied", async () => {
  const worker = newToken("worker", { ...all, requests_per_second: 0.001 });
  const { port, store } = await startServer({ tokens: [worker.entry] });
  const client = createClient({ url: `http://127.0.0.1:${port}`, token: worker.token, retryFor: 1 });
  onTestFinished(() => client.close());
  await client.get("note", "a");
  await expect(client.put({ shape: "note", id: "a", set: {} })).rejects.toMatchObject({
    code: "rate_limited",
    status: 429,
    retryAfter: 1000,
  });
  expect(store.revision).toBe(0);
});

test("a tool call whose claim is refused for its rate fires nothing, and is known not to be claimed", async () => {
  const worker = newToken("worker", { ...all, requests_per_second: 0.001 });
  const { port, store } = await startServer({ tokens: [worker.entry] });
  const client = createClient({ url: `http://127.0.0.1:${port}`, token: worker.token, retryFor: 0 });
  const calls = toolCalls(client);
  onTestFinished(async () => {
    await calls.close({ timeout: 0 });
    await client.close();
  });
  await client.get("note", "a");
  let fired = 0;
  const run = calls.run({ tool: "t", args: 1 }, async () => {
    fired += 1;
  });
  await expect(run).rejects.toMatchObject({ code: "rate_limited" });
  expect([fired, store.revision]).toEqual([0, 0]);
});

test("a gate lets through what its bounds say over any stretch of time, whatever the pace", () => {
  for (const perSecond of [0.5, 3, 250]) {
    const gate = new RequestGate();
    let entered = 0;
    const stepMs = 400 / perSecond;
    for (let step = 0; step <= 1000; step++) {
      try {
        gate.enter({ atOnce: null, perSecond }, step * stepMs);
        entered += 1;
        gate.leave();
      } catch {}
    }
    const allowed = Math.max(1, perSecond) + (1000 * stepMs * perSecond) / 1000;
    expect(entered).toBeLessThanOrEqual(Math.ceil(allowed));
    // What a pace of so few steps wastes of the credit is less than a quarter.
    expect(entered).toBeGreaterThan(allowed * 0.75 - 1);
    expect(gate.open).toBe(0);
  }
});

test.each([
  [{ requestsPerSecond: 0 }, "bounds.requestsPerSecond"],
  [{ requestsPerSecond: Number.NaN }, "bounds.requestsPerSecond"],
  [{ requestsAtOnce: 0 }, "bounds.requestsAtOnce"],
  [{ requestsAtOnce: 1.5 }, "bounds.requestsAtOnce"],
  [{ requestsMax: 0 }, "bounds.requestsMax"],
  [{ waitsMax: -1 }, "bounds.waitsMax"],
  [{ heldBytesMax: 2 ** 31 }, "bounds.heldBytesMax"],
  [{ requestMax: 1 } as object, "bounds.requestMax"],
])("the bounds %j are refused", async (bounds, path) => {
  const store = await openMemoryStore();
  expect(() => createServer({ store, bounds })).toThrow(expect.objectContaining({ code: "invalid_request", path }));
  await store.close();
});
