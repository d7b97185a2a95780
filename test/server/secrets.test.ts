import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, test } from "vitest";
import { newToken, Tokens } from "../../server/index.js";
import { OnceKvError } from "../../src/base/errors.js";
import type { EmbeddedStore } from "../../src/level/index.js";
import { EventReader } from "./events.js";
import { RawConnection } from "./http.js";
import { startServer, type TestServer, withMethods } from "./test-server.js";

/*
 * Secrets in every place of a request that can hold one, and then a look at all that the server says besides its answers to who may
 * know: its log at the level that says most, its metrics, and its errors.
 */

const secret = (place: string): string => `s3cr3t-${place}`;
const anySecret = /s3cr3t-[a-z]+/g;

interface Spoken {
  readonly log: string;
  readonly metrics: string;
  readonly errors: readonly string[];
  readonly tokens: readonly string[];
}

/** Sends requests with secrets in all places, most of them faulty, and gathers what was said. */
async function speak(wrap?: (store: EmbeddedStore) => ReturnType<typeof withMethods>): Promise<Spoken> {
  let log = "";
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      log += chunk.toString("utf8");
      done();
    },
  });
  const worker = newToken("worker", { read: ["*"], write: ["*"], requests_at_once: 20 });
  const writer = newToken("writer", { read: [], write: ["*"], admin: [] });
  const tokens = new Tokens([worker.entry, writer.entry]);
  const server = await startServer({
    logger: pino({ level: "trace" }, stream),
    tokens,
    processMetrics: true,
    ...(wrap === undefined ? {} : { wrap }),
  });
  const errors = await sendAll(server, worker.token, writer.token);
  tokens.replace([worker.entry]);
  const { text: metrics } = await server.request("GET", "/metrics", {
    headers: { authorization: `Bearer ${worker.token}` },
  });
  await server.app.close();
  return { log, metrics, errors, tokens: [worker.token, writer.token] };
}

async function sendAll(server: TestServer, workerToken: string, writerToken: string): Promise<string[]> {
  const worker = { authorization: `Bearer ${workerToken}` };
  const writer = { authorization: `Bearer ${writerToken}` };
  const json = { "content-type": "application/json" };
  const document = `/v1/documents/note/${secret("id")}`;
  const call = {
    tool: secret("tool"),
    args: { a: secret("args") },
    key: secret("key"),
    owner: secret("owner"),
    wait: 0,
  };
  const callPath = `/v1/tool-calls/${secret("tool")}:${secret("key")}`;
  await server.store.put({ shape: "note", id: secret("id"), set: { a: secret("stored") } });
  const requests: readonly [string, string, Record<string, string>, unknown?][] = [
    ["PUT", document, { ...worker, "idempotency-key": secret("header") }, { set: { a: secret("value") } }],
    ["PUT", document, { ...worker, "idempotency-key": secret("header") }, { set: { a: secret("other") } }],
    ["PUT", document, writer, { set: { a: secret("value") }, if_match: { fields: { a: secret("guess") } } }],
    ["PUT", document, writer, { set: { a: secret("value") }, return: "document" }],
    ["PUT", document, worker, { set: { a: secret("value") }, ttl: secret("ttl") }],
    ["PUT", document, worker, { set: secret("value") }],
    ["PUT", document, worker, { set: {}, if_match: { revision: secret("revision") } }],
    ["PUT", document, worker, { set: {}, return: secret("return") }],
    ["PUT", document, { ...worker, ...json }, `{"set":{"a":"${secret("value")}"`],
    ["PUT", document, { ...worker, ...json }, `{"set":${secret("value")}}`],
    ["PUT", document, { ...worker, ...json }, secret("value")],
    ["PUT", document, { ...worker, ...json }, `"${secret("value")}"`],
    ["PUT", document, { ...worker, "content-type": `text/${secret("type")}` }, secret("value")],
    ["PUT", document, { ...worker, "if-match": secret("condition") }, { set: {} }],
    ["PUT", document, { ...worker, "idempotency-key": `"${secret("header")}` }, { set: {} }],
    ["PUT", document, { ...worker, prefer: secret("prefer") }, { set: { a: `\ud800${secret("value")}` } }],
    ["PATCH", document, worker, { merge: { a: secret("value") }, if_match: { exists: secret("exists") } }],
    ["DELETE", `${document}?return=${secret("query")}`, worker],
    ["GET", `/v1/documents/note?limit=${secret("query")}`, worker],
    ["GET", `/v1/documents/note?prefix=${secret("query")}&limit=0`, worker],
    ["GET", `/v1/changes?since=${secret("query")}`, worker],
    ["GET", "/v1/changes?since=0", { ...worker, "last-event-id": secret("header") }],
    ["GET", document, { ...worker, "if-none-match": secret("header") }],
    ["GET", document, { ...worker, prefer: `wait=${secret("prefer")}` }],
    ["GET", document, writer],
    ["GET", document, { authorization: `Bearer ${secret("token")}` }],
    ["GET", document, { authorization: `Basic ${secret("password")}` }],
    ["GET", document, { cookie: secret("cookie"), "x-api-key": secret("header") }],
    ["GET", `/v1/documents/${secret("shape")}%20/a`, worker],
    ["GET", `/nothing/${secret("route")}`, worker],
    ["GET", `/v1/documents/note/${secret("id")}%zz`, worker],
    ["BREW", document, worker],
    ["POST", "/v1/batch", worker, { operations: [{ op: secret("op"), shape: "note", id: "a" }] }],
    [
      "POST",
      "/v1/batch",
      writer,
      { operations: [{ op: "check", shape: "note", id: "a", if_match: { exists: true } }] },
    ],
    ["POST", "/v1/get-many", worker, { keys: [{ shape: "note", id: 1, more: secret("value") }] }],
    ["POST", "/v1/tool-calls/claim", worker, { ...call, claim_id: secret("claim") }],
    ["POST", "/v1/tool-calls/claim", worker, call],
    ["POST", "/v1/tool-calls/claim", worker, { ...call, args: { a: secret("changed") } }],
    ["POST", "/v1/tool-calls/claim", writer, call],
    ["POST", `${callPath}/complete`, writer, { claim_id: "wrong", result: secret("result") }],
    ["POST", `${callPath}/complete`, worker, { claim_id: secret("claim"), result: secret("result") }],
    ["POST", `${callPath}/complete`, writer, { claim_id: "wrong", result: secret("result") }],
    ["POST", `${callPath}/resolve`, worker, { result: secret("result"), by: "" }],
    ["POST", `${callPath}/resolve`, writer, { result: secret("result"), by: secret("by") }],
  ];
  const errors: string[] = [];
  for (const [method, path, headers, body] of requests) {
    const answer = await server.request(method, path, { headers, ...(body === undefined ? {} : { body }) });
    if (answer.status >= 400) errors.push(`${method} ${path} -> ${answer.status}\n${answer.text}`);
  }
  const stream = await EventReader.open(server.port, `/v1/changes?since=0&shape=note&id=${secret("id")}`, worker);
  await stream.next();
  stream.close();
  for (const text of [
    `${secret("line")}\r\n\r\n`,
    `GET /${secret("path")} HTTP/1.1\r\nbad header ${secret("header")}\r\n\r\n`,
  ]) {
    const raw = new RawConnection(server.port);
    raw.write(text);
    errors.push(await raw.untilClosed());
  }
  return errors;
}

/** Where a secret has come out. */
function leaks({ log, metrics, errors, tokens }: Spoken): string[] {
  const found: string[] = [];
  const look = (where: string, text: string): void => {
    for (const [match] of text.matchAll(anySecret)) found.push(`${match} in ${where}`);
    for (const token of tokens) if (text.includes(token.slice(4, 16))) found.push(`a token in ${where}`);
  };
  look("the log", log);
  look("the metrics", metrics);
  for (const error of errors) {
    const [request = "", ...body] = error.split("\n");
    // Ids, keys and tools name what a request is about; its error names them back to who sent them.
    look(`the answer to ${request}`, body.join("\n").replace(/s3cr3t-(?:id|key|tool)\b/g, "named"));
  }
  return found;
}

test("log, metrics and errors show no token and no content, whatever a request holds and wherever", async () => {
  const spoken = await speak();
  // Otherwise nothing would have been looked at.
  expect(spoken.errors.length).toBeGreaterThan(30);
  expect(spoken.log.split("\n").length).toBeGreaterThan(40);
  expect(spoken.metrics).toContain("oncekv_http_request_duration_seconds_count");
  const told = leaks(spoken).filter((leak) => !isContract(leak));
  expect(told).toEqual([]);
});

/**
 * What the contract tells: who holds the call, to a token that may read it, and the condition that failed, to whom sent it.
 */
function isContract(leak: string): boolean {
  return /^s3cr3t-(?:owner in the answer to POST \/v1\/tool-calls\/claim -> 409|guess in the answer to PUT .* -> 412)$/.test(
    leak,
  );
}

test("a disk that fails shows nothing of what was written either", async () => {
  const failing = (store: EmbeddedStore) =>
    withMethods(store, {
      put: () =>
        Promise.reject(new OnceKvError("outcome_unknown", "the disk failed", { cause: new Error("EIO: write") })),
      patch: () => Promise.reject(new OnceKvError("store_failed", "the store failed")),
    });
  const spoken = await speak(failing);
  expect(spoken.log).toContain("EIO");
  expect(leaks(spoken).filter((leak) => !isContract(leak))).toEqual([]);
});

test("a server that put a request's address or a stored document into its errors would be found by that", async () => {
  const careless = (store: EmbeddedStore) =>
    withMethods(store, {
      put: async ({ shape, id }) => {
        throw new OnceKvError("store_failed", `cannot write over ${JSON.stringify(await store.get(shape, id))}`);
      },
    });
  const found = leaks(await speak(careless));
  expect(found.some((leak) => leak === "s3cr3t-stored in the log")).toBe(true);
  expect(found.some((leak) => leak.startsWith("s3cr3t-stored in the answer to PUT"))).toBe(true);
});
