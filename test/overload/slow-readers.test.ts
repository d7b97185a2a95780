import type { Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { ServerBounds } from "../../server/index.js";
import { EventReader } from "../server/events.js";
import { RawConnection } from "../server/http.js";
import { startServer } from "../server/test-server.js";
import { eventually, LoadedServer } from "./loaded-server.js";

const mebibyte = 1024 * 1024;
const memoryMax = 400 * mebibyte;

async function start(bounds: ServerBounds): Promise<LoadedServer> {
  const server = await LoadedServer.start(bounds);
  onTestFinished(() => server.stop());
  return server;
}

/** A reader that takes what the system's buffers take and no more. */
function openStuck(server: LoadedServer, path: string): Socket {
  const socket = server.connect();
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  return socket;
}

/** Writes one after the other; gives the middle of their times and their revisions. */
async function write(server: LoadedServer, count: number): Promise<{ median: number; revisions: number[] }> {
  const text = "x".repeat(100_000);
  const times: number[] = [];
  const revisions: number[] = [];
  for (let n = 0; n < count; n++) {
    const begun = performance.now();
    const answer = await server.request("PUT", `/v1/documents/note/${n % 20}`, { body: { set: { n, text } } });
    expect(answer.status).toBeLessThan(300);
    times.push(performance.now() - begun);
    revisions.push((answer.json as { revision: number }).revision);
  }
  const median = times.toSorted((one, other) => one - other)[Math.floor(count / 2)] ?? 0;
  return { median, revisions };
}

/** Reads a stream of events up to a revision, and gives the revisions of its commits. */
async function revisionsOf(socket: Socket | undefined, last: number | undefined): Promise<number[]> {
  if (socket === undefined) throw new Error("there is no such reader");
  const revisions: number[] = [];
  let text = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    text += part;
    // An event ends with an empty line, and only then is it looked for.
    const end = text.lastIndexOf("\n\n");
    if (end < 0) return;
    for (const [, bookmark, id] of text.slice(0, end).matchAll(/(event: bookmark\n)?id: (\d+)\n/g)) {
      if (bookmark === undefined) revisions.push(Number(id));
    }
    text = text.slice(end);
  });
  socket.resume();
  await eventually(
    "all was read",
    () => Promise.resolve(revisions.at(-1)),
    (revision) => revision === last,
  );
  return revisions;
}

test("watchers that never read cost bounded memory, slow no writer, and go on without a gap where they stood", async () => {
  const server = await start({});
  const alone = await write(server, 60);
  const before = await server.mark();
  const stuck = Array.from({ length: 10 }, () => openStuck(server, "/v1/changes"));
  await eventually(
    "all watch",
    () => server.numbers(),
    ({ streams }) => streams === 10,
  );
  const watched = await write(server, 600);
  const { memoryMost } = await server.measure();
  // 60 MB went past each of the ten watchers.
  expect(memoryMost - before.memoryMost).toBeLessThan(memoryMax);
  expect(watched.median).toBeLessThan(10 * alone.median + 50);
  expect((await server.numbers()).streams).toBe(10);
  // One that begins to read gets everything, in order, out of history.
  expect(await revisionsOf(stuck[0], watched.revisions.at(-1))).toEqual(watched.revisions);
});

test("a reader that takes nothing of an event for two minutes is cut, and comes back with what it has seen", async () => {
  const { port, store, clock, request } = await startServer();
  const slow = await EventReader.open(port, "/v1/changes");
  const first = await slow.next();
  slow.pause();
  const text = "x".repeat(1_000_000);
  for (let n = 0; n < 20; n++) await store.put({ shape: "note", id: "a", set: { n, text } });
  const numbers = async () =>
    ((await request("GET", "/v1/stats")).json as { server: { streams: number; waiting_event_bytes: number } }).server;
  await expect.poll(async () => (await numbers()).waiting_event_bytes).toBeGreaterThan(0);
  clock.advance(119_999);
  expect(await numbers()).toMatchObject({ streams: 1 });
  clock.advance(1);
  await expect.poll(numbers).toMatchObject({ streams: 0, waiting_event_bytes: 0 });
  const again = await EventReader.open(port, "/v1/changes", { "last-event-id": first?.id ?? "" });
  expect((await again.next())?.event).toBe("bookmark");
  for (let n = 0; n < 20; n++) expect((await again.next())?.data.revision).toBe(n + 1);
  again.close();
});

/** What forty readers have cost who ask for large pages, the text of which is six times as long as what is stored. */
async function stuckReaders(bounds: ServerBounds): Promise<{ memory: number; server: LoadedServer; stuck: Socket[] }> {
  const server = await start(bounds);
  for (let n = 0; n < 4; n++) {
    const body = { set: { text: "\u0001".repeat(1_000_000) } };
    expect((await server.request("PUT", `/v1/documents/big/${n}`, { body })).status).toBe(201);
  }
  await server.request("GET", "/v1/documents/big");
  const before = await server.mark();
  const stuck = Array.from({ length: 40 }, () => openStuck(server, "/v1/documents/big"));
  let answered = 0;
  for (const socket of stuck) socket.once("readable", () => answered++);
  await eventually(
    "all have been answered",
    () => Promise.resolve(answered),
    (count) => count === stuck.length,
  );
  const { memoryMost } = await server.measure();
  return { memory: memoryMost - before.memoryMost, server, stuck };
}

test("readers of large pages who take nothing cost bounded memory, others are served, and it is given back", async () => {
  const { memory, server, stuck } = await stuckReaders({ heldBytesMax: 16 * mebibyte });
  process.stdout.write(`forty stuck readers of 24 MB: ${Math.round(memory / mebibyte)} MiB\n`);
  expect(memory).toBeLessThan(memoryMax);
  const refused = await server.request("GET", "/v1/documents/big");
  expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"]);
  expect(refused.json).toMatchObject({ code: "overloaded", retryable: true });
  // What orchestrators and operators ask is not refused.
  expect((await server.request("GET", "/healthz")).status).toBe(200);
  expect((await server.request("GET", "/readyz")).status).toBe(200);
  expect(await server.metric("oncekv_http_requests_refused_total")).toBeGreaterThan(0);
  for (const socket of stuck) socket.destroy();
  await eventually(
    "all is given back",
    () => server.numbers(),
    (now) => now.held_bytes === 0 && now.requests === 0,
  );
  expect((await server.request("GET", "/v1/documents/big")).status).toBe(200);
});

test("without a bound on what is held the same readers cost more: the check above would find it", async () => {
  const { memory } = await stuckReaders({ heldBytesMax: 2 ** 31 - 1 });
  process.stdout.write(`the same without a bound: ${Math.round(memory / mebibyte)} MiB\n`);
  expect(memory).toBeGreaterThan(memoryMax);
});

test("a reader of an answer who takes too long is cut, and what it held is free", async () => {
  const { port, store, clock, request } = await startServer({ bounds: { answerMs: 60_000 } });
  for (let n = 0; n < 4; n++) await store.put({ shape: "big", id: `${n}`, set: { text: "\u0001".repeat(1_000_000) } });
  const numbers = async () => ((await request("GET", "/v1/stats")).json as { server: { held_bytes: number } }).server;
  const reader = new RawConnection(port);
  reader.socket.pause();
  reader.write("GET /v1/documents/big HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await expect.poll(async () => (await numbers()).held_bytes).toBeGreaterThan(mebibyte);
  clock.advance(59_000);
  expect((await numbers()).held_bytes).toBeGreaterThan(mebibyte);
  clock.advance(20_000);
  await expect.poll(numbers).toMatchObject({ held_bytes: 0, requests: 0 });
  expect((await request("GET", "/metrics")).text).toMatch(/^oncekv_http_readers_cut_total 1$/m);
});
