import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { ServerBounds } from "../../server/index.js";
import { openFilesMax } from "../../server/open-files.js";
import { eventually, LoadedServer } from "./loaded-server.js";

/** What the guarantee names. Objects and buffers of the process; the system's own are not its memory. */
const bytesAConnectionMax = 20 * 1024;

async function start(bounds: ServerBounds, leakedBytes = 0): Promise<LoadedServer> {
  const server = await LoadedServer.start(bounds, leakedBytes);
  onTestFinished(() => server.stop());
  return server;
}

/** Opens connections, each of which has been answered one request and then says nothing more. */
async function openIdle(server: LoadedServer, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  // All at once would overflow the queue of the listening socket.
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(200, count - sockets.length) }, () => server.connect());
    await Promise.all(
      some.map(async (socket) => {
        socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
        await once(socket, "data");
      }),
    );
    sockets.push(...some);
  }
  return sockets;
}

/** Opens so many, and gives them and the bytes of objects and buffers that the server has for each. */
async function measureIdle(server: LoadedServer, count: number): Promise<{ each: number; sockets: Socket[] }> {
  // What is made once, as the first of everything.
  const first = await openIdle(server, 10);
  const before = await server.measure();
  const sockets = await openIdle(server, count);
  const during = await server.measure();
  return { each: (during.objects - before.objects) / count, sockets: [...first, ...sockets] };
}

test("10,000 idle connections cost little memory each, others are served, and closing the server ends all of them in order", async () => {
  const files = openFilesMax() ?? 20_000;
  const count = Math.min(10_000, files - 1000);
  if (count < 10_000) process.stdout.write(`${count} connections instead of 10,000: ${files} open files are allowed\n`);
  // Longer than any test may take: whatever ends in it did not end by these times, but since the server ended it.
  const server = await start({ keepAliveMs: 3_600_000, drainDeadlineMs: 3_600_000, connectionsMax: 20_000 });
  const { each, sockets } = await measureIdle(server, count);
  process.stdout.write(`an idle connection takes ${Math.round(each)} bytes (${count} of them)\n`);
  expect(each).toBeLessThan(bytesAConnectionMax);
  expect(await server.metric("oncekv_http_connections")).toBeGreaterThanOrEqual(count);
  expect((await server.request("PUT", "/v1/documents/note/a", { body: { set: {} } })).status).toBe(201);
  expect(sockets.filter(({ closed }) => closed)).toEqual([]);
  let inOrder = 0;
  const ends = sockets.map(async (socket) => {
    socket.once("end", () => inOrder++);
    await once(socket, "close");
  });
  expect(await server.close()).toEqual({ connections: 0 });
  await Promise.all(ends);
  expect(inOrder).toBe(count + 10);
});

test("a server that keeps 64 KiB of each connection is found by the same look", async () => {
  const server = await start({}, 64 * 1024);
  const { each } = await measureIdle(server, 500);
  process.stdout.write(`an idle connection that leaks takes ${Math.round(each)} bytes\n`);
  expect(each).toBeGreaterThan(bytesAConnectionMax);
});

test("while one request is under way closing is not over, though idle connections end: the look above would see it", async () => {
  const server = await start({ drainDeadlineMs: 3_600_000 });
  const [idle] = await openIdle(server, 1);
  const busy = server.connect();
  busy.write("PUT /v1/documents/note/a HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n");
  busy.write("content-length: 10\r\nexpect: 100-continue\r\n\r\n");
  // The server has read the head.
  expect(String((await once(busy, "data"))[0])).toMatch(/^HTTP\/1\.1 100 /);
  let closed = false;
  const closing = server.close().then((left) => {
    closed = true;
    return left;
  });
  // The idle one has ended, so that the drain has begun; it goes on.
  if (idle?.closed === false) await once(idle, "close");
  expect([closed, busy.closed]).toEqual([false, false]);
  busy.write('{"set":{}}');
  expect(String((await once(busy, "data"))[0])).toMatch(/^HTTP\/1\.1 201 /);
  expect(await closing).toEqual({ connections: 0 });
});

test("idle connections end by themselves after the time that they are kept", async () => {
  const server = await start({ keepAliveMs: 200 });
  const sockets = await openIdle(server, 300);
  await Promise.all(sockets.map((socket) => socket.closed || once(socket, "close")));
  await eventually(
    "all are forgotten",
    () => server.metric("oncekv_http_connections"),
    (now) => now < 5,
  );
});

test("at the bound of connections those that do nothing give way, and who comes then is served", async () => {
  const server = await start({ connectionsMax: 100 });
  await openIdle(server, 100);
  // The one that is refused had the others looked at.
  await server.request("GET", "/healthz").catch(() => undefined);
  expect((await server.request("GET", "/healthz")).status).toBe(200);
  expect((await server.request("PUT", "/v1/documents/note/a", { body: { set: {} } })).status).toBe(201);
  expect(await server.metric("oncekv_http_connections")).toBeLessThan(20);
  expect(await server.metric("oncekv_http_connections_refused_total")).toBeGreaterThan(0);
});

test("connections that never say anything give way, too", async () => {
  const server = await start({ connectionsMax: 50 });
  const silent = Array.from({ length: 50 }, () => server.connect());
  await Promise.all(silent.map((socket) => once(socket, "connect")));
  await delay(1200);
  await eventually(
    "somebody else is served",
    () => server.request("GET", "/healthz").catch(() => undefined),
    (answer) => answer?.status === 200,
  );
});

test("connections that are busy do not give way: at the bound new ones are closed", async () => {
  const server = await start({ connectionsMax: 20 });
  const waiting = Array.from({ length: 20 }, () => server.connect());
  for (const socket of waiting) {
    socket.write("GET /v1/documents/note/none HTTP/1.1\r\nhost: localhost\r\nprefer: wait=60\r\n\r\n");
  }
  await eventually(
    "all wait",
    () => server.measure(),
    ({ waiters }) => waiters === 20,
  );
  await expect(server.request("GET", "/healthz")).rejects.toThrow();
  expect((await server.measure()).waiters).toBe(20);
  waiting[0]?.destroy();
  await eventually(
    "one has room",
    () => server.request("GET", "/healthz").catch(() => undefined),
    (answer) => answer?.status === 200,
  );
});
