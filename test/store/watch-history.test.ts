import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Commit } from "../../src/documents/contract.js";
import { type EmbeddedStore, openMemoryStore, openStore } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { rejection } from "./rejection.js";
import { temporaryFolder } from "./temporary-folder.js";

function iterate(store: EmbeddedStore, options: Parameters<EmbeddedStore["watch"]>[0]): AsyncIterator<Commit> {
  return store.watch(options)[Symbol.asyncIterator]();
}

async function next(iterator: AsyncIterator<Commit>): Promise<Commit> {
  const { value, done } = await iterator.next();
  assert.ok(done !== true, "the watch ended");
  return value;
}

async function putMany(store: EmbeddedStore, count: number, text: string): Promise<number> {
  let revision = 0;
  for (let start = 0; start < count; start += 200) {
    const results = await Promise.all(
      Array.from({ length: Math.min(200, count - start) }, (_, n) =>
        store.put({ shape: "note", id: `d${n}`, set: { n: start + n, text } }),
      ),
    );
    revision = Math.max(revision, ...results.map((result) => result.revision));
  }
  return revision;
}

describe("history", () => {
  test("is bounded by its age: older revisions are told to be gone, newer ones are complete", async () => {
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock, history: { maxAgeSeconds: 60 } });
    const first = await store.put({ shape: "note", id: "a", set: { n: 1 } });
    clock.advance(30_000);
    const second = await store.put({ shape: "note", id: "a", set: { n: 2 } });
    clock.advance(31_000);
    const third = await store.put({ shape: "note", id: "a", set: { n: 3 } });
    await store.verify();
    await rejection(next(iterate(store, { since: 0 })), "revision_compacted");
    const kept = iterate(store, { since: first.revision });
    assert.deepEqual([(await next(kept)).revision, (await next(kept)).revision], [second.revision, third.revision]);
    assert.equal(store.stats().oldest_revision, first.revision);
    await store.close();
  });

  test("is bounded by its size: a loaded store keeps its newest part", async () => {
    const dataDir = await temporaryFolder();
    const maxBytes = 1024 * 1024;
    const store = await openStore({ dataDir, durability: "buffered", history: { maxBytes } });
    const revision = await putMany(store, 6000, "x".repeat(500));
    const { oldest_revision } = store.stats();
    assert.ok(oldest_revision > revision / 2, `${oldest_revision} of ${revision}`);
    assert.ok((revision - oldest_revision) * 500 > maxBytes / 3, "but not much less than its bound");
    await rejection(next(iterate(store, { since: oldest_revision - 1 })), "revision_compacted");
    const kept = iterate(store, { since: oldest_revision });
    let seen = oldest_revision;
    while (seen < revision) {
      const commit = await next(kept);
      assert.equal(commit.revision, seen + 1);
      seen = commit.revision;
    }
    await store.close();
    const again = await openStore({ dataDir, history: { maxBytes } });
    assert.equal(again.revision, revision);
    assert.ok(again.stats().oldest_revision >= oldest_revision);
    assert.deepEqual((await again.verify()).problems, []);
    await again.close();
  });

  test("documents outlive the history of their writing", async () => {
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock, history: { maxAgeSeconds: 1 } });
    await store.put({ shape: "note", id: "old", set: { n: 1 } });
    for (let n = 0; n < 5; n++) {
      clock.advance(2000);
      await store.put({ shape: "note", id: "new", set: { n } });
    }
    await store.verify();
    assert.deepEqual(await store.get("note", "old"), { n: 1 });
    assert.deepEqual((await store.verify()).problems, []);
    await store.close();
  });
});

describe("watchers and lists", () => {
  test("a watch from any list's revision, taken amid writes, begins with the very next commit", async () => {
    const store = await openStore({ dataDir: await temporaryFolder(), durability: "buffered" });
    let writing = true;
    const writer = (async () => {
      for (let n = 0; n < 400; n++) await store.put({ shape: "note", id: "a", set: { n } });
      writing = false;
    })();
    const firsts: Promise<[since: number, first: number]>[] = [];
    while (writing) {
      // A list may show a commit whose writer has not been answered yet.
      const { revision: since } = await store.list("note", { limit: 1 });
      const watcher = iterate(store, { since });
      firsts.push(next(watcher).then(({ revision }) => [since, revision]));
      await new Promise(setImmediate);
    }
    await writer;
    await store.put({ shape: "note", id: "a", set: {} });
    for (const [since, first] of await Promise.all(firsts)) assert.equal(first, since + 1);
    await store.close();
  });
});

describe("slow watchers", () => {
  test("a watcher that does not read costs a bounded amount, and later continues from history without a gap", async () => {
    const store = await openStore({ dataDir: await temporaryFolder(), durability: "buffered" });
    const slow = iterate(store, { shape: "note", since: 0 });
    const revision = await putMany(store, 5000, "x".repeat(1000));
    let seen = 0;
    while (seen < revision) {
      const commit = await next(slow);
      assert.equal(commit.revision, seen + 1);
      seen = commit.revision;
    }
    await slow.return?.();
    assert.equal(store.stats().watchers, 0);
    await store.close();
  });

  test("a watcher that history has passed by ends with revision_compacted, and writers never waited for it", async () => {
    const store = await openStore({
      dataDir: await temporaryFolder(),
      durability: "buffered",
      history: { maxBytes: 512 * 1024 },
    });
    const slow = iterate(store, { shape: "note", since: 0 });
    await putMany(store, 200, "x");
    assert.equal((await next(slow)).revision, 1);
    await putMany(store, 6000, "x".repeat(1000));
    let last = 1;
    const reading = (async () => {
      for (;;) {
        const { revision } = await next(slow);
        assert.equal(revision, last + 1, "until it ends, nothing is left out");
        last = revision;
      }
    })();
    await rejection(reading, "revision_compacted");
    assert.equal(store.stats().watchers, 0);
    await store.close();
  });

  test("20,000 commits while a watcher sleeps do not stay in memory", async () => {
    const store = await openStore({
      dataDir: await temporaryFolder(),
      durability: "buffered",
      history: { maxBytes: 8 * 1024 * 1024 },
    });
    const slow = iterate(store, { shape: "note", since: 0 });
    await putMany(store, 1000, "x".repeat(1000));
    const before = process.memoryUsage();
    await putMany(store, 20_000, "x".repeat(1000));
    const after = process.memoryUsage();
    const grown = after.heapUsed + after.external - before.heapUsed - before.external;
    // The 20,000 commits would be about 25 MB, held once, and more as objects.
    assert.ok(grown < 40 * 1024 * 1024, `grown by ${Math.round(grown / 1024)} KiB`);
    await slow.return?.();
    await store.close();
  });
});

describe("bookmarks", () => {
  test("an idle watcher is told how far it has come, and resumes from there", async () => {
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock, bookmarkSeconds: 5, history: { maxAgeSeconds: 60 } });
    const watcher = iterate(store, { shape: "quiet", since: 0 });
    const coming = next(watcher);
    const { revision } = await store.put({ shape: "note", id: "a", set: {} });
    clock.advance(5000);
    assert.deepEqual(await coming, { revision, changes: [] });
    for (let n = 0; n < 5; n++) {
      clock.advance(30_000);
      await store.put({ shape: "note", id: "a", set: { n } });
    }
    const bookmark = next(watcher);
    await new Promise(setImmediate);
    clock.advance(5000);
    const { revision: position, changes } = await bookmark;
    assert.deepEqual(changes, []);
    await watcher.return?.();
    await store.verify();
    await rejection(next(iterate(store, { shape: "quiet", since: 0 })), "revision_compacted");
    const resumed = iterate(store, { shape: "quiet", since: position });
    const commit = next(resumed);
    const put = await store.put({ shape: "quiet", id: "a", set: {} });
    assert.equal((await commit).revision, put.revision);
    await resumed.return?.();
    await store.close();
  });

  test("a watcher that lies far behind for want of matching commits is not ended by the history's bound", async () => {
    const store = await openMemoryStore({ history: { maxBytes: 64 * 1024 } });
    const watcher = iterate(store, { shape: "quiet", since: 0 });
    const coming = next(watcher);
    await putMany(store, 3000, "x".repeat(200));
    assert.ok(store.stats().oldest_revision > 0);
    const { revision } = await store.put({ shape: "quiet", id: "a", set: {} });
    assert.equal((await coming).revision, revision);
    await watcher.return?.();
    await store.close();
  });
});
