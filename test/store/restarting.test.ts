import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "vitest";
import type { Commit } from "../../src/documents/contract.js";
import { type EmbeddedStore, openStore, type StoreOptions } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { copyOfAMoment } from "./copy-of-a-moment.js";
import { rejection } from "./rejection.js";
import { temporaryFolder } from "./temporary-folder.js";

/** The jump of the counter when a part of the past may be lost. */
const stride = 2 ** 24;

async function firstCommit(commits: AsyncIterable<Commit>): Promise<Commit> {
  for await (const commit of commits) return commit;
  assert.fail("the watch ended");
}

/** What a kill leaves: a copy of the files of an open store, opened. */
async function openLeftOvers(options: StoreOptions, left: string): Promise<EmbeddedStore> {
  await copyOfAMoment(options.dataDir, left);
  return await openStore({ ...options, dataDir: left });
}

describe("opening again", () => {
  test("documents, revisions, times and deadlines are as they were", async () => {
    const options = { dataDir: await temporaryFolder(), clock: new ManualClock() };
    const store = await openStore(options);
    await store.put({ shape: "note", id: "a", set: { deep: { list: [1, null, "é"] } }, ttl: 60 });
    options.clock.advance(500);
    await store.patch({ shape: "note", id: "a", merge: { n: 1 } });
    await store.put({ shape: "note", id: "gone", set: {} });
    await store.delete({ shape: "note", id: "gone" });
    const before = await store.getDocument("note", "a");
    const { revision } = store;
    await store.close();
    const again = await openStore(options);
    assert.deepEqual(await again.getDocument("note", "a"), before);
    assert.equal(await again.get("note", "gone"), undefined);
    assert.equal(again.revision, revision, "a clean end needs no jump");
    assert.equal((await again.put({ shape: "note", id: "b", set: {} })).revision, revision + 1);
    await again.close();
  });

  test("a revision of before never matches a document that was made after", async () => {
    const options = { dataDir: await temporaryFolder(), clock: new ManualClock() };
    const store = await openStore(options);
    const { revision } = await store.put({ shape: "note", id: "a", set: {}, ttl: 1 });
    options.clock.advance(2000);
    await store.sweep();
    await store.close();
    const again = await openStore(options);
    const second = await again.put({ shape: "note", id: "a", set: {} });
    assert.ok(second.revision > revision);
    await rejection(again.delete({ shape: "note", id: "a", if_match: { revision } }), "precondition_failed");
    await again.close();
  });

  test("a watcher resumes from before the restart and misses nothing", async () => {
    const options = { dataDir: await temporaryFolder() };
    const store = await openStore(options);
    const { revision: since } = await store.put({ shape: "note", id: "a", set: { n: 1 } });
    await store.put({ shape: "note", id: "a", set: { n: 2 } });
    await store.close();
    const again = await openStore(options);
    await again.put({ shape: "note", id: "a", set: { n: 3 } });
    const seen: unknown[] = [];
    for await (const { changes } of again.watch({ shape: "note", since })) {
      seen.push(changes[0]?.document?.fields["n"]);
      if (seen.length === 2) break;
    }
    assert.deepEqual(seen, [2, 3]);
    await again.close();
  });

  test("write ids are remembered, after a clean end and after a kill", async () => {
    const folder = await temporaryFolder();
    const options = { dataDir: join(folder, "data"), clock: new ManualClock() };
    const store = await openStore(options);
    const write = { shape: "note", id: "a", set: { n: 1 }, if_match: { exists: false }, write_id: "first" };
    const document = { shape: "note", id: "b", set: { n: 1 }, return: "document" as const, write_id: "second" };
    const nothing = { shape: "note", id: "nobody", write_id: "third" };
    const first = await store.put(write);
    const second = await store.put(document);
    const third = await store.delete(nothing);
    const killed = await openLeftOvers(options, join(folder, "left"));
    await store.close();
    const again = await openStore(options);
    for (const opened of [killed, again]) {
      await opened.put({ shape: "note", id: "nobody", set: { by: "other" } });
      assert.deepEqual(await opened.put(write), { ...first, replayed: true });
      const replay = await opened.put(document);
      assert.deepEqual([replay.revision, replay.replayed], [second.revision, true]);
      assert.deepEqual(replay.document?.fields, { n: 1 });
      assert.deepEqual(await opened.delete(nothing), { ...third, replayed: true });
      await rejection(opened.put({ ...write, id: "c" }), "write_id_conflict");
      await opened.close();
    }
  });

  test("write ids are forgotten after ten minutes, not before", async () => {
    const options = { dataDir: await temporaryFolder(), clock: new ManualClock() };
    let store = await openStore(options);
    const write = { shape: "note", id: "a", set: { n: 1 }, write_id: "once" };
    const { revision } = await store.put(write);
    options.clock.advance(9 * 60_000);
    await store.close();
    store = await openStore(options);
    assert.equal((await store.put(write)).revision, revision);
    options.clock.advance(90_000);
    // Any later write takes along what is too old.
    await store.put({ shape: "note", id: "b", set: {}, write_id: "later" });
    assert.equal(store.stats().write_ids, 1);
    const again = await store.put(write);
    assert.ok(again.revision > revision && again.replayed === undefined);
    await store.close();
  });

  test("a durable store that was killed goes on where it was, without a jump", async () => {
    const folder = await temporaryFolder();
    const options = { dataDir: join(folder, "data") };
    const store = await openStore(options);
    const { revision } = await store.put({ shape: "note", id: "a", set: { n: 1 } });
    const killed = await openLeftOvers(options, join(folder, "left"));
    await store.close();
    assert.equal(killed.revision, revision);
    assert.deepEqual(await killed.get("note", "a"), { n: 1 });
    assert.equal(killed.stats().oldest_revision, 0);
    await killed.close();
  });

  test("a buffered store that was killed jumps ahead, so that no revision of a lost write ever matches", async () => {
    const folder = await temporaryFolder();
    const clock = new ManualClock();
    const options = { dataDir: join(folder, "data"), durability: "buffered" as const, clock };
    const store = await openStore(options);
    const { revision } = await store.put({ shape: "note", id: "a", set: { n: 1 }, ttl: 60 });
    const killed = await openLeftOvers(options, join(folder, "left"));
    await store.close();
    assert.deepEqual(await killed.get("note", "a"), { n: 1 });
    assert.ok(killed.revision >= revision + stride);
    assert.ok(killed.revision >= Math.floor(clock.wallNow() / 1000) * 2 ** 21);
    assert.ok(Number.isSafeInteger(killed.revision));
    const next = await killed.put({ shape: "note", id: "b", set: {} });
    assert.ok(next.revision > killed.stats().oldest_revision);
    await rejection(firstCommit(killed.watch({ since: revision })), "revision_compacted");
    const commit = await firstCommit(killed.watch({ since: next.revision - 1 }));
    assert.equal(commit.revision, next.revision);
    const { revision: jumped } = killed;
    assert.deepEqual((await killed.verify()).problems, []);
    await killed.close();
    const clean = await openStore({ ...options, dataDir: join(folder, "left") });
    assert.equal(clean.revision, jumped, "after a clean end there is no further jump");
    await clean.close();
    const closed = await openStore(options);
    assert.equal(closed.revision, revision, "nor for the store that was closed");
    await closed.close();
  });

  test("killed twice, a buffered store jumps twice, also within one second", async () => {
    const folder = await temporaryFolder();
    const options = { dataDir: join(folder, "0"), durability: "buffered" as const, clock: new ManualClock() };
    let store = await openStore(options);
    let { revision } = await store.put({ shape: "note", id: "a", set: {} });
    for (let life = 1; life <= 3; life++) {
      const left = join(folder, `${life}`);
      const next = await openLeftOvers({ ...options, dataDir: join(folder, `${life - 1}`) }, left);
      await store.close();
      assert.ok(next.revision >= revision + stride, `life ${life}`);
      store = next;
      revision = next.revision;
    }
    await store.close();
  });

  test("a folder may be opened durable after it was buffered, and the other way round", async () => {
    const dataDir = await temporaryFolder();
    let revision = 0;
    for (const durability of ["buffered", "durable", "buffered", "durable"] as const) {
      const store = await openStore({ dataDir, durability });
      assert.equal(store.revision, revision);
      assert.equal(store.stats().durability, durability);
      ({ revision } = await store.put({ shape: "note", id: durability, set: {} }));
      await store.close();
    }
  });

  test("documents of many different forms are read by another life of the store", async () => {
    const dataDir = await temporaryFolder();
    const store = await openStore({ dataDir });
    const sets = Array.from({ length: 50 }, (_, n) => ({ [`name${n}`]: n, [`other${n}`]: { [`deep${n}`]: [n] } }));
    await Promise.all(sets.map((set, n) => store.put({ shape: "note", id: `${n}`, set })));
    await store.close();
    const again = await openStore({ dataDir });
    for (const [n, set] of sets.entries()) assert.deepEqual(await again.get("note", `${n}`), set);
    await again.close();
  });
});
