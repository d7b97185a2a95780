import { expect, test } from "vitest";
import { EventReader } from "./events.js";
import { until } from "./gate.js";
import { problemOf, startServer } from "./test-server.js";

test("healthz answers as long as the process lives", async () => {
  const { request, store } = await startServer();
  await store.close();
  const answer = await request("GET", "/healthz");
  expect([answer.status, answer.json]).toEqual([200, { status: "ok" }]);
  expect((await request("HEAD", "/healthz")).status).toBe(200);
});

test("readyz tells whether the store can be used", async () => {
  const { request, store } = await startServer();
  const answer = await request("GET", "/readyz");
  expect([answer.status, answer.json]).toEqual([200, { status: "ready" }]);
  await store.close();
  expect(problemOf(await request("GET", "/readyz"))).toEqual({ status: 503, code: "store_closed" });
});

test("readyz is 503 once a write has failed, while reads go on", async () => {
  const { request } = await startServer({ stats: () => ({ failed: true }) });
  expect(problemOf(await request("GET", "/readyz"))).toEqual({ status: 503, code: "store_failed" });
  expect((await request("GET", "/v1/documents/note")).status).toBe(200);
});

test("stats shows the numbers of the store, its bounds, and what the server holds", async () => {
  const { request, port, store } = await startServer();
  await store.put({ shape: "note", id: "a", set: {} });
  const stream = await EventReader.open(port, "/v1/changes");
  await stream.next();
  const stats = (await request("GET", "/v1/stats")).json;
  expect(stats).toMatchObject({
    store: { revision: 1, durability: "durable", watchers: 1 },
    limits: { id_bytes_max: 1024, fields_bytes_max: 1048576, batch_operations_max: 1000 },
    server: { waits: 0, streams: 1 },
  });
});

test("metrics count answers by route and status, and show the store", async () => {
  const { request, store, port } = await startServer();
  await request("PUT", "/v1/documents/note/secret-id", { body: { set: {} } });
  await request("GET", "/v1/documents/note/absent");
  await request("GET", "/nothing");
  await request("GET", "/v1/documents/note/%zz");
  const stream = await EventReader.open(port, "/v1/changes");
  await stream.next();
  const waiting = request("GET", "/v1/documents/note/a", { headers: { "if-none-match": '"0"', prefer: "wait=30" } });
  await until(() => store.stats().waiters === 1);
  const answer = await request("GET", "/metrics");
  expect(answer.headers["content-type"]).toMatch(/^text\/plain; version=0.0.4/);
  const lines = answer.text.split("\n");
  const count = "oncekv_http_request_duration_seconds_count";
  expect(lines).toContain(`${count}{method="PUT",route="/v1/documents/{shape}/{id}",status="201"} 1`);
  expect(lines).toContain(`${count}{method="GET",route="/v1/documents/{shape}/{id}",status="404"} 1`);
  expect(lines).toContain(`${count}{method="*",route="unmatched",status="404"} 1`);
  expect(lines).toContain(`${count}{method="*",route="unmatched",status="400"} 1`);
  expect(lines).toContain("oncekv_store_revision 1");
  expect(lines).toContain("oncekv_store_staged_bytes 0");
  expect(lines).toContain("oncekv_store_watchers 1");
  expect(lines).toContain("oncekv_store_waiters 1");
  expect(lines).toContain("oncekv_http_waits 1");
  expect(lines).toContain("oncekv_http_streams 1");
  expect(answer.text).not.toContain("secret-id");

  await store.put({ shape: "note", id: "a", set: {} });
  await waiting;
  stream.close();
  await until(() => store.stats().watchers === 0);
  const after = (await request("GET", "/metrics")).text.split("\n");
  expect(after).toContain(`${count}{method="GET",route="/v1/documents/{shape}/{id} (wait)",status="200"} 1`);
  expect(after).toContain(`${count}{method="GET",route="/v1/changes",status="499"} 1`);
});

test("every metric has its kind and its help, and every sample a metric", async () => {
  const { request } = await startServer({ processMetrics: true });
  await request("GET", "/healthz");
  const { text } = await request("GET", "/metrics");
  const kinds = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, kind]) => [name, kind]));
  const helps = new Set([...text.matchAll(/^# HELP (\S+) ./gm)].map(([, name]) => name));
  expect([...kinds.keys()].every((name) => helps.has(name))).toBe(true);
  expect(kinds.get("oncekv_http_request_duration_seconds")).toBe("histogram");
  expect(kinds.get("process_resident_memory_bytes")).toBe("gauge");
  for (const [, name = ""] of text.matchAll(/^([a-z_]+)(?:\{[^}]*\})? \S+$/gm)) {
    expect(kinds.has(name) || kinds.has(name.replace(/_(bucket|sum|count)$/, "")), name).toBe(true);
  }
});

test("two servers in one process count apart", async () => {
  const one = await startServer();
  const two = await startServer();
  await one.request("GET", "/nothing");
  expect((await two.request("GET", "/metrics")).text).not.toContain('route="unmatched"');
});

test("metrics count what happened to tool calls, and show how many are in doubt", async () => {
  const { request, clock } = await startServer();
  const claim = { tool: "t", args: 1, policy: "review", pending_ttl: 60, wait: 0 };
  const sample = async (name: string): Promise<string | undefined> => {
    const { text } = await request("GET", "/metrics");
    return new RegExp(`^oncekv_tool_calls_${name} (\\S+)$`, "m").exec(text)?.[1];
  };
  const counted = async (): Promise<string | undefined> => {
    let open = await sample("in_doubt");
    while (open === before) open = await sample("in_doubt");
    return open;
  };
  let before: string | undefined;
  expect(await sample("in_doubt")).toBeUndefined();
  expect(await counted()).toBe("0");
  expect(await sample("in_doubt_complete")).toBe("1");

  await request("POST", "/v1/tool-calls/claim", { body: claim });
  await request("POST", "/v1/tool-calls/claim", { body: { ...claim, key: "free", policy: "refire" } });
  clock.advance(60_000);
  for (let times = 0; times < 2; times++) await request("POST", "/v1/tool-calls/claim", { body: claim });
  expect(await sample("fired_total")).toBe("2");
  expect(await sample("reviews_total")).toBe("2");
  expect(await sample("lapses_total")).toBe("2");
  before = "0";
  expect(await counted()).toBe("1");

  // Within a minute nothing is counted anew, however often somebody asks.
  clock.advance(59_000);
  await request("POST", "/v1/tool-calls/claim", { body: { ...claim, key: "second" } });
  await request("POST", "/v1/tool-calls/claim", { body: { ...claim, key: "second", args: 2 } });
  expect(await sample("conflicts_total")).toBe("1");
  for (let times = 0; times < 3; times++) expect(await sample("in_doubt")).toBe("1");
});
