import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { OnceKvError } from "../../src/base/errors.js";
import { openMemoryStore, openStore } from "../../src/level/index.js";
import { temporaryFolder } from "./temporary-folder.js";

describe("large requests, and many", () => {
  test("beyond the bound of staged bytes writes are overloaded, the others are kept, and it passes", async () => {
    const store = await openMemoryStore();
    const text = "x".repeat(store.limits.fieldsBytesMax - 100);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 80 }, (_, n) => store.put({ shape: "note", id: `${n}`, set: { text } })),
    );
    const refused: string[] = [];
    for (const [n, outcome] of outcomes.entries()) {
      if (outcome.status === "fulfilled") continue;
      const error: unknown = outcome.reason;
      assert.ok(error instanceof OnceKvError && error.code === "overloaded", String(error));
      assert.ok(error.retryable && (error.retryAfter ?? 0) > 0 && error.status === 503);
      refused.push(`${n}`);
    }
    assert.ok(refused.length > 0 && refused.length < 80, `${refused.length} refused`);
    for (const id of refused) assert.equal(await store.get("note", id), undefined);
    assert.equal((await store.verify()).documents, 80 - refused.length);
    assert.equal(store.stats().staged_bytes, 0);
    await store.put({ shape: "note", id: refused[0] ?? "", set: { text } });
    await store.close();
  });

  test("many small writes at once finish, in order, and leave nothing behind", async () => {
    const store = await openStore({ dataDir: await temporaryFolder() });
    const results = await Promise.all(
      Array.from({ length: 20_000 }, (_, n) => store.put({ shape: "note", id: `${n % 5000}`, set: { n } })),
    );
    for (const [n, { revision }] of results.entries()) assert.equal(revision, n + 1);
    assert.deepEqual(await store.get("note", "4999"), { n: 19_999 });
    const { locks, staged_bytes } = store.stats();
    assert.deepEqual([locks, staged_bytes], [0, 0]);
    await store.close();
  });

  test("a batch with a write id may hold more values than one document may", async () => {
    const store = await openMemoryStore();
    const list = Array.from({ length: store.limits.fieldsBytesMax * 0.6 }, () => 0);
    const operations = ["a", "b"].map((id) => ({ op: "put" as const, shape: "note", id, set: { list } }));
    const { results } = await store.batch(operations, { write_id: "large" });
    assert.equal(results.length, 2);
    await store.close();
  });
});
