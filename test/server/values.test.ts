import { expect, test } from "vitest";
import { EventReader } from "./events.js";
import { documentOf, problemOf, sharedServer, startServer } from "./test-server.js";

const note = "/v1/documents/note/n-1";
const shared = sharedServer();

/** Values that a typed serializer, a coercing validator or a careless encoder would change. */
const fields = {
  nothing: null,
  half: 1.5,
  large: 9007199254740991,
  small: -9007199254740991,
  nested: { z: 1, toJSON: "text", constructor: { prototype: { a: 1 } } },
  list: [1, 2, null, "", false, 0, {}, []],
  zero: 0,
  empty: "",
  no: false,
  digits: "5",
  text: 'quotes " and \\ and \u2028 and \u0000 and \u{1f600}',
  extra: true,
};

test("a value comes back exactly as it went in, on every way out", async () => {
  const { request, port } = await startServer();
  const stream = await EventReader.open(port, "/v1/changes?since=0");
  const put = await request("PUT", note, { body: { set: fields, return: "document" } });
  expect(put.json).toMatchObject({ document: { fields } });
  expect(documentOf(await request("GET", note)).fields).toEqual(fields);
  expect((await request("GET", "/v1/documents/note")).json).toMatchObject({ documents: [{ fields }] });
  const keys = [{ shape: "note", id: "n-1" }];
  expect((await request("POST", "/v1/get-many", { body: { keys } })).json).toMatchObject({ documents: [{ fields }] });
  const refused = await request("PUT", note, { body: { set: {}, if_match: { exists: false } } });
  expect(refused.json).toMatchObject({ failures: [{ current: { fields } }] });
  const { changes } = await stream.nextCommit();
  expect(changes[0]?.document?.fields).toEqual(fields);
  stream.close();
});

test("the text of a value is the same JSON, byte by byte, apart from its members' neighbours", async () => {
  const { request } = await startServer();
  const text = '{"b":[1.5,1e-7,"\\u0001",null],"a":{"x":true}}';
  await request("PUT", note, { headers: { "content-type": "application/json" }, body: `{"set":${text}}` });
  expect((await request("GET", note)).text).toContain(`"fields":${text}`);
});

test.each([
  ["ttl", '{"set":{},"ttl":""}'],
  ["ttl", '{"set":{},"ttl":false}'],
  ["ttl", '{"set":{},"ttl":"60"}'],
  ["ttl", '{"set":{},"ttl":0}'],
  ["ttl", '{"set":{},"ttl":-1}'],
  ["ttl", '{"set":{},"ttl":1e20}'],
  ["ttl", '{"set":{},"ttl":1e400}'],
  ["if_match", '{"set":{},"if_match":0}'],
  ["if_match", '{"set":{},"if_match":null}'],
  ["if_match", '{"set":{},"if_match":{}}'],
  ["if_match.revision", '{"set":{},"if_match":{"revision":"1"}}'],
  ["if_match.revision", '{"set":{},"if_match":{"revision":1.5}}'],
  ["if_match.revision", '{"set":{},"if_match":{"revision":null}}'],
  ["if_match.version", '{"set":{},"if_match":{"version":1}}'],
  ["if_match.exists", '{"set":{},"if_match":{"exists":0}}'],
  ["iff_match", '{"set":{},"iff_match":{"exists":false}}'],
  ["write_id", '{"set":{},"write_id":"w"}'],
  ["shape", '{"set":{},"shape":"other"}'],
  ["id", '{"set":{},"id":"other"}'],
  ["op", '{"set":{},"op":"put"}'],
  ["return", '{"set":{},"return":"everything"}'],
  ["return", '{"set":{},"return":true}'],
  ["set", '{"ttl":5}'],
  ["set", '{"set":[]}'],
  ["set", '{"set":null}'],
  ["set.x", '{"set":{"x":1e400}}'],
  ["set.x", '{"set":{"x":9007199254740993}}'],
  ["set.x", '{"set":{"x":"\\ud83d"}}'],
  ["set.items[3].price", '{"set":{"items":[1,2,3,{"price":-9007199254740993}]}}'],
  ["set.__proto__", '{"set":{"__proto__":{"admin":true}}}'],
  ["set.deep.__proto__", '{"set":{"deep":{"__proto__":1}}}'],
  ["__proto__", '{"set":{},"__proto__":{"if_match":1}}'],
])("%s is named in the refusal of %s, and nothing is written", async (path, body) => {
  const { request, store } = shared();
  const before = store.revision;
  const answer = await request("PUT", note, { headers: { "content-type": "application/json" }, body });
  expect(problemOf(answer)).toEqual({ status: 400, code: "invalid_request", path });
  expect(store.revision).toBe(before);
  expect(Object.hasOwn(Object.prototype, "admin")).toBe(false);
});

test.each([
  ["operations[0].op", { operations: [{ op: "putt", shape: "note", id: "a", set: {} }] }],
  ["operations[0].op", { operations: [{ shape: "note", id: "a", set: {} }] }],
  ["operations[1].set.list[0]", { operations: [okay("a"), { ...okay("b"), set: { list: [2 ** 53] } }] }],
  ["operations[1].if_match.reversion", { operations: [okay("a"), { ...okay("b"), if_match: { reversion: 1 } }] }],
  ["operations[1].merge", { operations: [okay("a"), { ...okay("b"), merge: {} }] }],
  ["operations[1]", { operations: [okay("a"), okay("a")] }],
  ["operations[0].if_match", { operations: [{ op: "check", shape: "note", id: "a" }] }],
  ["operations[0]", { operations: ["put"] }],
  ["operations", { operations: {} }],
  ["operations", { operations: [] }],
  ["operations", {}],
  ["write_id", { operations: [okay("a")], write_id: "w" }],
])("%s is named in the refusal of a batch, and nothing of it is applied", async (path, body) => {
  const { request, store } = shared();
  const before = store.revision;
  const answer = await request("POST", "/v1/batch", { body });
  expect(problemOf(answer)).toEqual({ status: 400, code: "invalid_request", path });
  expect(store.revision).toBe(before);
});

function okay(id: string): object {
  return { op: "put", shape: "note", id, set: {} };
}

test.each([
  [63, 201, "created"],
  [64, 400, "nested deeper than 64 levels"],
  [900, 400, "nested deeper than 64 levels"],
  [10_000, 400, "nested deeper than 1000 levels"],
  [1_000_000, 400, "nested deeper than 1000 levels"],
])("fields with a value that is nested %i levels deep are answered with %i", async (depth, status, says) => {
  const { request } = await startServer();
  const body = `{"set":{"x":${"[".repeat(depth)}${"]".repeat(depth)}}}`;
  const answer = await request("PUT", note, { headers: { "content-type": "application/json" }, body });
  expect(answer.status).toBe(status);
  expect(answer.text).toContain(says);
});

test("inherited names are ordinary names of members, shapes and ids", async () => {
  const { request } = await startServer();
  for (const id of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
    const path = `/v1/documents/constructor/${id}`;
    expect((await request("GET", path)).status).toBe(404);
    expect(
      (await request("PUT", path, { body: { set: { constructor: 1 }, if_match: { exists: false } } })).status,
    ).toBe(201);
    expect(documentOf(await request("GET", path))).toMatchObject({ id, fields: { constructor: 1 } });
  }
});
