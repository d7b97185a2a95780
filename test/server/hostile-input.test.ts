import fc from "fast-check";
import { expect, test } from "vitest";
import { serverLimits } from "../../server/limits.js";
import { RawConnection, send } from "./http.js";
import { startServer } from "./test-server.js";

const part = fc.oneof(
  fc.constantFrom(
    "v1",
    "documents",
    "note",
    "changes",
    "batch",
    "..",
    ".",
    "",
    "%2e%2e",
    "%",
    "%00",
    "%ff",
    "#",
    "?",
    "&",
    "=",
    ";",
  ),
  fc.string({ unit: "binary-ascii", maxLength: 12 }).map((text) => text.replace(/[\r\n ]/g, "")),
);
const address = fc.array(part, { maxLength: 6 }).map((parts) => `/${parts.join("/")}`);
const header = fc.tuple(
  fc.constantFrom(
    "if-match",
    "if-none-match",
    "prefer",
    "idempotency-key",
    "content-type",
    "last-event-id",
    "authorization",
    "if-x",
  ),
  fc.oneof(
    fc.constantFrom('"1"', "*", 'W/"1"', "wait=0", "application/json", "Bearer x", '"', "1, 2"),
    fc.string({ unit: "binary-ascii", maxLength: 20 }).map((text) => text.replace(/[^\x20-\x7e]/g, "")),
  ),
);
const body = fc.oneof(
  fc.constantFrom(
    '{"set":{}}',
    '{"set":{},"if_match":{}}',
    '{"operations":[{}]}',
    '{"keys":[{}]}',
    "{",
    "[]",
    "null",
    '{"set":{"__proto__":1}}',
  ),
  fc.json({ maxDepth: 3 }),
);

test("whatever a request holds, the answer is no fault of the server's, and the server goes on", async () => {
  const { port } = await startServer();
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("GET", "PUT", "PATCH", "DELETE", "POST", "HEAD", "OPTIONS"),
      address,
      fc.array(header, { maxLength: 3 }),
      body,
      async (method, path, headers, text) => {
        const connection = new RawConnection(port);
        const lines = [
          `${method} ${path} HTTP/1.1`,
          "host: x",
          "connection: close",
          `content-length: ${Buffer.byteLength(text)}`,
        ];
        connection.write(`${[...lines, ...headers.map(([name, value]) => `${name}: ${value}`)].join("\r\n")}\r\n\r\n`);
        connection.socket.write(text, "utf8");
        const answer = await connection.until(/^HTTP\/1.1 \d\d\d /);
        connection.socket.destroy();
        expect(answer).toMatch(/^HTTP\/1.1 [234]/);
      },
    ),
    { numRuns: 300 },
  );
  expect((await send(port, { method: "GET", path: "/readyz" })).status).toBe(200);
});

test("bytes that are no HTTP at all end their connection and nothing else", async () => {
  const { port } = await startServer();
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (bytes) => {
      const connection = new RawConnection(port);
      connection.socket.write(bytes);
      connection.socket.end();
      await connection.untilClosed();
      expect(connection.received).toMatch(/^(HTTP\/1.1 4|$)/);
    }),
    { numRuns: 100 },
  );
  expect((await send(port, { method: "GET", path: "/readyz" })).status).toBe(200);
});

test("slow senders and idle connections have their times", async () => {
  const { app } = await startServer();
  expect([app.server.headersTimeout, app.server.requestTimeout, app.server.keepAliveTimeout]).toEqual([
    30_000, 120_000, 72_000,
  ]);
  expect(app.server.timeout).toBe(0);
  expect(serverLimits.drainDeadlineMs).toBe(10_000);
});
