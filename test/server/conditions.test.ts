import { expect, test } from "vitest";
import { problemOf, sharedServer, startServer } from "./test-server.js";

const note = "/v1/documents/note/n-1";
const shared = sharedServer();

/** Over a document at revision 1: the headers of a write, and the status that PUT, PATCH and DELETE answer. */
const overExisting: [Record<string, string>, number][] = [
  [{ "if-match": '"1"' }, 200],
  [{ "if-match": "*" }, 200],
  [{ "if-match": '"2"' }, 412],
  [{ "if-match": 'W/"1"' }, 412],
  [{ "if-none-match": "*" }, 412],
  [{ "if-match": "1" }, 400],
  [{ "if-match": "" }, 400],
  [{ "if-match": '""' }, 400],
  [{ "if-match": '"0"' }, 400],
  [{ "if-match": '"01"' }, 400],
  [{ "if-match": '"1.0"' }, 400],
  [{ "if-match": '"-1"' }, 400],
  [{ "if-match": '"abc"' }, 400],
  [{ "if-match": '"9007199254740993"' }, 400],
  [{ "if-match": '"1", "2"' }, 400],
  [{ "if-match": '"1' }, 400],
  [{ "if-match": 'w/"1"' }, 400],
  [{ "if-none-match": '"1"' }, 400],
  [{ "if-none-match": 'W/"1"' }, 400],
  [{ "if-none-match": "" }, 400],
  [{ "if-match": '"1"', "if-none-match": "*" }, 400],
  [{ "if-match": "*", "if-none-match": "*" }, 400],
  [{ "if-modified-since": "Wed, 21 Oct 2015 07:28:00 GMT" }, 400],
  [{ "if-unmodified-since": "Wed, 21 Oct 2015 07:28:00 GMT" }, 400],
  [{ "if-range": '"1"' }, 400],
  [{ "if-schedule-tag-match": '"1"' }, 400],
  [{ "if-match": '"1"', "if-unmodified-since": "Wed, 21 Oct 2015 07:28:00 GMT" }, 400],
];

const bodies: Record<string, object | undefined> = {
  PUT: { set: { new: 1 } },
  PATCH: { merge: { new: 1 } },
  DELETE: undefined,
};

/** The rows are written for a document at revision 1; these are the same headers for the revision that it has. */
function forRevision(headers: Record<string, string>, revision: number): Record<string, string> {
  const rows = Object.entries(headers).map(([name, value]): [string, string] => [
    name,
    value.replaceAll('"1"', `"${revision}"`).replaceAll('"2"', `"${revision + 1000}"`),
  ]);
  return Object.fromEntries(rows);
}

test.each(overExisting)(
  "a write over revision 1 with %o answers %i, and is done only with 200",
  async (headers, status) => {
    const { request, store } = shared();
    for (const [method, body] of Object.entries(bodies)) {
      const { revision } = await store.put({ shape: "note", id: "row", set: { old: 1 } });
      const answer = await request(method, "/v1/documents/note/row", {
        headers: forRevision(headers, revision),
        ...(body === undefined ? {} : { body }),
      });
      expect(answer.status, method).toBe(status);
      if (status === 200) expect(store.revision).toBe(revision + 1);
      else {
        expect(problemOf(answer).code).toBe(status === 412 ? "precondition_failed" : "invalid_request");
        expect(await store.get("note", "row")).toEqual({ old: 1 });
        expect(store.revision).toBe(revision);
      }
    }
  },
);

test.each([
  [{ "if-match": '"5"' }, 412],
  [{ "if-match": "*" }, 412],
  [{ "if-match": 'W/"5"' }, 412],
] as [Record<string, string>, number][])(
  "a write over nothing with %o answers %i and creates nothing",
  async (headers, status) => {
    const { request, store } = shared();
    const before = store.revision;
    for (const [method, body] of Object.entries(bodies)) {
      const answer = await request(method, "/v1/documents/nothing/a", {
        headers,
        ...(body === undefined ? {} : { body }),
      });
      expect(answer.status, method).toBe(status);
      expect(store.revision).toBe(before);
    }
  },
);

test("If-None-Match: * creates where there is nothing", async () => {
  const { request } = await startServer();
  expect((await request("PUT", note, { headers: { "if-none-match": "*" }, body: { set: {} } })).status).toBe(201);
});

test("of many creates at the same time exactly one wins", async () => {
  const { request, store } = await startServer();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, caller) =>
      request("PUT", note, { headers: { "if-none-match": "*" }, body: { set: { caller } } }),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 412)]);
  const winner = answers.findIndex(({ status }) => status === 201);
  expect(await store.get("note", "n-1")).toEqual({ caller: winner });
  expect(store.revision).toBe(1);
});

test("a counter that is incremented by read and If-Match ends at the exact sum", async () => {
  const { request, store } = await startServer();
  await store.put({ shape: "note", id: "n-1", set: { count: 0 } });
  const increment = async (): Promise<void> => {
    for (;;) {
      const read = await request("GET", note);
      const { count } = (read.json as { fields: { count: number } }).fields;
      const headers = { "if-match": read.headers.etag ?? "" };
      const write = await request("PUT", note, { headers, body: { set: { count: count + 1 } } });
      if (write.status === 200) return;
      expect(write.status).toBe(412);
    }
  };
  await Promise.all(Array.from({ length: 10 }, increment));
  expect(await store.get("note", "n-1")).toEqual({ count: 10 });
});

test("a condition in the headers and one in the body together are refused", async () => {
  const { request, store } = await startServer();
  const body = { set: {}, if_match: { exists: false } };
  const answer = await request("PUT", note, { headers: { "if-none-match": "*" }, body });
  expect(problemOf(answer)).toEqual({ status: 400, code: "invalid_request", path: "if_match" });
  expect(store.revision).toBe(0);
});

test("a failed condition tells what is there instead, so that the loser needs no second read", async () => {
  const { request, store } = await startServer();
  await store.put({ shape: "note", id: "n-1", set: { owner: "first" } });
  const answer = await request("PUT", note, { body: { set: {}, if_match: { fields: { owner: "second" } } } });
  expect(problemOf(answer)).toEqual({ status: 412, code: "precondition_failed" });
  expect(answer.json).toMatchObject({
    type: "urn:oncekv:error:precondition_failed",
    retryable: false,
    failures: [
      {
        index: 0,
        shape: "note",
        id: "n-1",
        expected: { fields: { owner: "second" } },
        current: { fields: { owner: "first" }, revision: 1 },
      },
    ],
  });
});

test("a weak tag is 412 with an empty list of failures, since nothing was compared", async () => {
  const { request } = await startServer();
  const answer = await request("PUT", note, { headers: { "if-match": 'W/"1"' }, body: { set: {} } });
  expect(answer.json).toMatchObject({ status: 412, failures: [] });
});

test.each(["if-match", "if-none-match", "if-modified-since"])(
  "a batch refuses the header %s, not ignores it",
  async (name) => {
    const { request, store } = shared();
    const before = store.revision;
    const body = { operations: [{ op: "put", shape: "note", id: "a", set: {} }] };
    const answer = await request("POST", "/v1/batch", { headers: { [name]: "*" }, body });
    expect(problemOf(answer)).toMatchObject({ status: 400, code: "invalid_request" });
    expect(store.revision).toBe(before);
  },
);

test.each([
  ['"1"', 304],
  ['W/"1"', 304],
  ['"2"', 200],
  ['"0"', 200],
  ["1", 400],
  ["*", 400],
  ['"1", "2"', 400],
])("a read of revision 1 with If-None-Match: %s answers %i", async (tag, status) => {
  const { request, store } = shared();
  const { revision } = await store.put({ shape: "note", id: "read", set: {} });
  const headers = forRevision({ "if-none-match": tag }, revision);
  const answer = await request("GET", "/v1/documents/note/read", { headers });
  expect(answer.status).toBe(status);
  if (status !== 400) expect(answer.headers.etag).toBe(`"${revision}"`);
  if (status === 304) expect(answer.text).toBe("");
});

test.each([
  ['"0"', 304],
  ['"1"', 404],
])("a read of nothing with If-None-Match: %s answers %i", async (tag, status) => {
  const { request } = shared();
  expect((await request("GET", "/v1/documents/nothing/a", { headers: { "if-none-match": tag } })).status).toBe(status);
});

test("a read refuses the conditions that it does not carry out", async () => {
  const { request } = await startServer();
  for (const path of [note, "/v1/documents/note", "/v1/changes"]) {
    const answer = await request("GET", path, { headers: { "if-match": '"1"' } });
    expect(problemOf(answer)).toEqual({ status: 400, code: "invalid_request", path: "If-Match" });
  }
});

test("an expired document is absent for a condition from its deadline on", async () => {
  const { request, clock } = await startServer();
  await request("PUT", note, { body: { set: {}, ttl: 1 } });
  clock.advance(999);
  expect((await request("PUT", note, { headers: { "if-none-match": "*" }, body: { set: {} } })).status).toBe(412);
  clock.advance(1);
  expect((await request("PUT", note, { headers: { "if-match": '"1"' }, body: { set: {} } })).status).toBe(412);
  expect((await request("PUT", note, { headers: { "if-none-match": "*" }, body: { set: {} } })).status).toBe(201);
});
