import { expect, test } from "vitest";
import { OnceKvError } from "../../src/base/errors.js";
import { documentOf, problemOf, resultOf, sharedServer, startServer, withMethods } from "./test-server.js";

const note = "/v1/documents/note/n-1";
const shared = sharedServer();

test("a put creates with 201 and replaces with 200, and its ETag is the revision", async () => {
  const { request } = await startServer();
  const created = await request("PUT", note, { body: { set: { text: "one" }, ttl: 60 } });
  expect(created.status).toBe(201);
  expect(resultOf(created)).toEqual({ revision: 1, expires_at: "2026-01-01T00:01:00.000Z", created: true });
  expect(created.headers.etag).toBe('"1"');
  expect(created.headers["content-type"]).toBe("application/json; charset=utf-8");

  const replaced = await request("PUT", note, { body: { set: { text: "two" } } });
  expect(replaced.status).toBe(200);
  expect(resultOf(replaced)).toEqual({ revision: 2, expires_at: null, created: false });
  expect(replaced.headers.etag).toBe('"2"');
});

test("a read shows the whole document under its ETag", async () => {
  const { request } = await startServer();
  await request("PUT", note, { body: { set: { text: "one" } } });
  const answer = await request("GET", note);
  expect(answer.status).toBe(200);
  expect(answer.headers.etag).toBe('"1"');
  expect(documentOf(answer)).toEqual({
    shape: "note",
    id: "n-1",
    fields: { text: "one" },
    revision: 1,
    created_revision: 1,
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    expires_at: null,
    as_of: "2026-01-01T00:00:00.000Z",
  });
});

test("HEAD answers with the headers of GET and no body", async () => {
  const { request } = await startServer();
  await request("PUT", note, { body: { set: {} } });
  const answer = await request("HEAD", note);
  expect([answer.status, answer.headers.etag, answer.text]).toEqual([200, '"1"', ""]);
});

test("an absent document is a 404 with a code that no proxy makes", async () => {
  const { request } = await startServer();
  expect(problemOf(await request("GET", note))).toEqual({ status: 404, code: "not_found" });
  expect(problemOf(await request("PATCH", note, { body: { merge: { a: 1 } } }))).toEqual({
    status: 404,
    code: "not_found",
  });
});

test("a patch merges, renews, and answers with the new revision", async () => {
  const { request, clock } = await startServer();
  await request("PUT", note, { body: { set: { keep: 1, drop: 2, deep: { a: 1, b: 2 } }, ttl: 10 } });
  clock.advance(5000);
  const merged = await request("PATCH", note, { body: { merge: { drop: null, deep: { b: null } } } });
  expect([merged.status, merged.headers.etag]).toEqual([200, '"2"']);
  expect(resultOf(merged).expires_at).toBe("2026-01-01T00:00:10.000Z");
  const renewed = await request("PATCH", note, { body: { ttl: 10 } });
  expect(resultOf(renewed).expires_at).toBe("2026-01-01T00:00:15.000Z");
  expect(documentOf(await request("GET", note)).fields).toEqual({ keep: 1, deep: { a: 1 } });
});

test("a delete answers 200, also when there was nothing, and carries no ETag of something that is gone", async () => {
  const { request } = await startServer();
  await request("PUT", note, { body: { set: {} } });
  const gone = await request("DELETE", note);
  expect([gone.status, gone.headers.etag]).toEqual([200, undefined]);
  expect(resultOf(gone)).toEqual({ revision: 2, expires_at: null, created: false });
  const again = await request("DELETE", note);
  expect([again.status, resultOf(again).revision]).toEqual([200, 2]);
});

test.each(["PUT", "PATCH"])("return: document puts the new document into the answer of %s", async (method) => {
  const { request } = await startServer();
  await request("PUT", note, { body: { set: { a: 1 } } });
  const body = { [method === "PUT" ? "set" : "merge"]: { b: 2 }, return: "document" };
  const { document } = resultOf(await request(method, note, { body }));
  expect(document?.fields).toEqual(method === "PUT" ? { b: 2 } : { a: 1, b: 2 });
  expect(document?.revision).toBe(2);
});

test("a delete returns the document that went, asked in the body or in the query", async () => {
  const { request } = await startServer();
  for (const options of [{ path: `${note}?return=document` }, { path: note, body: { return: "document" } }]) {
    await request("PUT", note, { body: { set: { a: 1 } } });
    const answer = await request("DELETE", options.path, options.body === undefined ? {} : { body: options.body });
    expect(resultOf(answer).document?.fields).toEqual({ a: 1 });
  }
  expect(resultOf(await request("DELETE", `${note}?return=document`)).document).toBeNull();
  expect(problemOf(await request("DELETE", `${note}?return=everything`))).toEqual({
    status: 400,
    code: "invalid_request",
    path: "return",
  });
});

test("the same Idempotency-Key gives the first answer again, with its status and a mark", async () => {
  const { request } = await startServer();
  const headers = { "idempotency-key": "w-1" };
  const body = { set: { a: 1 }, if_match: { exists: false } };
  const first = await request("PUT", note, { headers, body });
  expect([first.status, first.headers["idempotent-replayed"]]).toEqual([201, undefined]);
  const again = await request("PUT", note, { headers, body });
  expect([again.status, again.headers["idempotent-replayed"], again.headers.etag]).toEqual([201, "true", '"1"']);
  expect(resultOf(again)).toEqual({ ...resultOf(first), replayed: true });
});

test("a quoted Idempotency-Key is the same key as a bare one", async () => {
  const { request } = await startServer();
  await request("PUT", note, { headers: { "idempotency-key": "w-1" }, body: { set: {} } });
  const again = await request("PUT", note, { headers: { "idempotency-key": '"w-1"' }, body: { set: {} } });
  expect(again.headers["idempotent-replayed"]).toBe("true");
});

test("the same Idempotency-Key with another request is 422 and writes nothing", async () => {
  const { request, store } = await startServer();
  const headers = { "idempotency-key": "w-1" };
  await request("PUT", note, { headers, body: { set: { a: 1 } } });
  const answer = await request("PUT", note, { headers, body: { set: { a: 2 } } });
  expect(problemOf(answer)).toEqual({ status: 422, code: "write_id_conflict" });
  expect(await store.get("note", "n-1")).toEqual({ a: 1 });
});

test.each([
  ["empty", '""'],
  ["an open quote", '"abc'],
  ["not ASCII", "k\u00e9y"],
  ["longer than 255 characters", "k".repeat(256)],
])("an Idempotency-Key that is %s is refused, not ignored", async (_, key) => {
  const { request, store } = shared();
  const before = store.revision;
  const answer = await request("PUT", note, { headers: { "idempotency-key": key }, body: { set: {} } });
  expect(problemOf(answer)).toMatchObject({ status: 400, code: "invalid_request" });
  expect(store.revision).toBe(before);
});

test("a batch is one commit with one result an operation, and may be repeated by its key", async () => {
  const { request } = await startServer();
  await request("PUT", "/v1/documents/note/a", { body: { set: { n: 1 } } });
  const operations = [
    { op: "check", shape: "note", id: "a", if_match: { revision: 1 } },
    { op: "put", shape: "note", id: "b", set: { n: 2 }, return: "document" },
    { op: "delete", shape: "note", id: "c" },
  ];
  const headers = { "idempotency-key": "b-1" };
  const answer = await request("POST", "/v1/batch", { headers, body: { operations } });
  expect(answer.status).toBe(200);
  expect(answer.json).toMatchObject({
    revision: 2,
    results: [{}, { created: true, document: { fields: { n: 2 } } }, {}],
  });
  const again = await request("POST", "/v1/batch", { headers, body: { operations } });
  expect(again.headers["idempotent-replayed"]).toBe("true");
  expect(again.json).toMatchObject({ revision: 2, replayed: true });
});

test("a batch whose condition fails is 412 with the failure's place, and nothing of it is applied", async () => {
  const { request, store } = await startServer();
  await request("PUT", "/v1/documents/note/a", { body: { set: { n: 1 } } });
  const operations = [
    { op: "put", shape: "note", id: "b", set: {} },
    { op: "patch", shape: "note", id: "a", merge: { n: 2 }, if_match: { fields: { n: 7 } } },
  ];
  const answer = await request("POST", "/v1/batch", { body: { operations } });
  expect(problemOf(answer)).toEqual({ status: 412, code: "precondition_failed" });
  expect(answer.json).toMatchObject({
    failures: [{ index: 1, shape: "note", id: "a", expected: { fields: { n: 7 } }, current: { fields: { n: 1 } } }],
  });
  expect(await store.get("note", "b")).toBeUndefined();
});

test("get-many answers in the order of the keys, null where there is nothing", async () => {
  const { request } = await startServer();
  await request("PUT", "/v1/documents/note/a", { body: { set: { n: 1 } } });
  const keys = [
    { shape: "note", id: "missing" },
    { shape: "note", id: "a" },
  ];
  const answer = await request("POST", "/v1/get-many", { body: { keys } });
  expect(answer.json).toMatchObject({ documents: [null, { id: "a", fields: { n: 1 } }] });
});

test("a list goes page by page until next is null", async () => {
  const { request } = await startServer();
  for (const id of ["a", "b/1", "b/2", "c"]) {
    await request("PUT", `/v1/documents/note/${encodeURIComponent(id)}`, { body: { set: {} } });
  }
  const page = await request("GET", "/v1/documents/note?prefix=b%2F&limit=1");
  expect(page.json).toMatchObject({ documents: [{ id: "b/1" }], next: "b/1", revision: 4 });
  const rest = await request("GET", "/v1/documents/note?prefix=b%2F&after=b%2F1");
  expect(rest.json).toMatchObject({ documents: [{ id: "b/2" }], next: null });
  const backwards = await request("GET", "/v1/documents/note?reverse=true&until=a");
  expect((backwards.json as { documents: { id: string }[] }).documents.map(({ id }) => id)).toEqual([
    "c",
    "b/2",
    "b/1",
  ]);
});

test.each([
  ["/v1/documents/note?limi=1", "limi"],
  ["/v1/documents/note?limit=0", "limit"],
  ["/v1/documents/note?limit=1001", "limit"],
  ["/v1/documents/note?limit=", "limit"],
  ["/v1/documents/note?limit=1e1", "limit"],
  ["/v1/documents/note?limit=5&limit=6", "limit"],
  ["/v1/documents/note?reverse=1", "reverse"],
  ["/v1/documents/note?reverse", "reverse"],
  ["/v1/documents/note?prefix=%FF", "prefix"],
  ["/v1/documents/note/a?limit=1", "limit"],
  ["/v1/documents/Note", "shape"],
  ["/v1/documents/note?constructor=1", "constructor"],
  ["/v1/documents/note?__proto__=1", "__proto__"],
])("%s is refused by the name of %s", async (path, name) => {
  const { request } = shared();
  expect(problemOf(await request("GET", path))).toEqual({ status: 400, code: "invalid_request", path: name });
});

test("an address that is none, and one that does not take the method, say so", async () => {
  const { request } = await startServer();
  expect(problemOf(await request("GET", "/v1/nothing"))).toEqual({ status: 404, code: "route_not_found" });
  expect(problemOf(await request("GET", "/v1/documents/note/a/b"))).toEqual({ status: 404, code: "route_not_found" });
  const wrong = await request("POST", note, { body: {} });
  expect(problemOf(wrong)).toEqual({ status: 405, code: "method_not_allowed" });
  expect(wrong.headers.allow).toBe("GET, PUT, PATCH, DELETE");
});

test("a store that is overloaded is 503 with the seconds to wait", async () => {
  const overloaded = new OnceKvError("overloaded", "too much is staged", { retryAfter: 0.25 });
  const { request } = await startServer({
    wrap: (store) => withMethods(store, { put: () => Promise.reject(overloaded) }),
  });
  const answer = await request("PUT", note, { body: { set: {} } });
  expect(problemOf(answer)).toEqual({ status: 503, code: "overloaded" });
  expect(answer.headers["retry-after"]).toBe("1");
  expect(answer.json).toMatchObject({ retryable: true, retry_after: 0.25 });
});

test("a fault of the program is 500 and tells nothing of its inside", async () => {
  const { request } = await startServer({
    wrap: (store) => withMethods(store, { put: () => Promise.reject(new TypeError("secret is not a function")) }),
  });
  const answer = await request("PUT", note, { body: { set: {} } });
  expect(problemOf(answer)).toEqual({ status: 500, code: "internal" });
  expect(answer.text).not.toContain("secret");
});
