import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { ServerBounds } from "../../server/index.js";
import { openFilesMax } from "../../server/open-files.js";
import { eventually, LoadedServer } from "./loaded-server.js";

/** What the guarantee names. Objects and buffers of the process; the system's own are not its memory. */
const bytesAConnectionMax = 20 * 1024;

async function start(bounds: ServerBounds): Promise<LoadedServer> {
  const server = await LoadedServer.start(bounds);
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

test("10,000 idle connections cost little memory, others are served, and they end when they have been idle for long", async () => {
  const files = openFilesMax() ?? 20_000;
  const count = Math.min(10_000, files - 1000);
  if (count < 10_000) process.stdout.write(`${count} connections instead of 10,000: ${files} open files are allowed\n`);
  const server = await start({ keepAliveMs: 45_000, connectionsMax: 20_000 });
  await openIdle(server, 10);
  const before = await server.measure();
  const sockets = await openIdle(server, count);
  const during = await server.measure();
  // A slow machine may see the first of them end before the last has begun.
  const open = await server.metric("oncekv_http_connections");
  expect(open).toBeGreaterThan(count / 2);
  const each = (during.objects - before.objects) / open;
  process.stdout.write(`an idle connection takes ${Math.round(each)} bytes (${open} of them)\n`);
  expect(each).toBeLessThan(bytesAConnectionMax);
  expect((await server.request("PUT", "/v1/documents/note/a", { body: { set: {} } })).status).toBe(201);
  for (const socket of sockets) socket.destroy();
  await eventually(
    "all are forgotten",
    () => server.metric("oncekv_http_connections"),
    (now) => now < 20,
  );
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
