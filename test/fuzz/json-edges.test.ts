import { expect, test } from "vitest";
import { documentOf, problemOf, startServer } from "../server/test-server.js";

const json = { "content-type": "application/json" };
const note = "/v1/documents/note/n-1";
const long = { timeout: 600_000 };

test("a hundred thousand members of one object come back in their order, whatever their names are", long, async () => {
  const { request } = await startServer();
  const count = 100_000;
  for (const nameOf of [
    (index: number) => `m${index}`,
    (index: number) => String(index * 7919),
    (index: number) => `__proto__${index}`,
  ]) {
    const text = `{${Array.from({ length: count }, (_, index) => `"${nameOf(index)}":${index % 10}`).join(",")}}`;
    const put = await request("PUT", note, { headers: json, body: `{"set":${text}}` });
    // Names and values together may be too large for a document; that is said, and not cut.
    if (put.status === 413) expect(problemOf(put)).toEqual({ status: 413, code: "too_large", path: "set" });
    // As text: this takes a hundredth of the time that comparing members one by one takes, and their order counts.
    else
      expect(JSON.stringify(documentOf(await request("GET", note)).fields) === JSON.stringify(JSON.parse(text))).toBe(
        true,
      );
  }
});

test(
  "a body of its limit that is all empty objects is refused before they are made, and others are served",
  long,
  async () => {
    const { request, store } = await startServer();
    const pieces = Math.floor((11.9 * 1024 * 1024) / 3);
    const put = await request("PUT", note, { headers: json, body: `{"set":{"a":[${"{},".repeat(pieces)}1]}}` });
    expect(problemOf(put)).toEqual({ status: 413, code: "too_large" });
    expect(put.text).toMatch(/more than \d+ values/);
    expect(store.revision).toBe(0);
    expect((await request("PUT", note, { body: { set: {} } })).status).toBe(201);
  },
);

test("as many small values as a document holds are taken", long, async () => {
  const { request, store } = await startServer();
  const body = `{"set":{"a":[${"1,".repeat(store.limits.fieldsBytesMax - 100)}1]}}`;
  expect((await request("PUT", note, { headers: json, body })).status).toBe(201);
});

test("a name of a mebibyte is refused by a path of bounded length", async () => {
  const { request } = await startServer();
  const name = "n".repeat(1024 * 1024);
  for (const body of [`{"set":{"${name}":1e400}}`, `{"set":{},"${name}":1}`, `{"set":{"${name}":1,"${name}":2}}`]) {
    const answer = await request("PUT", note, { headers: json, body });
    expect(answer.status).toBe(400);
    expect(answer.text.length).toBeLessThan(2000);
  }
});

test("names that every object inherits are merged, kept and removed like any other", async () => {
  const { request } = await startServer();
  const inherited = {
    constructor: { prototype: { admin: true } },
    toString: 1,
    hasOwnProperty: null,
    valueOf: { a: 1 },
  };
  await request("PUT", note, { body: { set: { a: 1 } } });
  expect((await request("PATCH", note, { body: { merge: inherited } })).status).toBe(200);
  const { hasOwnProperty: _, ...kept } = inherited;
  expect(documentOf(await request("GET", note)).fields).toEqual({ a: 1, ...kept });
  await request("PATCH", note, {
    body: { merge: { constructor: { prototype: null }, toString: null, valueOf: { b: 2 } } },
  });
  expect(documentOf(await request("GET", note)).fields).toEqual({ a: 1, constructor: {}, valueOf: { a: 1, b: 2 } });
  const refused = await request("PATCH", note, {
    headers: json,
    body: '{"merge":{"constructor":{"__proto__":{"x":1}}}}',
  });
  expect(problemOf(refused)).toEqual({ status: 400, code: "invalid_request", path: "merge.constructor.__proto__" });
  expect("admin" in {} || "x" in {}).toBe(false);
});
