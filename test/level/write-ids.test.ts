import { describe, expect, it } from "vitest";
import { engineLimits } from "../../src/base/limits.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import { writeBatch } from "../../src/level/level.js";
import { hash128, WriteIds } from "../../src/level/write-ids.js";
import { FaultyLevel, openFaultyStore } from "./faulty-level.js";

describe("a write id", () => {
  it("is remembered for ten minutes and no longer", async () => {
    const clock = new ManualClock();
    const { store } = await openFaultyStore({ clock });
    const write = { shape: "note", id: "a", set: { n: 1 }, write_id: "w", if_match: { exists: false } } as const;
    const first = await store.put(write);
    clock.advance(engineLimits.writeIdAgeMsMax - 1);
    await store.put({ shape: "note", id: "b", set: {} });
    expect(await store.put(write)).toEqual({ ...first, replayed: true });
    clock.advance(1);
    // Also when nothing was written since that could have cleaned up.
    await expect(store.put(write)).rejects.toMatchObject({ code: "precondition_failed" });
    await store.put({ shape: "note", id: "b", set: {}, write_id: "x" });
    expect(store.stats().write_ids).toBe(1);
    expect((await store.verify()).write_id_entries).toBe(1);
    await store.close();
  });

  it("does not care for the order of properties, but for everything else in the request", async () => {
    const { store } = await openFaultyStore();
    const write = { shape: "note", id: "a", write_id: "w" };
    const first = await store.put({ ...write, set: { a: 1, b: { c: 2, d: 3 } } });
    expect(await store.put({ ...write, set: { b: { d: 3, c: 2 }, a: 1 } })).toEqual({ ...first, replayed: true });
    const others = [
      { ...write, set: { a: 1, b: { c: 2, d: 4 } } },
      { ...write, set: { a: 1, b: { c: 2, d: 3 } }, ttl: 5 },
      { ...write, set: { a: 1, b: { c: 2, d: 3 } }, ttl: null },
      { ...write, set: { a: 1, b: { c: 2, d: 3 } }, if_match: { exists: true } },
      { ...write, set: { a: 1, b: { c: 2, d: 3 } }, return: "document" as const },
      { ...write, id: "b", set: { a: 1, b: { c: 2, d: 3 } } },
    ];
    for (const other of others) {
      await expect(store.put(other)).rejects.toMatchObject({ code: "write_id_conflict", status: 422 });
    }
    await store.close();
  });

  it("of a write that was refused is free: nothing was done under it", async () => {
    const { store } = await openFaultyStore();
    const write = { shape: "note", id: "a", set: {}, write_id: "w", if_match: { exists: true } } as const;
    await expect(store.put(write)).rejects.toMatchObject({ code: "precondition_failed" });
    await store.put({ shape: "note", id: "a", set: {} });
    expect((await store.put(write)).replayed).toBeUndefined();
    await store.close();
  });
});

describe("notes of writes that change nothing", () => {
  it("count as staged bytes, so that memory stays bounded when the disk is slow", async () => {
    const { store, level } = await openFaultyStore();
    level.hold();
    const writes = Array.from({ length: 100 }, (_, n) =>
      store.delete({ shape: "note", id: `${n}`, write_id: `w${n}` }),
    );
    expect(store.stats().staged_bytes).toBeGreaterThan(100 * 200);
    level.letGo();
    await Promise.all(writes);
    expect(store.stats().staged_bytes).toBe(0);
    await store.close();
  });
});

describe("the table of write ids", () => {
  it("forgets the oldest groups beyond its bound, on disk and in memory, and tells ids apart whose first 48 bits are equal", async () => {
    const level = new FaultyLevel();
    await level.open();
    const ids = new WriteIds(level);
    const twin = (last: number) => String.fromCharCode(1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, last);
    for (let n = 0; n < 3; n++) {
      const notes = [{ id: twin(n), request: hash128("r"), revision: n, results: [] }];
      const number = ids.nextNumber;
      await writeBatch(level, ids.operations(notes, number, 1000 * n), { sync: false });
      ids.remember(number, 1000 * n, [twin(n)]);
    }
    for (let n = 0; n < 3; n++) expect(ids.find(twin(n), 0)?.revision).toBe(n);
    expect(ids.find(twin(9), 0)).toBeUndefined();

    const again = new WriteIds(level);
    await again.load();
    expect(again.count).toBe(3);
    const now = engineLimits.writeIdAgeMsMax + 1000;
    await writeBatch(level, again.operations([], again.nextNumber, now), { sync: false });
    expect(again.count).toBe(1);
    expect(again.find(twin(0), now)).toBeUndefined();
    expect(again.find(twin(2), now)?.revision).toBe(2);
    await level.close();
  });
});
