import { expect, test } from "vitest";
import { writeResultText } from "../../server/answer.js";
import { writeIdFor } from "../../server/idempotency-key.js";
import { batchBodyBytesMax, keysBodyBytesMax, writeBodyBytesMax } from "../../server/limits.js";
import { preferredWait } from "../../server/prefer-header.js";
import { retryAfterHeader } from "../../server/problem.js";
import { defaultLimits } from "../../src/base/limits.js";
import type { Document, WriteResult } from "../../src/documents/contract.js";
import { RawConnection } from "./http.js";
import { startServer } from "./test-server.js";

test("a result that is put together by hand is what JSON.stringify makes of it", () => {
  const instant = "2026-01-01T00:00:00.000Z";
  const document: Document = {
    shape: "note",
    id: 'a"b',
    fields: { a: 1 },
    revision: 7,
    created_revision: 7,
    created_at: instant,
    updated_at: instant,
    expires_at: null,
    as_of: instant,
  };
  const results: WriteResult[] = [
    { revision: 7, expires_at: null, created: true },
    { revision: Number.MAX_SAFE_INTEGER, expires_at: instant, created: false },
    { revision: 7, expires_at: null, created: true, replayed: true },
    { revision: 7, expires_at: null, created: true, document },
    { revision: 7, expires_at: null, created: false, document: null },
  ];
  for (const result of results) expect(writeResultText(result)).toBe(JSON.stringify(result));
});

test.each([
  [undefined, undefined],
  ["", undefined],
  ["return=minimal", undefined],
  ["wait=5", 5],
  ["wait=0.125", 0.125],
  ['wait="7"', 7],
  ["WAIT = 3", 3],
  ["respond-async, wait=9; x=1", 9],
])("Prefer: %s asks for %s seconds", (header, seconds) => {
  expect(preferredWait(header)).toBe(seconds);
});

test("Retry-After is in whole seconds, at least one", () => {
  expect([0, 0.2, 1, 1.001, 30].map(retryAfterHeader)).toEqual(["1", "1", "1", "2", "30"]);
});

test("a write id is the key itself, and with tokens a digest of both in which no two pairs meet", () => {
  expect(writeIdFor("key", null)).toBe("key");
  expect(writeIdFor("key", "worker")).toMatch(/^[0-9a-f]{64}$/);
  const ids = [writeIdFor("bc", "a"), writeIdFor("c", "ab"), writeIdFor("abc", ""), writeIdFor("bc", "b")];
  expect(new Set(ids).size).toBe(4);
});

test("no body limit is tighter than the limits of the store, in the longest JSON that a value can have", () => {
  const { fieldsBytesMax, batchBytesMax, batchOperationsMax, getManyKeysMax, idBytesMax } = defaultLimits;
  expect(writeBodyBytesMax(defaultLimits)).toBeGreaterThan(6 * fieldsBytesMax * 2);
  expect(batchBodyBytesMax(defaultLimits)).toBeGreaterThan(6 * batchBytesMax + batchOperationsMax * 6 * idBytesMax);
  expect(keysBodyBytesMax(defaultLimits)).toBeGreaterThan(getManyKeysMax * 6 * idBytesMax);
});

test("an Idempotency-Key that is given twice is refused: joined they would be a third key", async () => {
  const { port, store } = await startServer();
  const connection = new RawConnection(port);
  connection.write("DELETE /v1/documents/note/a HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n");
  connection.write("idempotency-key: one\r\nidempotency-key: two\r\n\r\n");
  expect(await connection.untilClosed()).toMatch(/^HTTP\/1.1 400 [\s\S]*Idempotency-Key: is given twice/);
  expect(store.revision).toBe(0);
});

test("an If-Match that is given twice is refused as a list", async () => {
  const { port, store } = await startServer();
  await store.put({ shape: "note", id: "a", set: {} });
  const connection = new RawConnection(port);
  connection.write("DELETE /v1/documents/note/a HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n");
  connection.write('if-match: "1"\r\nif-match: "1"\r\n\r\n');
  expect(await connection.untilClosed()).toMatch(/^HTTP\/1.1 400 /);
  expect(store.revision).toBe(1);
});
