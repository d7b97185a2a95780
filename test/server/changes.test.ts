import { expect, test } from "vitest";
import { EventReader } from "./events.js";
import { Gate, until } from "./gate.js";
import { send } from "./http.js";
import { problemOf, sharedServer, startServer, withMethods } from "./test-server.js";

const shared = sharedServer();

test("a stream begins with a bookmark that says where it starts", async () => {
  const { port, store } = await startServer();
  await store.put({ shape: "note", id: "a", set: {} });
  const fromNow = await EventReader.open(port, "/v1/changes");
  expect([fromNow.status, fromNow.headers["content-type"]]).toEqual([200, "text/event-stream; charset=utf-8"]);
  expect(fromNow.headers["cache-control"]).toBe("no-store");
  expect(await fromNow.next()).toEqual({ event: "bookmark", id: "1", data: { revision: 1, changes: [] } });
  const since = await EventReader.open(port, "/v1/changes?since=0");
  expect(await since.next()).toEqual({ event: "bookmark", id: "0", data: { revision: 0, changes: [] } });
  expect((await since.nextCommit()).revision).toBe(1);
});

test("one event is one commit, whole, with its revision as id", async () => {
  const { port, request } = await startServer();
  const stream = await EventReader.open(port, "/v1/changes");
  await stream.next();
  const operations = [
    { op: "put", shape: "note", id: "a", set: { n: 1 } },
    { op: "put", shape: "other", id: "b", set: { n: 2 } },
  ];
  await request("POST", "/v1/batch", { body: { operations } });
  await request("DELETE", "/v1/documents/note/a");
  expect(await stream.next()).toMatchObject({
    event: "message",
    id: "1",
    data: {
      revision: 1,
      changes: [
        { type: "put", shape: "note", id: "a", document: { fields: { n: 1 }, revision: 1 } },
        { type: "put", shape: "other", id: "b", document: { fields: { n: 2 } } },
      ],
    },
  });
  expect(await stream.next()).toMatchObject({
    id: "2",
    data: { changes: [{ type: "delete", shape: "note", id: "a", document: null }] },
  });
});

test.each([
  ["shape=note", ["a", "b/1", "b/2"]],
  ["shape=note&id=a", ["a"]],
  ["shape=note&prefix=b%2F", ["b/1", "b/2"]],
])("a stream of %s shows only what it was asked for", async (query, expected) => {
  const { port, store } = await startServer();
  for (const [shape, id] of [
    ["note", "a"],
    ["other", "a"],
    ["note", "b/1"],
    ["note", "b/2"],
  ] as const) {
    await store.put({ shape, id, set: {} });
  }
  const stream = await EventReader.open(port, `/v1/changes?since=0&${query}`);
  for (const id of expected) expect((await stream.nextCommit()).changes.map((change) => change.id)).toEqual([id]);
});

test("Last-Event-ID beats since, and resuming misses nothing and repeats nothing", async () => {
  const { port, store } = await startServer();
  for (let n = 1; n <= 6; n++) await store.put({ shape: "note", id: `${n}`, set: { n } });
  const stream = await EventReader.open(port, "/v1/changes?since=1", { "last-event-id": "4" });
  expect(await stream.next()).toMatchObject({ event: "bookmark", id: "4" });
  expect((await stream.nextCommit()).revision).toBe(5);
  expect((await stream.nextCommit()).revision).toBe(6);
});

test("a reader whose connection is cut again and again sees every change once, in order", async () => {
  const { port, store } = await startServer();
  const total = 200;
  const seen: number[] = [];
  let writing = true;
  const write = async (): Promise<void> => {
    for (let n = 1; n <= total; n++) await store.put({ shape: "note", id: `${n % 7}`, set: { n } });
    writing = false;
  };
  const written = write();
  let cuts = 0;
  while (seen.length < total) {
    const headers = { "last-event-id": String(seen.at(-1) ?? 0) };
    const stream = await EventReader.open(port, "/v1/changes", headers);
    for (let count = 0; count < 10 && seen.length < total; count++) seen.push((await stream.nextCommit()).revision);
    stream.close();
    cuts += 1;
  }
  await written;
  expect(writing).toBe(false);
  expect(cuts).toBeGreaterThanOrEqual(20);
  expect(seen).toEqual(Array.from({ length: total }, (_, index) => index + 1));
});

test("an expiry is one event of its own kind, before any event of the new document", async () => {
  const { port, store, clock } = await startServer();
  const stream = await EventReader.open(port, "/v1/changes");
  await stream.next();
  await store.put({ shape: "note", id: "a", set: { n: 1 }, ttl: 0.3 });
  clock.advance(310);
  await store.put({ shape: "note", id: "a", set: { n: 2 } });
  const types: string[] = [];
  while (types.length < 3) types.push(...(await stream.nextCommit()).changes.map(({ type }) => type));
  expect(types).toEqual(["put", "expire", "put"]);
});

test("a since beyond the newest revision is a 400 with its own code", async () => {
  const { request, store } = await startServer();
  await store.put({ shape: "note", id: "a", set: {} });
  const answer = await request("GET", "/v1/changes?since=2");
  expect(problemOf(answer)).toEqual({ status: 400, code: "revision_unknown", path: "since" });
});

test("a since that history no longer reaches is a 410, and so is it for Last-Event-ID", async () => {
  const { request, store, clock } = await startServer({ history: { maxAgeSeconds: 1 } });
  for (let n = 0; n < 5; n++) {
    await store.put({ shape: "note", id: "a", set: { n } });
    clock.advance(10_000);
  }
  expect(store.stats().oldest_revision).toBeGreaterThan(1);
  expect(problemOf(await request("GET", "/v1/changes?since=1"))).toMatchObject({
    status: 410,
    code: "revision_compacted",
  });
  const resumed = await request("GET", "/v1/changes?since=5", { headers: { "last-event-id": "1" } });
  expect(problemOf(resumed)).toMatchObject({ status: 410, code: "revision_compacted" });
});

test.each([
  ["/v1/changes?since=-1", {}, "since"],
  ["/v1/changes?since=abc", {}, "since"],
  ["/v1/changes?since=1.5", {}, "since"],
  ["/v1/changes?since=9007199254740993", {}, "since"],
  ["/v1/changes?id=a", {}, "id"],
  ["/v1/changes?prefix=a", {}, "prefix"],
  ["/v1/changes?shape=note&id=a&prefix=a", {}, "prefix"],
  ["/v1/changes?shape=No", {}, "shape"],
  ["/v1/changes?sinse=1", {}, "sinse"],
  ["/v1/changes", { "last-event-id": "abc" }, "Last-Event-ID"],
  ["/v1/changes", { "last-event-id": "" }, "Last-Event-ID"],
] as [string, Record<string, string>, string][])(
  "%s with %o is refused before the stream begins",
  async (path, headers, name) => {
    const { request } = shared();
    expect(problemOf(await request("GET", path, { headers }))).toEqual({
      status: 400,
      code: "invalid_request",
      path: name,
    });
  },
);

test("a quiet stream gets a comment every 15 seconds", async () => {
  const { port, clock } = await startServer();
  const stream = await EventReader.open(port, "/v1/changes");
  await stream.next();
  clock.advance(14_999);
  clock.advance(1);
  expect((await stream.next())?.event).toBe("comment");
  clock.advance(15_000);
  expect((await stream.next())?.event).toBe("comment");
  expect(stream.comments).toBe(2);
});

test("a stream of something quiet is told by bookmarks how far it has come", async () => {
  const { port, store, clock } = await startServer();
  const stream = await EventReader.open(port, "/v1/changes?shape=quiet");
  await stream.next();
  await store.put({ shape: "note", id: "a", set: {} });
  await until(() => store.stats().watchers === 1);
  clock.advance(15_000);
  for (;;) {
    const event = await stream.next();
    if (event?.event !== "comment") {
      expect(event).toEqual({ event: "bookmark", id: "1", data: { revision: 1, changes: [] } });
      break;
    }
  }
});

test("a stream ends in the store when its reader goes away", async () => {
  const { port, store } = await startServer();
  const stream = await EventReader.open(port, "/v1/changes");
  await stream.next();
  expect(store.stats().watchers).toBe(1);
  stream.close();
  await until(() => store.stats().watchers === 0);
  expect(store.stats().watchers).toBe(0);
});

test("a reader that goes away before its stream has begun leaves nothing behind", async () => {
  const gate = new Gate();
  let asked = false;
  const { port, store, app } = await startServer({
    wrap: (inner) =>
      withMethods(inner, {
        list: async (shape, options) => {
          asked = true;
          await gate.opened;
          return inner.list(shape, options);
        },
      }),
  });
  let connections = 0;
  app.server.on("connection", (socket) => {
    connections += 1;
    socket.once("close", () => {
      connections -= 1;
    });
  });
  const client = new AbortController();
  const lost = send(port, { method: "GET", path: "/v1/changes", signal: client.signal });
  await until(() => asked);
  client.abort();
  await expect(lost).rejects.toThrow();
  await until(() => connections === 0);
  gate.open();
  const stats = async () => (await send(port, { method: "GET", path: "/v1/stats" })).json;
  expect(await stats()).toMatchObject({ server: { streams: 0 } });
  expect(store.stats().watchers).toBe(0);
});

test("streams beyond the bound are refused as overloaded", async () => {
  const { port, request } = await startServer({ bounds: { streamsMax: 1 } });
  const stream = await EventReader.open(port, "/v1/changes");
  await stream.next();
  expect(problemOf(await request("GET", "/v1/changes"))).toEqual({ status: 503, code: "overloaded" });
  expect((await request("GET", "/healthz")).status).toBe(200);
});

test("a reader that does not read holds up nobody, and is told when history has passed it by", async () => {
  const { port, store } = await startServer({ history: { maxBytes: 4 * 1024 * 1024 } });
  const slow = await EventReader.open(port, "/v1/changes");
  const quick = await EventReader.open(port, "/v1/changes?shape=mark");
  await slow.next();
  await quick.next();
  slow.pause();
  const text = "x".repeat(256 * 1024);
  for (let n = 0; n < 160; n++) await store.put({ shape: "note", id: `${n % 10}`, set: { text } });
  await store.put({ shape: "mark", id: "end", set: {} });
  expect((await quick.nextCommit()).changes[0]?.id).toBe("end");
  let last: unknown;
  let revision = 0;
  for (let event = await slow.next(); event !== undefined; event = await slow.next()) {
    last = event;
    if (event.event !== "message") continue;
    // What does arrive is whole and in order.
    expect(event.data.revision).toBe(revision + 1);
    revision = event.data.revision;
  }
  expect(last).toMatchObject({ event: "error", data: { code: "revision_compacted", status: 410 } });
  expect(revision).toBeLessThan(161);
});

test("a fault after the beginning is an event with the problem, and ends the stream", async () => {
  const { port } = await startServer({
    wrap: (store) =>
      withMethods(store, {
        watch: async function* () {
          yield { revision: 1, changes: [] };
          throw new TypeError("secret");
        },
      }),
  });
  const stream = await EventReader.open(port, "/v1/changes?since=0");
  await stream.next();
  await stream.next();
  const fault = await stream.next();
  expect(fault).toMatchObject({ event: "error", data: { code: "internal" } });
  expect(JSON.stringify(fault)).not.toContain("secret");
  expect(await stream.next()).toBeUndefined();
});

test("a stream ends with the store", async () => {
  const { port, store } = await startServer();
  const stream = await EventReader.open(port, "/v1/changes");
  await stream.next();
  await store.close();
  expect(await stream.next()).toMatchObject({ event: "error", data: { code: "store_closed" } });
  expect(await stream.next()).toBeUndefined();
});
