import { expect, test } from "vitest";
import { oneConnection, RawConnection } from "./http.js";
import { problemOf, resultOf, sharedServer, startServer } from "./test-server.js";

const note = "/v1/documents/note/n-1";
const shared = sharedServer();
const json = { "content-type": "application/json" };

test("a DELETE with the content type of JSON and no body works", async () => {
  const { request, store } = await startServer();
  for (const options of [
    { headers: json },
    { headers: { ...json, "content-length": "0" } },
    { headers: { "content-type": "application/json; charset=utf-8" }, body: "" },
    { headers: json, body: "{}" },
    {},
  ]) {
    await store.put({ shape: "note", id: "n-1", set: {} });
    expect((await request("DELETE", note, options)).status).toBe(200);
    expect(await store.get("note", "n-1")).toBeUndefined();
  }
});

test("a DELETE's body is judged like any other", async () => {
  const { request, store } = await startServer();
  await store.put({ shape: "note", id: "n-1", set: {} });
  expect((await request("DELETE", note, { body: { if_match: { revision: 9 } } })).status).toBe(412);
  expect(problemOf(await request("DELETE", note, { body: { iff_match: {} } }))).toMatchObject({ path: "iff_match" });
  expect((await request("DELETE", note, { headers: json, body: "null" })).status).toBe(400);
  expect(await store.get("note", "n-1")).toEqual({});
});

test.each([
  ["no body and no content type", {}, 400],
  ["no body", { headers: json }, 400],
  ["an empty body", { headers: json, body: "" }, 400],
  ["text", { headers: { "content-type": "text/plain" }, body: '{"set":{}}' }, 415],
  ["no content type", { headers: {}, body: '{"set":{}}' }, 415],
  ["a form", { headers: { "content-type": "application/x-www-form-urlencoded" }, body: "set=1" }, 415],
  ["a content type that is none", { headers: { "content-type": "json" }, body: '{"set":{}}' }, 415],
  ["another charset", { headers: { "content-type": "application/json; charset=latin1" }, body: '{"set":{}}' }, 415],
  ["an array", { headers: json, body: "[]" }, 400],
  ["a text that is not JSON", { headers: json, body: '{"set":{}' }, 400],
  ["a byte order mark", { headers: json, body: '\ufeff{"set":{}}' }, 400],
  ["NaN", { headers: json, body: '{"set":{"x":NaN}}' }, 400],
] as const)("a PUT with %s is refused", async (_, options, status) => {
  const { request, store } = shared();
  const before = store.revision;
  const answer = await request("PUT", note, options);
  expect(problemOf(answer)).toMatchObject({
    status,
    code: status === 415 ? "unsupported_media_type" : "invalid_request",
  });
  expect(store.revision).toBe(before);
});

test.each([
  "application/json",
  "application/json; charset=utf-8",
  'application/json;charset="UTF-8"',
  "Application/JSON",
])("a PUT with the content type %s is read", async (contentType) => {
  const { request } = shared();
  const path = `/v1/documents/content-type/${encodeURIComponent(contentType)}`;
  const answer = await request("PUT", path, { headers: { "content-type": contentType }, body: '{"set":{}}' });
  expect(answer.status).toBe(201);
});

test("bytes that are not UTF-8 are refused, not replaced", async () => {
  const { request, store } = await startServer();
  const body = Buffer.concat([Buffer.from('{"set":{"a":"'), Buffer.from([0xc3]), Buffer.from('"}}')]);
  expect(problemOf(await request("PUT", note, { headers: json, body }))).toMatchObject({ status: 400 });
  expect(store.revision).toBe(0);
});

test("a name that is given twice is refused by name: the first condition must not vanish", async () => {
  const { request, store } = await startServer();
  const body = '{"set":{},"if_match":{"exists":true},"if_match":{"exists":false}}';
  const answer = await request("PUT", note, { headers: json, body });
  expect(answer.status).toBe(400);
  expect(answer.text).toContain('\\"if_match\\" twice');
  expect(store.revision).toBe(0);
});

test("fields of exactly the limit are taken, in the longest JSON they can have, and one byte more is 413", async () => {
  const { request, store } = await startServer();
  const agent = oneConnection();
  // A map with one member of one letter, holding a text: 1 + 2 + 5 bytes besides the text.
  const length = store.limits.fieldsBytesMax - 8;
  const fits = `{"set":{"a":"${"\\u0001".repeat(length)}"}}`;
  expect((await request("PUT", note, { headers: json, body: fits, agent })).status).toBe(201);
  const over = `{"set":{"a":"${"\\u0001".repeat(length + 1)}"}}`;
  const answer = await request("PUT", note, { headers: json, body: over, agent });
  expect(problemOf(answer)).toMatchObject({ status: 413, code: "too_large" });
  expect(answer.text).toContain(String(store.limits.fieldsBytesMax));
});

test("a body over the limit is 413 that names it, and the connection is used again", async () => {
  const { request, app } = await startServer();
  let connections = 0;
  app.server.on("connection", () => {
    connections += 1;
  });
  const agent = oneConnection();
  const answer = await request("PUT", note, { headers: json, body: Buffer.alloc(20 * 1024 * 1024, 32), agent });
  expect(problemOf(answer)).toEqual({ status: 413, code: "too_large" });
  expect(answer.text).toMatch(/larger than \d+ bytes/);
  expect(answer.headers.connection).not.toBe("close");
  const next = await request("PUT", note, { body: { set: {} }, agent });
  expect([next.status, connections]).toEqual([201, 1]);
});

test("a chunked body over the limit is 413, and what follows it on the connection is served", async () => {
  const { port } = await startServer();
  const connection = new RawConnection(port);
  connection.write(
    `PUT ${note} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
  );
  const chunk = " ".repeat(1024 * 1024);
  for (let count = 0; count < 14; count++) connection.write(`100000\r\n${chunk}\r\n`);
  await connection.until(/^HTTP\/1.1 413 /);
  connection.write("0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n");
  expect(await connection.untilClosed()).toMatch(/HTTP\/1.1 200 OK[\s\S]*\{"status":"ok"\}$/);
});

test("a body that is not JSON leaves the connection intact", async () => {
  const { port } = await startServer();
  const connection = new RawConnection(port);
  const head = `PUT ${note} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n`;
  connection.write(`${head}content-length: 3\r\n\r\n{x}${head}content-length: 10\r\n\r\n{"set":{}}`);
  const received = await connection.until(/ 201 /);
  expect(received).toMatch(/^HTTP\/1.1 400 /);
  expect(received).not.toMatch(/connection: close/i);
  connection.socket.destroy();
});

test("a batch of eight documents of a mebibyte is taken, nine are 413", async () => {
  const { request, store } = await startServer();
  const text = "x".repeat(store.limits.fieldsBytesMax - 8);
  const operations = Array.from({ length: 9 }, (_, n) => ({ op: "put", shape: "note", id: `${n}`, set: { a: text } }));
  expect((await request("POST", "/v1/batch", { body: { operations: operations.slice(0, 8) } })).status).toBe(200);
  const answer = await request("POST", "/v1/batch", { body: { operations } });
  expect(problemOf(answer)).toMatchObject({ status: 413, code: "too_large" });
  expect(store.revision).toBe(1);
});

test("a batch of a thousand operations is taken, one more is 413", async () => {
  const { request } = await startServer();
  const operations = Array.from({ length: 1001 }, (_, n) => ({ op: "put", shape: "note", id: `${n}`, set: { n } }));
  const answer = await request("POST", "/v1/batch", { body: { operations: operations.slice(0, 1000) } });
  expect((answer.json as { results: unknown[] }).results).toHaveLength(1000);
  expect(problemOf(await request("POST", "/v1/batch", { body: { operations } }))).toEqual({
    status: 413,
    code: "too_large",
    path: "operations",
  });
});

test("what is no HTTP request is answered with a problem before the connection closes", async () => {
  const { port } = await startServer();
  const connection = new RawConnection(port);
  connection.write("NONSENSE\r\n\r\n");
  expect(await connection.untilClosed()).toMatch(
    /^HTTP\/1.1 400 [\s\S]*application\/problem\+json[\s\S]*invalid_request/,
  );
  const large = new RawConnection(port);
  large.write(`GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ${"y".repeat(20_000)}\r\n\r\n`);
  expect(await large.untilClosed()).toMatch(/^HTTP\/1.1 431 [\s\S]*"status":431/);
});

test("the result of a write is written like any other JSON", async () => {
  const { request } = await startServer();
  const answer = await request("PUT", note, { body: { set: {}, ttl: 1.5 } });
  expect(answer.text).toBe(JSON.stringify(resultOf(answer)));
});
