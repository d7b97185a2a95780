import { describe, expect, it } from "vitest";
import { engineLimits } from "../../src/base/limits.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import { logKey } from "../../src/level/keys.js";
import { openFaultyStore, settle, stateOf } from "./faulty-level.js";

describe("a slow watcher", () => {
  it("falls back to the log and still gets every commit once, in order", async () => {
    const { store } = await openFaultyStore();
    const watch = store.watch();
    const count = engineLimits.watchBufferCommitsMax * 3;
    await Promise.all(
      Array.from({ length: count }, (_, n) => store.put({ shape: "note", id: `${n % 7}`, set: { n } })),
    );
    const revisions: number[] = [];
    for await (const commit of watch) {
      revisions.push(commit.revision);
      // Writes that come while it catches up are seen too.
      if (revisions.length === 10) await store.put({ shape: "note", id: "more", set: {} });
      if (revisions.length === count + 1) break;
    }
    expect(revisions).toEqual(Array.from({ length: count + 1 }, (_, n) => n + 1));
    expect(store.stats().watchers).toBe(0);
    await store.close();
  });

  it.each([
    ["commits", engineLimits.watchBufferCommitsMax + 1, ""],
    ["bytes", 6, "x".repeat(Math.floor(engineLimits.watchBufferBytesMax / 5))],
  ])("has nothing kept for it in memory beyond a bound of %s, and no writer waits for it", async (_, count, text) => {
    const { store, level } = await openFaultyStore();
    const watch = store.watch();
    // With nobody reading, each of these is answered.
    for (let n = 1; n <= count; n++) await store.put({ shape: "note", id: `${n % 7}`, set: { text } });
    // What it is told now can only come from the log: where an entry is gone from there, it cannot be told of it.
    await level.del(logKey(2));
    await expect(
      (async () => {
        for (let n = 1; n <= count; n++) await watch.next();
      })(),
    ).rejects.toMatchObject({ code: "store_damaged" });
    await store.close();
  });

  it("ends with revision_compacted when the log no longer reaches back to where it stands", async () => {
    const clock = new ManualClock();
    const { store } = await openFaultyStore({ clock, history: { maxBytes: 64 * 1024 } });
    const watch = store.watch();
    const text = "x".repeat(1000);
    for (let n = 0; n < engineLimits.watchBufferCommitsMax + 10; n++) {
      await store.put({ shape: "note", id: "a", set: { n, text } });
    }
    await expect(watch.next()).rejects.toMatchObject({ code: "revision_compacted", status: 410 });
    expect(await watch.next()).toEqual({ done: true, value: undefined });
    await expect(store.watch({ since: 1 }).next()).rejects.toMatchObject({ code: "revision_compacted" });
    const { oldest_revision } = store.stats();
    expect(oldest_revision).toBeGreaterThan(0);
    const resumed = store.watch({ since: oldest_revision });
    expect((await resumed.next()).value).toMatchObject({ revision: oldest_revision + 1 });
    await store.close();
  });
});

describe("history", () => {
  it("is bounded by age: what is older is cut off at a later write, the newest entry stays", async () => {
    const clock = new ManualClock();
    const { store } = await openFaultyStore({ clock, history: { maxAgeSeconds: 60 } });
    for (let n = 0; n < 10; n++) {
      await store.put({ shape: "note", id: "a", set: { n } });
      clock.advance(10_000);
    }
    await settle();
    const { oldest_revision, revision } = store.stats();
    expect(oldest_revision).toBeGreaterThanOrEqual(3);
    expect(oldest_revision).toBeLessThan(revision);
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });
});

describe("a watch", () => {
  it("gives a bookmark when nothing that it watches has changed for a while, also under other traffic", async () => {
    const clock = new ManualClock();
    const { store } = await openFaultyStore({ clock, bookmarkSeconds: 15 });
    const watch = store.watch({ shape: "note" });
    const next = watch.next();
    for (let n = 0; n < 20; n++) {
      await store.put({ shape: "other", id: "a", set: { n } });
      clock.advance(1000);
    }
    await expect(next).resolves.toEqual({ done: false, value: { revision: 15, changes: [] } });
    await store.close();
  });

  it("ends a waiting next when it is returned, aborted or the store closes", async () => {
    const { store } = await openFaultyStore();
    const returned = store.watch();
    const pending = returned.next();
    await returned.return?.();
    expect(await pending).toEqual({ done: true, value: undefined });

    const controller = new AbortController();
    const aborted = store.watch({ signal: controller.signal }).next();
    controller.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");

    const closed = store.watch().next();
    expect(await stateOf(closed)).toBe("pending");
    const closing = expect(closed).rejects.toMatchObject({ code: "store_closed" });
    await store.close();
    await closing;
  });

  it("gives concurrent calls of next one commit each", async () => {
    const { store } = await openFaultyStore();
    const watch = store.watch();
    const both = Promise.all([watch.next(), watch.next()]);
    await store.put({ shape: "note", id: "a", set: {} });
    await store.put({ shape: "note", id: "b", set: {} });
    expect((await both).map(({ value }) => value?.revision)).toEqual([1, 2]);
    await store.close();
  });
});
