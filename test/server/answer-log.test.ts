import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, test } from "vitest";
import { newToken } from "../../server/index.js";
import { EventReader } from "./events.js";
import { until } from "./gate.js";
import { startServer, withMethods } from "./test-server.js";

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [name: string]: unknown;
}

/** A logger whose lines a test reads. */
function memoryLogger(level = "info") {
  const lines: Line[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(JSON.parse(chunk.toString("utf8")) as Line);
      done();
    },
  });
  return { lines, logger: pino({ level }, stream) };
}

test("an answer is one line that names the route, the shape, the status and the time", async () => {
  const { lines, logger } = memoryLogger();
  const { request } = await startServer({ logger });
  await request("PUT", "/v1/documents/note/n-1", { body: { set: {} } });
  await until(() => lines.some(({ msg }) => msg === "answered"));
  const answers = lines.filter(({ msg }) => msg === "answered");
  expect(answers).toHaveLength(1);
  expect(answers[0]).toMatchObject({
    level: 30,
    method: "PUT",
    route: "/v1/documents/{shape}/{id}",
    shape: "note",
    status: 201,
    request: expect.any(String),
    ms: expect.any(Number),
  });
});

test("the log holds no document, no id, no key and no token, whatever happens", async () => {
  const { lines, logger } = memoryLogger("trace");
  const { token, entry } = newToken("worker", { read: ["*"], write: ["*"] });
  const { request, port, store } = await startServer({ logger, tokens: [entry] });
  const authorization = `Bearer ${token}`;
  const headers = { authorization, "idempotency-key": "secret-key" };
  const path = "/v1/documents/note/secret-id";
  const body = { set: { a: "secret-value" }, if_match: { exists: false } };
  await request("PUT", path, { headers, body });
  await request("PUT", path, { headers: { authorization }, body });
  await request("PUT", path, { headers, body: { set: { a: "secret-other" } } });
  await request("PUT", path, { headers, body: { sett: { a: "secret-value" } } });
  await request("PUT", path, {
    headers: { ...headers, "content-type": "application/json" },
    body: '{"a":"secret-value"',
  });
  await request("GET", path, { headers });
  await request("GET", `${path}/secret-route`, { headers });
  await request("GET", "/v1/documents/secret%20shape/a", { headers });
  await request("GET", "/v1/documents/note/secret%zz", { headers });
  await request("GET", "/v1/documents/note?prefix=secret-prefix", { headers });
  await request("GET", path, { headers: { authorization: "Bearer secret-token" } });
  const stream = await EventReader.open(port, "/v1/changes?since=0&shape=note&id=secret-id", { authorization });
  await stream.nextCommit();
  stream.close();
  await until(() => store.stats().watchers === 0);
  await until(() => lines.filter(({ msg }) => msg === "answered").length === 12);
  expect(JSON.stringify(lines)).not.toMatch(/secret/);
  expect(JSON.stringify(lines)).not.toContain(token);
});

test("a fault of the program is logged with its stack, under the id that the answer names", async () => {
  const { lines, logger } = memoryLogger();
  const { request } = await startServer({
    logger,
    wrap: (store) => withMethods(store, { put: () => Promise.reject(new TypeError("x is not a function")) }),
  });
  const answer = await request("PUT", "/v1/documents/note/n-1", { body: { set: {} } });
  const fault = lines.find(({ level }) => level === 50);
  expect(fault).toMatchObject({
    err: { message: expect.stringContaining("x is not a function"), stack: expect.any(String) },
  });
  expect(answer.text).toContain(String(fault?.["request"]));
});

test("refused requests are no errors in the log", async () => {
  const { lines, logger } = memoryLogger();
  const { request } = await startServer({ logger });
  await request("PUT", "/v1/documents/note/n-1", { body: {} });
  await request("GET", "/v1/documents/note/n-1");
  await until(() => lines.filter(({ msg }) => msg === "answered").length === 2);
  expect(lines.filter(({ level }) => level > 30)).toEqual([]);
});

test("a client that goes away during a wait is noted as gone", async () => {
  const { lines, logger } = memoryLogger();
  const { request, store } = await startServer({ logger });
  const client = new AbortController();
  const waiting = request("GET", "/v1/documents/note/a", { headers: { prefer: "wait=30" }, signal: client.signal });
  await until(() => store.stats().waiters === 1);
  client.abort();
  await expect(waiting).rejects.toThrow();
  await until(() => lines.some(({ msg }) => msg === "answered"));
  expect(lines.find(({ msg }) => msg === "answered")).toMatchObject({
    route: "/v1/documents/{shape}/{id} (wait)",
    status: 499,
  });
});

test("a logger that asks for warnings only gets no line for an answer", async () => {
  const { lines, logger } = memoryLogger("warn");
  const { request } = await startServer({ logger });
  await request("GET", "/healthz");
  expect(lines).toEqual([]);
});
