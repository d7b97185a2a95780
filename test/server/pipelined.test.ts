import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { RawConnection } from "./http.js";
import { startServer, type TestServer } from "./test-server.js";

const head = "host: localhost\r\n";
const get = (path: string, headers = ""): string => `GET ${path} HTTP/1.1\r\n${head}${headers}\r\n`;
const put = (id: string, headers = ""): string =>
  `PUT /v1/documents/note/${id} HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: 15\r\n${headers}\r\n{"set":{"n":1}}`;
const waiting = get("/v1/documents/note/none", "prefer: wait=60\r\n");

async function numbers({ request }: TestServer): Promise<{ readonly [name: string]: number }> {
  const { json } = await request("GET", "/v1/stats");
  return (json as { server: { [name: string]: number } }).server;
}

/** What a server holds for others than the one that asks. */
const nothing = { waits: 0, streams: 0, requests: 0, held_bytes: 0, waiting_event_bytes: 0 };

test.each([
  ["reads", get("/v1/documents/note/a").repeat(200)],
  ["writes", Array.from({ length: 100 }, (_, n) => put(`w${n}`)).join("")],
  ["waits", waiting.repeat(50)],
  ["streams", get("/v1/changes").repeat(20)],
  ["large pages", get("/v1/documents/large").repeat(20)],
  ["a backup", get("/v1/backup").repeat(3)],
] as const)("nothing is left of %s that stood in line on a connection which is gone", async (_, requests) => {
  const server = await startServer();
  const text = "x".repeat(500_000);
  for (const id of ["a", "b"]) await server.store.put({ shape: "large", id, set: { text } });
  for (let round = 0; round < 3; round++) {
    const connection = new RawConnection(server.port);
    connection.write(waiting + requests);
    await expect.poll(async () => (await numbers(server))["waits"]).toBeGreaterThan(0);
    // What is carried out without waiting has been, and its answers stand in line.
    await server.request("GET", "/v1/documents/note/a");
    connection.socket.destroy();
    await expect.poll(() => numbers(server)).toMatchObject(nothing);
  }
  expect((await server.request("GET", "/v1/backup")).status).toBe(200);
});

test("a token that may have few requests at once has them all again after its connection is gone", async () => {
  const token = "a".repeat(43);
  const sha256 = createHash("sha256").update(token).digest("hex");
  const server = await startServer({
    tokens: [{ name: "few", sha256, read: ["*"], write: ["*"], requests_at_once: 4 }],
  });
  const authorization = `authorization: Bearer ${token}\r\n`;
  for (let round = 0; round < 3; round++) {
    const connection = new RawConnection(server.port);
    connection.write(get("/v1/documents/note/none", `prefer: wait=60\r\n${authorization}`).repeat(4));
    await expect.poll(() => server.store.stats().waiters).toBe(4);
    connection.socket.destroy();
    await expect.poll(() => server.store.stats().waiters).toBe(0);
  }
  const again = new RawConnection(server.port);
  again.write(get("/v1/documents/note/none", `prefer: wait=60\r\n${authorization}`).repeat(4));
  await expect.poll(() => server.store.stats().waiters).toBe(4);
  again.socket.destroy();
});

test("what is no request is not taken for the answer to the one before it, which is answered first", async () => {
  const server = await startServer();
  const connection = new RawConnection(server.port);
  connection.write(`${put("a")}\x01\x02 garbage\r\n\r\n`);
  const received = await connection.untilClosed();
  expect(received).toMatch(/^HTTP\/1\.1 201 /);
  expect(received).not.toContain("HTTP/1.1 400");
  expect(await server.store.get("note", "a")).toEqual({ n: 1 });
  // Where nothing is under way, it is told.
  const alone = new RawConnection(server.port);
  alone.write("\x01\x02 garbage\r\n\r\n");
  expect(await alone.untilClosed()).toMatch(/^HTTP\/1\.1 400 /);
});

test("what is no request behind a stream spoils none of its events", async () => {
  const server = await startServer();
  const connection = new RawConnection(server.port);
  connection.write(`${get("/v1/changes")}\x01\x02 garbage\r\n\r\n`);
  await expect.poll(() => server.store.stats().watchers).toBe(1);
  await server.store.put({ shape: "note", id: "a", set: { n: 1 } });
  const received = await connection.until(/"shape":"note"/);
  expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
  connection.socket.destroy();
  await expect.poll(() => server.store.stats().watchers).toBe(0);
});

test("a condition is heeded behind however many other headers", async () => {
  const server = await startServer();
  await server.store.put({ shape: "note", id: "a", set: { n: 0 } });
  for (const count of [999, 1000, 1005, 1990]) {
    const connection = new RawConnection(server.port);
    connection.write(put("a", `${"a:\r\n".repeat(count)}if-none-match: *\r\nconnection: close\r\n`));
    expect(await connection.untilClosed()).toMatch(/^HTTP\/1\.1 412 /);
  }
  expect(await server.store.get("note", "a")).toEqual({ n: 0 });
});
