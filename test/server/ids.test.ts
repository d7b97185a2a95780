import { expect, test } from "vitest";
import { RawConnection } from "./http.js";
import { documentOf, problemOf, sharedServer, startServer } from "./test-server.js";

const shared = sharedServer();

/** As the client writes an id into an address. */
function path(id: string): string {
  const encoded = id === "." || id === ".." ? id.replaceAll(".", "%2E") : encodeURIComponent(id);
  return `/v1/documents/note/${encoded}`;
}

test("every id that the store takes is reached, and never leads to another document", async () => {
  const { request, store } = await startServer();
  const ids = [
    "a/b",
    "a%2Fb",
    "a%252Fb",
    "50%",
    "a+b",
    "a b",
    "a;b",
    "a#b",
    "a?b=c",
    "a&b",
    "a=b",
    "..",
    ".",
    "../other",
    "/",
    "//",
    "%",
    "%00",
    "a\u0000b",
    " ",
    "trailing ",
    "\u00ff",
    "\u0444",
    "\u4e2d",
    "\u{1f600}",
    "\uffff",
    "caf\u00e9",
    "cafe\u0301",
    "\\",
    '"',
    "a".repeat(100),
    "a".repeat(101),
    "a".repeat(500),
    "\u4e2d".repeat(60),
    "\u{1f600}".repeat(256),
    "a".repeat(1024),
  ];
  for (const [index, id] of ids.entries()) await store.put({ shape: "note", id, set: { index } });
  for (const [index, id] of ids.entries()) {
    expect(documentOf(await request("GET", path(id)))).toMatchObject({ id, fields: { index } });
  }
  for (const [index, id] of ids.entries()) {
    expect((await request("PUT", path(id), { body: { set: { again: index } } })).status).toBe(200);
    expect(await store.get("note", id)).toEqual({ again: index });
    expect((await request("DELETE", path(id))).status).toBe(200);
    expect(await store.get("note", id)).toBeUndefined();
  }
});

test.each([
  ["an empty id", "/v1/documents/note/"],
  ["1,025 bytes", path("a".repeat(1025))],
  ["1,026 bytes in 342 characters", path("\u4e2d".repeat(342))],
])("%s is refused with the limit, not answered as absent", async (_, address) => {
  const { request } = shared();
  for (const method of ["GET", "DELETE"]) {
    expect(problemOf(await request(method, address))).toEqual({ status: 400, code: "invalid_request", path: "id" });
  }
  const put = await request("PUT", address, { body: { set: {} } });
  expect(problemOf(put)).toEqual({ status: 400, code: "invalid_request", path: "id" });
});

test.each([
  ["a percent sign that stands alone", "/v1/documents/note/50%"],
  ["a percent sign before no digits", "/v1/documents/note/%zz"],
  ["half a percent sequence", "/v1/documents/note/%2"],
  ["bytes that are not UTF-8", "/v1/documents/note/%ff"],
  ["half a character", "/v1/documents/note/%e4%b8"],
  ["a surrogate", "/v1/documents/note/%ed%a0%bd"],
  ["a fragment, which would cut the id short", "/v1/documents/note/a#b"],
])("%s in an address is refused", async (_, address) => {
  const { request, store } = shared();
  await store.put({ shape: "note", id: "a", set: {} });
  expect(problemOf(await request("GET", address))).toEqual({ status: 400, code: "invalid_request" });
});

test("bytes beyond ASCII that were not percent-encoded are refused, not read as Latin-1", async () => {
  const { port, store } = await startServer();
  const connection = new RawConnection(port);
  connection.write("PUT /v1/documents/note/\u00c3\u00a9 HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n");
  connection.write('content-length: 10\r\nconnection: close\r\n\r\n{"set":{}}');
  expect(await connection.untilClosed()).toMatch(/^HTTP\/1.1 400 /);
  expect(store.revision).toBe(0);
});
