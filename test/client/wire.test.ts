import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../client/index.js";
import { answerJson, type FaultyServer, startFaultyServer } from "./faulty-server.js";

let server: FaultyServer;
let client: Client;
beforeEach(async () => {
  const written = { revision: 7, expires_at: null, created: false };
  server = await startFaultyServer(({ url }, response) => {
    if (url.startsWith("/v1/batch")) answerJson(response, 200, { revision: 7, results: [written], replayed: true });
    else if (url.startsWith("/v1/get-many")) answerJson(response, 200, { documents: [null, { id: "b" }] });
    else if (url.includes("?limit=1000"))
      answerJson(response, 200, { documents: [{ id: "1" }], next: "1", revision: 3 });
    else if (url.includes("after=1")) answerJson(response, 200, { documents: [{ id: "2" }], next: null, revision: 5 });
    else answerJson(response, 200, written);
  });
  client = createClient({ url: server.url, newWriteId: () => "w" });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

describe("an id in a path", () => {
  test.each([
    ["a/b", "a%2Fb"],
    ["a%2Fb", "a%252Fb"],
    ["50%", "50%25"],
    ["a+b", "a%2Bb"],
    [".", "%2E"],
    ["..", "%2E%2E"],
    ["...", "..."],
    ["a\u0000b", "a%00b"],
    ["trailing ", "trailing%20"],
    ["?#", "%3F%23"],
    ["\u{1F600}", "%F0%9F%98%80"],
    ["x".repeat(1024), "x".repeat(1024)],
  ])("%j is sent as it can be read back", async (id, encoded) => {
    await client.get("note", id);
    expect(server.seen[0]?.url).toBe(`/v1/documents/note/${encoded}`);
  });

  test("follows the path of the url, when that has one", async () => {
    const behind = createClient({ url: `${server.url}/kv/` });
    await behind.get("note", "..");
    await behind.close();
    expect(server.seen[0]?.url).toBe("/kv/v1/documents/note/%2E%2E");
  });
});

describe("a write on the wire", () => {
  test("a put and a patch carry what was given, in normal form, and nothing else", async () => {
    await client.put({ shape: "note", id: "a", set: { n: -0, gone: undefined } as never });
    await client.put({ shape: "note", id: "a", set: {}, ttl: 0.0014, if_match: { exists: false }, return: "document" });
    await client.put({ shape: "note", id: "a", set: {}, ttl: null });
    await client.patch({ shape: "note", id: "a", merge: { a: null }, if_match: { revision: 3, fields: { b: 1 } } });
    await client.patch({ shape: "note", id: "a", ttl: 300 });
    expect(server.seen.map(({ method, body }) => `${method} ${body}`)).toEqual([
      'PUT {"set":{"n":0}}',
      'PUT {"set":{},"ttl":0.001,"if_match":{"exists":false},"return":"document"}',
      'PUT {"set":{},"ttl":null}',
      'PATCH {"merge":{"a":null},"if_match":{"revision":3,"fields":{"b":1}}}',
      'PATCH {"ttl":300}',
    ]);
    for (const { headers } of server.seen) {
      expect(headers).toMatchObject({ "content-type": "application/json", "idempotency-key": "w" });
    }
  });

  test("a delete says its condition where no proxy drops it", async () => {
    const conditions = [undefined, { revision: 3 }, { exists: true }, { exists: false }] as const;
    for (const condition of conditions) {
      await client.delete({ shape: "note", id: "a", ...(condition === undefined ? {} : { if_match: condition }) });
    }
    expect(server.seen.map(({ headers }) => [headers["if-match"], headers["if-none-match"]])).toEqual([
      [undefined, undefined],
      ['"3"', undefined],
      ["*", undefined],
      [undefined, "*"],
    ]);
    for (const { method, headers, body } of server.seen) {
      expect([method, headers["content-type"], body]).toEqual(["DELETE", undefined, ""]);
    }
  });

  test("a delete whose condition no header can say is a batch of one", async () => {
    const conditions = [{ fields: { n: 1 } }, { exists: true, revision: 3 }];
    for (const if_match of conditions) {
      const result = await client.delete({ shape: "note", id: "a", if_match, return: "document" });
      expect(result).toEqual({ revision: 7, expires_at: null, created: false, replayed: true });
    }
    expect(server.seen.map(({ method, url, body }) => [method, url, JSON.parse(body)])).toEqual(
      conditions.map((if_match) => [
        "POST",
        "/v1/batch",
        { operations: [{ op: "delete", shape: "note", id: "a", if_match, return: "document" }] },
      ]),
    );
  });

  test("a delete asks for its document in the query", async () => {
    await client.delete({ shape: "note", id: "a", return: "document" });
    expect(server.seen[0]?.url).toBe("/v1/documents/note/a?return=document");
  });

  test("a batch is one request with one key", async () => {
    await client.batch(
      [
        { op: "put", shape: "note", id: "a", set: { n: 1 }, ttl: 5 },
        { op: "patch", shape: "note", id: "b", merge: { n: null } },
        { op: "check", shape: "note", id: "c", if_match: { exists: true } },
      ],
      { write_id: "batch-1" },
    );
    expect(server.seen[0]?.headers["idempotency-key"]).toBe("batch-1");
    expect(JSON.parse(server.seen[0]?.body ?? "")).toEqual({
      operations: [
        { op: "put", shape: "note", id: "a", set: { n: 1 }, ttl: 5 },
        { op: "patch", shape: "note", id: "b", merge: { n: null } },
        { op: "check", shape: "note", id: "c", if_match: { exists: true } },
      ],
    });
  });

  test("what is not valid is refused before anything is sent, as a rejection that names the place", async () => {
    const calls: [() => Promise<unknown>, string][] = [
      [() => client.put({ shape: "note", id: "a", set: { at: new Date(0) } as never }), "set.at"],
      [() => client.put({ shape: "note", id: "a", set: { n: Number.NaN } }), "set.n"],
      [() => client.put({ shape: "note", id: "a", set: { list: [undefined] } as never }), "set.list[0]"],
      [() => client.put({ shape: "note", id: "\ud800", set: {} }), "id"],
      [() => client.put({ shape: "note", id: "a", set: {}, if_match: undefined as never }), "if_match"],
      [
        () => client.delete({ shape: "note", id: "a", if_match: { revision: undefined as never } }),
        "if_match.revision",
      ],
      [() => client.put({ shape: "note", id: "a", set: {}, write_id: "" }), "write_id"],
      [() => client.get("Note", "a"), "shape"],
      [() => client.get("note", ""), "id"],
      [() => client.getMany([{ shape: "note", id: "" }]), "keys[0].id"],
      [() => client.list("note", { limit: 0 }), "limit"],
      [() => client.waitFor("note", "a", { timeout: -1 }), "timeout"],
      [() => client.batch([{ op: "put", shape: "note", id: "", set: {} }]), "operations[0].id"],
    ];
    for (const [call, path] of calls) await expect(call()).rejects.toMatchObject({ code: "invalid_request", path });
    expect(() => client.watch({ since: -1 })).toThrow(expect.objectContaining({ path: "since" }));
    expect(server.seen).toEqual([]);
  });
});

describe("a read on the wire", () => {
  test("a list says its bounds", async () => {
    await client.list("note");
    await client.list("note", { prefix: "a&b=", after: "a/1", until: "\u4e2d", reverse: true, limit: 5 });
    expect(server.seen.map(({ url }) => url)).toEqual([
      "/v1/documents/note?limit=100",
      "/v1/documents/note?prefix=a%26b%3D&after=a%2F1&until=%E4%B8%AD&reverse=true&limit=5",
    ]);
  });

  test("a scan goes from page to page until there is none", async () => {
    const ids: string[] = [];
    for await (const { id } of client.scan("note")) ids.push(id);
    expect(ids).toEqual(["1", "2"]);
    expect(server.seen.map(({ url }) => url)).toEqual([
      "/v1/documents/note?limit=1000",
      "/v1/documents/note?after=1&limit=1000",
    ]);
  });

  test("several documents are read in one request, absent ones as undefined", async () => {
    const keys = [
      { shape: "note", id: "a" },
      { shape: "note", id: "b" },
    ];
    expect(await client.getMany(keys)).toEqual([undefined, { id: "b" }]);
    expect(server.seen.map(({ url, body }) => [url, JSON.parse(body)])).toEqual([["/v1/get-many", { keys }]]);
  });
});
