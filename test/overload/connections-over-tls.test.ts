import { once } from "node:events";
import { connect as connectPlain } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { selfSigned } from "../server/self-signed.js";
import { startServer } from "../server/test-server.js";

const pair = selfSigned();

async function startSecured(connectionsMax: number) {
  const { port, clock, store } = await startServer({ tls: pair, bounds: { connectionsMax } });
  /** A connection on which a request was sent. */
  const open = (path: string, ...headers: string[]): TLSSocket => {
    const socket = connect({ port, host: "127.0.0.1", ca: pair.cert });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    socket.write([`GET ${path} HTTP/1.1`, "host: localhost", ...headers, "", ""].join("\r\n"));
    return socket;
  };
  return { port, clock, store, open };
}

/** What a connection says next; undefined when it ends instead. */
function answerOf(socket: TLSSocket): Promise<string | undefined> {
  return new Promise((resolve) => {
    socket.once("data", (bytes: Buffer) => resolve(bytes.toString("latin1")));
    socket.once("close", () => resolve(undefined));
  });
}

/** One metric, over a connection of its own; undefined when that is refused. */
async function metric(open: (path: string) => TLSSocket, name: string): Promise<number | undefined> {
  const socket = open("/metrics");
  let text = "";
  socket.on("data", (bytes: Buffer) => {
    text += bytes.toString("latin1");
    if (text.includes(`\n${name} `)) socket.end();
  });
  await once(socket, "close");
  const value = new RegExp(`^${name} (\\S+)`, "m").exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}

test("over TLS a connection counts as one, and those that end are forgotten", async () => {
  const { open } = await startSecured(100);
  const sockets = Array.from({ length: 10 }, () => open("/healthz"));
  for (const answer of await Promise.all(sockets.map(answerOf))) expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  expect(await metric(open, "oncekv_http_connections")).toBe(11);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => metric(open, "oncekv_http_connections"), { timeout: 30_000 }).toBe(1);
});

test("over TLS too, idle connections give way at the bound, and who comes then is served", async () => {
  const { open } = await startSecured(10);
  const idle = Array.from({ length: 10 }, () => open("/healthz"));
  for (const answer of await Promise.all(idle.map(answerOf))) expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  const ends = Promise.all(idle.map((socket) => once(socket, "close")));
  // The one beyond the bound has the others looked at, and may have no room yet itself.
  await answerOf(open("/healthz"));
  await ends;
  await expect.poll(() => answerOf(open("/healthz")), { timeout: 30_000 }).toMatch(/^HTTP\/1\.1 200 /);
  expect(await metric(open, "oncekv_http_connections_refused_total")).toBeGreaterThan(0);
});

test("over TLS too, busy connections do not give way: at the bound new ones are closed before their handshake", async () => {
  const { open, clock, store } = await startSecured(10);
  const waiting = Array.from({ length: 10 }, () => open("/v1/documents/note/none", "prefer: wait=60"));
  await expect.poll(() => store.stats().waiters, { timeout: 30_000 }).toBe(10);
  // Long enough for one that had said nothing to give way.
  clock.advance(5000);
  for (let times = 0; times < 3; times++) {
    const refused = open("/healthz");
    let secured = false;
    refused.once("secureConnect", () => {
      secured = true;
    });
    expect(await answerOf(refused)).toBeUndefined();
    expect(secured).toBe(false);
    clock.advance(1000);
  }
  expect(waiting.filter(({ closed }) => closed)).toEqual([]);
  expect(store.stats().waiters).toBe(10);
  waiting[0]?.destroy();
  await expect.poll(() => answerOf(open("/healthz")), { timeout: 30_000 }).toMatch(/^HTTP\/1\.1 200 /);
});

test("over TLS too, connections that never begin a handshake give way", async () => {
  const { open, clock, port } = await startSecured(10);
  const silent = Array.from({ length: 10 }, () => {
    const socket = connectPlain(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    return socket;
  });
  await Promise.all(silent.map((socket) => once(socket, "connect")));
  // The server has taken them in before the one that comes after them.
  await answerOf(open("/healthz"));
  clock.advance(2000);
  await expect.poll(() => answerOf(open("/healthz")), { timeout: 30_000 }).toMatch(/^HTTP\/1\.1 200 /);
});
