import { expect, test } from "vitest";
import { createServer, newToken, type TokenEntry } from "../../server/index.js";
import { openMemoryStore } from "../../src/level/index.js";
import { EventReader } from "./events.js";
import { problemOf, resultOf, startServer, type TestServer } from "./test-server.js";

const note = "/v1/documents/note/n-1";

interface Guarded extends TestServer {
  readonly as: { readonly [name: string]: { authorization: string } };
}

/** A server with a token for each of these, by name. */
async function startGuarded(
  scopes: Record<string, { read: string[]; write: string[]; expires_at?: string }>,
): Promise<Guarded> {
  const as: Record<string, { authorization: string }> = {};
  const tokens: TokenEntry[] = [];
  for (const [name, scope] of Object.entries(scopes)) {
    const { token, entry } = newToken(name, scope);
    as[name] = { authorization: `Bearer ${token}` };
    tokens.push(entry);
  }
  return { ...(await startServer({ tokens })), as };
}

const all = { read: ["*"], write: ["*"] };

test.each([
  ["no header", {}],
  ["another scheme", { authorization: "Basic dXNlcjpwYXNz" }],
  ["no token", { authorization: "Bearer" }],
  ["an unknown token", { authorization: "Bearer okv_unknown" }],
  ["a token with something behind it", { authorization: "Bearer okv_a okv_b" }],
] as [string, Record<string, string>][])(
  "with %s every guarded route is 401, and says which scheme it wants",
  async (_, headers) => {
    const { request, store } = await startGuarded({ root: all });
    const requests = [
      ["GET", note],
      ["PUT", note],
      ["PATCH", note],
      ["DELETE", note],
      ["GET", "/v1/documents/note"],
      ["POST", "/v1/batch"],
      ["POST", "/v1/get-many"],
      ["GET", "/v1/changes"],
      ["GET", "/v1/stats"],
      ["GET", "/metrics"],
      ["GET", "/openapi.json"],
    ] as const;
    for (const [method, path] of requests) {
      const answer = await request(method, path, { headers, ...(method === "GET" ? {} : { body: { set: {} } }) });
      expect(problemOf(answer), path).toEqual({ status: 401, code: "unauthorized" });
      expect(answer.headers["www-authenticate"]).toBe("Bearer");
    }
    expect(store.revision).toBe(0);
  },
);

test("health needs no token", async () => {
  const { request } = await startGuarded({ root: all });
  expect((await request("GET", "/healthz")).status).toBe(200);
  expect((await request("GET", "/readyz")).status).toBe(200);
});

test("a token opens what its scopes name, and 403 tells what it does not", async () => {
  const { request, as } = await startGuarded({
    root: all,
    worker: { read: ["note"], write: ["note"] },
    reader: { read: ["note"], write: [] },
  });
  expect((await request("PUT", note, { headers: as["worker"] ?? {}, body: { set: {} } })).status).toBe(201);
  expect((await request("GET", note, { headers: as["reader"] ?? {} })).status).toBe(200);
  const denied = await request("PUT", note, { headers: as["reader"] ?? {}, body: { set: {} } });
  expect(problemOf(denied)).toEqual({ status: 403, code: "forbidden" });
  expect(denied.text).toContain('token \\"reader\\" may not write the shape \\"note\\"');
  for (const [method, path, body] of [
    ["GET", "/v1/documents/other/a", undefined],
    ["PUT", "/v1/documents/other/a", { set: {} }],
    ["PATCH", "/v1/documents/other/a", { merge: {} }],
    ["DELETE", "/v1/documents/other/a", undefined],
    ["GET", "/v1/documents/other", undefined],
    ["GET", "/v1/changes?shape=other", undefined],
    ["GET", "/v1/changes", undefined],
    [
      "POST",
      "/v1/get-many",
      {
        keys: [
          { shape: "note", id: "a" },
          { shape: "other", id: "a" },
        ],
      },
    ],
    ["POST", "/v1/batch", { operations: [put("note"), put("other")] }],
    ["POST", "/v1/batch", { operations: [put("note"), check("other")] }],
  ] as const) {
    const headers = as["worker"] ?? {};
    const answer = await request(method, path, { headers, ...(body === undefined ? {} : { body }) });
    expect(problemOf(answer), `${method} ${path}`).toEqual({ status: 403, code: "forbidden" });
  }
});

function put(shape: string): object {
  return { op: "put", shape, id: "a", set: {} };
}

function check(shape: string): object {
  return { op: "check", shape, id: "a", if_match: { exists: false } };
}

test("a token that may only write sees nothing of what is there: not in a result, not in a failure", async () => {
  const { request, as, store } = await startGuarded({ writer: { read: [], write: ["note"] } });
  const headers = as["writer"] ?? {};
  await store.put({ shape: "note", id: "n-1", set: { secret: 1 } });
  for (const [method, path, body] of [
    ["PUT", note, { set: {}, return: "document" }],
    ["PATCH", note, { merge: {}, return: "document" }],
    ["DELETE", note, { return: "document" }],
    ["DELETE", `${note}?return=document`, undefined],
    ["POST", "/v1/batch", { operations: [{ ...put("note"), return: "document" }] }],
  ] as const) {
    const answer = await request(method, path, { headers, ...(body === undefined ? {} : { body }) });
    expect(problemOf(answer), `${method} ${path}`).toEqual({ status: 403, code: "forbidden" });
  }
  for (const id of ["n-1", "absent"]) {
    const failed = await request("PUT", `/v1/documents/note/${id}`, {
      headers,
      body: { set: {}, if_match: { revision: 9 } },
    });
    expect(failed.status).toBe(412);
    expect(failed.json).toMatchObject({ failures: [{ id, current: null, current_omitted: true }] });
  }
});

test("of a batch's failures a token sees those of the shapes that it may read", async () => {
  const { request, as, store } = await startGuarded({ mixed: { read: ["note"], write: ["note", "hidden"] } });
  await store.put({ shape: "note", id: "a", set: { n: 1 } });
  await store.put({ shape: "hidden", id: "a", set: { n: 2 } });
  const operations = [
    { ...put("note"), if_match: { exists: false } },
    { ...put("hidden"), if_match: { exists: false } },
  ];
  const answer = await request("POST", "/v1/batch", { headers: as["mixed"] ?? {}, body: { operations } });
  expect(answer.json).toMatchObject({
    failures: [
      { shape: "note", current: { fields: { n: 1 } } },
      { shape: "hidden", current: null, current_omitted: true },
    ],
  });
});

test("two tokens with the same Idempotency-Key do not meet", async () => {
  const { request, as } = await startGuarded({ one: all, two: all });
  const send = (name: string, n: number) =>
    request("PUT", note, { headers: { ...as[name], "idempotency-key": "same" }, body: { set: { n } } });
  expect((await send("one", 1)).status).toBe(201);
  const other = await send("two", 2);
  expect([other.status, other.headers["idempotent-replayed"]]).toEqual([200, undefined]);
  expect((await send("one", 1)).headers["idempotent-replayed"]).toBe("true");
  expect(resultOf(await send("one", 1)).revision).toBe(1);
});

test("a token that has expired is 401 from that instant on, and ends the streams it has opened", async () => {
  const { request, as, clock, port } = await startGuarded({ brief: { ...all, expires_at: "2026-01-01T00:00:10Z" } });
  const headers = as["brief"] ?? {};
  const stream = await EventReader.open(port, "/v1/changes", as["brief"]);
  await stream.next();
  clock.advance(9_999);
  expect((await request("GET", "/v1/stats", { headers })).status).toBe(200);
  clock.advance(1);
  const refused = await request("GET", "/v1/stats", { headers });
  expect(problemOf(refused)).toEqual({ status: 401, code: "unauthorized" });
  expect(refused.text).toContain("expired");
  expect(await stream.next()).toMatchObject({ event: "error", data: { code: "unauthorized" } });
  expect(await stream.next()).toBeUndefined();
});

test("a body is not read before its sender is known", async () => {
  const { request } = await startGuarded({ root: all });
  const answer = await request("PUT", note, { headers: { "content-type": "application/json" }, body: "not JSON" });
  expect(problemOf(answer)).toEqual({ status: 401, code: "unauthorized" });
});

test("the scheme's name is read in any case", async () => {
  const { request, as } = await startGuarded({ root: all });
  const authorization = (as["root"]?.authorization ?? "").replace("Bearer", "bearer");
  expect((await request("GET", "/v1/stats", { headers: { authorization } })).status).toBe(200);
});

test("a server is not made with tokens that a file could not hold, nor with none at all", async () => {
  const store = await openMemoryStore();
  const { entry } = newToken("worker", all);
  expect(() => createServer({ store, tokens: [] })).toThrow(expect.objectContaining({ path: "tokens" }));
  const short = { ...entry, sha256: "abc" };
  expect(() => createServer({ store, tokens: [short] })).toThrow(expect.objectContaining({ path: "tokens[0].sha256" }));
  await store.close();
});

test("a server without tokens answers to the names of this machine only, so that no web page reaches it by another", async () => {
  const { request } = await startServer();
  for (const host of ["localhost", "localhost:7070", "127.0.0.1:7070", "[::1]:7070", "LOCALHOST"]) {
    expect((await request("GET", note, { headers: { host } })).status, host).toBe(404);
  }
  for (const host of ["attacker.example", "attacker.example:7070", "127.0.0.1.attacker.example"]) {
    const answer = await request("PUT", note, { headers: { host }, body: { set: {} } });
    expect(answer.status, host).toBe(403);
    expect(problemOf(answer)).toMatchObject({ code: "forbidden" });
  }
  const guarded = await startGuarded({ root: all });
  const headers = { host: "store.example", ...guarded.as["root"] };
  expect((await guarded.request("GET", note, { headers })).status).toBe(404);
});
