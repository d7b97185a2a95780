import { describe, expect, it } from "vitest";
import { ManualClock } from "../../src/base/manual-clock.js";
import { openFaultyStore, settle, stateOf } from "./faulty-level.js";

const note = (id: string, n: number) => ({ shape: "note", id, set: { n } });

describe("a write that is not durable yet", () => {
  it("is seen by no reader, lister, waiter or watcher, and answered only when it is durable", async () => {
    const { store, level } = await openFaultyStore();
    const seen: number[] = [];
    const watch = store.watch();
    const first = watch.next().then(({ value }) => seen.push(value?.revision ?? -1));
    const waiting = store.waitFor("note", "a", { after: 0 });
    level.hold();
    const write = store.put(note("a", 1));
    expect(await stateOf(write)).toBe("pending");
    expect(await store.get("note", "a")).toBeUndefined();
    expect((await store.list("note")).documents).toEqual([]);
    expect(await store.getMany([{ shape: "note", id: "a" }])).toEqual([undefined]);
    expect(await stateOf(waiting)).toBe("pending");
    expect(seen).toEqual([]);
    expect(store.revision).toBe(0);
    level.letGo();
    expect((await write).revision).toBe(1);
    expect((await waiting).changed).toBe(true);
    await first;
    expect(seen).toEqual([1]);
    await store.close();
  });

  it("keeps a refusal that rests on it back until it is durable", async () => {
    const { store, level } = await openFaultyStore();
    level.hold();
    const write = store.put({ ...note("a", 1), if_match: { exists: false } });
    const loser = store.put({ ...note("a", 2), if_match: { exists: false } });
    const missing = store.delete({ shape: "note", id: "b" });
    expect(await stateOf(loser)).toBe("pending");
    expect(await stateOf(missing)).toBe("pending");
    level.letGo();
    await write;
    await expect(loser).rejects.toMatchObject({
      code: "precondition_failed",
      failures: [{ current: { revision: 1 } }],
    });
    expect((await missing).revision).toBe(1);
    await store.close();
  });

  it("is shared by a duplicate with the same write id", async () => {
    const { store, level } = await openFaultyStore();
    level.hold();
    const write = store.put({ ...note("a", 1), write_id: "w", if_match: { exists: false } });
    const duplicate = store.put({ ...note("a", 1), write_id: "w", if_match: { exists: false } });
    const other = store.put({ ...note("a", 2), write_id: "w" });
    other.catch(() => {});
    expect(await stateOf(other)).toBe("pending");
    expect(await stateOf(duplicate)).toBe("pending");
    level.letGo();
    await expect(other).rejects.toMatchObject({ code: "write_id_conflict" });
    const answer = await write;
    expect(await duplicate).toEqual({ ...answer, replayed: true });
    await store.close();
  });

  it("waits with others for one batch while the batch before it is being written", async () => {
    const { store, level } = await openFaultyStore();
    level.hold();
    const first = store.put(note("first", 0));
    await stateOf(first);
    const before = level.batches;
    const others = Array.from({ length: 100 }, (_, n) => store.put(note(`other-${n}`, n)));
    await stateOf(first);
    level.letGo();
    await Promise.all([first, ...others]);
    expect(level.batches - before).toBe(1);
    await store.close();
  });

  it("makes a read of a document that has expired meanwhile wait: it may have been renewed in time", async () => {
    const clock = new ManualClock();
    const { store, level } = await openFaultyStore({ clock, sweep: false });
    await store.put({ ...note("lease", 1), ttl: 1 });
    clock.advance(999);
    level.hold();
    const renewal = store.patch({ shape: "note", id: "lease", ttl: 1 });
    await stateOf(renewal);
    clock.advance(1);
    const reads = [
      store.get("note", "lease"),
      store.getMany([{ shape: "note", id: "lease" }]).then(([document]) => document?.fields),
      store.list("note").then(({ documents }) => documents[0]?.fields),
    ];
    for (const read of reads) expect(await stateOf(read)).toBe("pending");
    level.letGo();
    for (const read of reads) expect(await read).toEqual({ n: 1 });
    await store.close();
  });
});

describe("a batch that the disk refuses", () => {
  const fault = new Error("EIO: i/o error");

  it.each([false, true])(
    "is told as unknown, later writes as not applied, and reads go on (applied: %s)",
    async (applied) => {
      const { store, level } = await openFaultyStore();
      await store.put(note("before", 0));
      level.hold();
      const sent = store.put(note("a", 1));
      await stateOf(sent);
      const resting = store.put({ ...note("a", 2), if_match: { exists: false } });
      const later = store.put(note("b", 1));
      const restingOnLater = store.put({ ...note("b", 2), if_match: { exists: false } });
      for (const write of [sent, resting, later, restingOnLater]) write.catch(() => {});
      level.fault = fault;
      level.applyBeforeFault = applied;
      level.letGo();
      await expect(sent).rejects.toMatchObject({ code: "outcome_unknown", cause: fault });
      await expect(resting).rejects.toMatchObject({ code: "outcome_unknown" });
      await expect(later).rejects.toMatchObject({ code: "store_failed", status: 503 });
      await expect(restingOnLater).rejects.toMatchObject({ code: "store_failed" });
      level.fault = undefined;
      await expect(store.put(note("c", 1))).rejects.toMatchObject({ code: "store_failed" });
      expect(await store.get("note", "before")).toEqual({ n: 0 });
      expect(await store.get("note", "b")).toBeUndefined();
      expect(store.stats()).toMatchObject({ failed: true, staged_bytes: 0, locks: 0 });
      await store.close();
    },
  );

  it("ends writing also when it held nothing but a mark of the clock: nothing may follow it in LevelDB's log", async () => {
    const clock = new ManualClock();
    const { store, level } = await openFaultyStore({ clock, sweep: false });
    await store.put({ ...note("lease", 1), ttl: 1000 });
    level.fault = fault;
    clock.advance(1000);
    await settle();
    level.fault = undefined;
    expect(store.stats().failed).toBe(true);
    const batches = level.batches;
    await expect(store.put(note("a", 1))).rejects.toMatchObject({ code: "store_failed" });
    await store.close();
    expect(level.batches).toBe(batches);
  });

  it("leaves the sweeper's expired documents absent", async () => {
    const clock = new ManualClock();
    const { store, level } = await openFaultyStore({ clock, sweep: false });
    await store.put({ ...note("a", 1), ttl: 1 });
    clock.advance(2000);
    level.fault = fault;
    await expect(store.sweep()).rejects.toMatchObject({ code: "outcome_unknown" });
    expect(await store.get("note", "a")).toBeUndefined();
    await store.close();
  });
});

describe("a store that has failed", () => {
  it("answers everything and closes, also when its sweeper comes later", async () => {
    const clock = new ManualClock();
    const { store, level } = await openFaultyStore({ clock });
    await store.put({ ...note("lease", 1), ttl: 10 });
    level.fault = new Error("EIO: i/o error");
    await expect(store.put(note("a", 1))).rejects.toMatchObject({ code: "outcome_unknown" });
    level.fault = undefined;
    clock.advance(20_000);
    expect(await stateOf(store.get("note", "lease"))).toBe("resolved");
    expect(await store.get("note", "lease")).toBeUndefined();
    expect((await store.list("note")).documents).toEqual([]);
    await expect(store.sweep()).rejects.toMatchObject({ code: "store_failed" });
    expect(await stateOf(store.close())).toBe("resolved");
  });
});

describe("closing on a disk that fails", () => {
  it("says so, and gives the database back all the same", async () => {
    const { store, level } = await openFaultyStore();
    await store.put(note("a", 1));
    level.fault = new Error("EIO: i/o error");
    await expect(store.close()).rejects.toMatchObject({ code: "store_failed", cause: level.fault });
    expect(level.status).toBe("closed");
  });
});

describe("a list", () => {
  it("of a store without history names a revision that its snapshot shows", async () => {
    const { store, level } = await openFaultyStore();
    level.hold();
    const write = store.put(note("a", 1));
    await stateOf(write);
    const listing = store.list("note");
    level.letGo();
    const page = await listing;
    expect(page.documents.length).toBe(page.revision);
    await write;
    await store.close();
  });
});

describe("what one call brings into memory", () => {
  it("is bounded for getMany, and for a batch by what it writes, gives back and meets", async () => {
    const { store } = await openFaultyStore();
    const text = "x".repeat(1_000_000);
    for (let n = 0; n < 70; n++) await store.put({ shape: "note", id: `${n}`, set: { text } });
    const keys = Array.from({ length: 70 }, (_, n) => ({ shape: "note", id: `${n}` }));
    await expect(store.getMany(keys)).rejects.toMatchObject({ code: "too_large", path: "keys" });
    expect((await store.getMany(keys.slice(0, 10))).length).toBe(10);
    const deletes = keys.map((key) => ({ op: "delete" as const, ...key }));
    await expect(store.batch(deletes)).rejects.toMatchObject({ code: "too_large", path: "operations" });
    const returning = deletes.slice(0, 10).map((one) => ({ ...one, return: "document" as const }));
    await expect(store.batch(returning)).rejects.toMatchObject({ code: "too_large", path: "operations" });
    expect((await store.batch(deletes.slice(0, 50))).results.length).toBe(50);
    expect((await store.list("note", { limit: 1000 })).documents.length).toBeLessThanOrEqual(20);
    await store.close();
  });
});

describe("more writes than the disk takes", () => {
  it("are refused as overloaded beyond the bound, and nothing that was taken is lost", async () => {
    const { store, level } = await openFaultyStore();
    level.hold();
    const text = "x".repeat(1_000_000);
    const writes = Array.from({ length: 80 }, (_, n) => store.put({ shape: "note", id: `${n}`, set: { text } }));
    const outcomes = Promise.allSettled(writes);
    await stateOf(outcomes);
    expect(store.stats().staged_bytes).toBeLessThanOrEqual(64 * 1024 * 1024);
    level.letGo();
    const settled = await outcomes;
    const taken = settled.filter(({ status }) => status === "fulfilled").length;
    const refused = settled.filter((one) => one.status === "rejected");
    expect(taken).toBeGreaterThan(20);
    expect(refused.length).toBe(80 - taken);
    for (const one of refused) expect(one).toMatchObject({ reason: { code: "overloaded", retryAfter: 1 } });
    expect((await store.list("note", { limit: 1000 })).revision).toBe(taken);
    await store.put(note("after", 1));
    await store.close();
  });
});
