import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { ServerBounds } from "../../server/index.js";
import { RawConnection } from "../server/http.js";
import { startServer } from "../server/test-server.js";

const times: ServerBounds = { headersMs: 600, requestMs: 1200 };

/** Sends a text a byte at a time for as long as the connection takes it. */
function trickle(connection: RawConnection, text: string): void {
  let sent = 0;
  const timer = setInterval(() => {
    if (connection.socket.destroyed || sent === text.length) clearInterval(timer);
    else connection.write(text.charAt(sent++));
  }, 20);
  onTestFinished(() => {
    clearInterval(timer);
    connection.socket.destroy();
  });
}

const head = "PUT /v1/documents/note/slow HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";

test("a head that comes a byte at a time is ended with 408, and others are served meanwhile", async () => {
  const { port, request } = await startServer({ bounds: times });
  const slow = Array.from({ length: 50 }, () => new RawConnection(port));
  for (const connection of slow) trickle(connection, `${head}${"x-filler: 1\r\n".repeat(1000)}`);
  let ended = 0;
  const ends = slow.map(async (connection) => {
    const received = await connection.untilClosed();
    ended += 1;
    return received;
  });
  let served = 0;
  while (ended < slow.length) {
    expect((await request("PUT", `/v1/documents/note/${served}`, { body: { set: {} } })).status).toBe(201);
    served += 1;
    await delay(10);
  }
  expect(served).toBeGreaterThan(0);
  for (const received of await Promise.all(ends)) {
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
    expect(received).toContain('"code":"invalid_request"');
  }
});

test("a body that comes a byte at a time is ended with 408, writes nothing, and holds neither a place nor memory", async () => {
  // One place: were a slow body in it, nobody else would be served.
  const { port, request, store } = await startServer({ bounds: { ...times, requestsMax: 1 } });
  const slow = Array.from({ length: 50 }, () => new RawConnection(port));
  for (const connection of slow) {
    connection.write(`${head}content-length: 100000\r\n\r\n{"set":{"text":"${"x".repeat(10_000)}`);
    trickle(connection, "x".repeat(1000));
  }
  const numbers = async () => ((await request("GET", "/v1/stats")).json as { server: object }).server;
  await expect.poll(numbers, { timeout: 30_000 }).toMatchObject({ requests: 0 });
  expect((await request("PUT", "/v1/documents/note/quick", { body: { set: {} } })).status).toBe(201);
  for (const received of await Promise.all(slow.map((connection) => connection.untilClosed()))) {
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
  }
  await expect.poll(numbers, { timeout: 30_000 }).toMatchObject({ requests: 0, held_bytes: 0 });
  expect(await store.get("note", "slow")).toBeUndefined();
  expect((await request("PUT", "/v1/documents/note/after", { body: { set: {} } })).status).toBe(201);
});

test("with times that never end, a slow sender stays: the check above would find it", async () => {
  const { port } = await startServer({ bounds: { headersMs: 600_000, requestMs: 600_000 } });
  const slow = new RawConnection(port);
  trickle(slow, head);
  let closed = false;
  void slow.untilClosed().then(() => {
    closed = true;
  });
  await delay(1500);
  expect([closed, slow.received]).toEqual([false, ""]);
});

test("bodies that together are more than the server holds are refused by 503 while they arrive, and the last one is taken", async () => {
  const { port, request, store } = await startServer({ bounds: { heldBytesMax: 1_000_000 } });
  const part = `{"set":{"text":"${"x".repeat(300_000)}`;
  const bytes = part.length + 3;
  const senders = Array.from({ length: 5 }, () => new RawConnection(port));
  onTestFinished(() => {
    for (const sender of senders) sender.socket.destroy();
  });
  // Without a length that it could be refused for: what arrives is what counts.
  for (const [n, sender] of senders.entries()) {
    sender.write(`PUT /v1/documents/note/${n} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`);
    sender.write(`transfer-encoding: chunked\r\n\r\n${bytes.toString(16)}\r\n${part}`);
  }
  const answered = () => senders.filter(({ received }) => received.startsWith("HTTP/1.1 503 ")).length;
  await expect.poll(answered, { timeout: 30_000 }).toBe(2);
  const refused = await request("PUT", "/v1/documents/note/known", { body: { set: { text: "x".repeat(300_000) } } });
  expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"]);
  expect(refused.json).toMatchObject({ code: "overloaded", retryable: true });
  for (const sender of senders) sender.write(`"}}\r\n0\r\n\r\n`);
  const received = await Promise.all(senders.map((sender) => sender.until(/^HTTP\/1\.1 (201|503) .*\r\n\r\n\{.*\}$/s)));
  const statuses = received.map((text) => Number(text.slice(9, 12)));
  expect(statuses.toSorted()).toEqual([201, 201, 201, 503, 503]);
  for (const [n, status] of statuses.entries()) {
    expect((await store.get("note", String(n))) !== undefined).toBe(status === 201);
  }
});
