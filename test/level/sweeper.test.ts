import { describe, expect, it } from "vitest";
import { ManualClock } from "../../src/base/manual-clock.js";
import type { Commit } from "../../src/documents/contract.js";
import { openFaultyStore, settle, stateOf } from "./faulty-level.js";

const hour = 3600;

async function nextCommit(watch: AsyncIterator<Commit>): Promise<Commit> {
  const { value, done } = await watch.next();
  if (done === true) throw new Error("the watch has ended");
  return value;
}

describe("the sweeper", () => {
  it("takes expired documents off the disk by itself, with one expire event each, within a tenth of a second", async () => {
    const clock = new ManualClock();
    const { store } = await openFaultyStore({ clock });
    const watch = store.watch();
    for (let n = 0; n < 10; n++) await store.put({ shape: "lease", id: `${n}`, set: {}, ttl: 1 });
    await store.put({ shape: "lease", id: "late", set: {}, ttl: 2 * hour });
    for (let n = 0; n < 11; n++) expect((await nextCommit(watch)).changes[0]?.type).toBe("put");
    clock.advance(1100);
    const expired: string[] = [];
    while (expired.length < 10) {
      for (const change of (await nextCommit(watch)).changes) {
        expect(change).toMatchObject({ type: "expire", document: null });
        expired.push(change.id);
      }
    }
    expect(expired.sort()).toEqual(Array.from({ length: 10 }, (_, n) => `${n}`));
    clock.advance(2 * hour * 1000);
    expect(await nextCommit(watch)).toMatchObject({ changes: [{ type: "expire", id: "late" }] });
    await settle();
    expect(await store.verify()).toMatchObject({ ok: true, documents: 0, expiry_entries: 0 });
    await store.close();
  });

  it("spares what was written again before, during and after a step", async () => {
    const clock = new ManualClock();
    const { store, level } = await openFaultyStore({ clock, sweep: false });
    const put = (id: string, ttl?: number) =>
      store.put({ shape: "lease", id, set: { ttl: ttl ?? 0 }, ...(ttl === undefined ? {} : { ttl }) });
    for (let n = 0; n < 400; n++) await put(`${n}`, 1);
    clock.advance(500);
    for (let n = 0; n < 100; n++) await put(`${n}`, 10); // Renewed in time: the old mention is stale.
    clock.advance(600);
    level.hold();
    const rewrites = Array.from({ length: 100 }, (_, n) => put(`${100 + n}`)); // Staged, not on disk yet.
    const sweeping = store.sweep();
    expect(await stateOf(sweeping)).toBe("pending");
    rewrites.push(...Array.from({ length: 100 }, (_, n) => put(`${200 + n}`, 1))); // While the step waits for the disk.
    level.letGo();
    await Promise.all(rewrites);
    const swept = await sweeping;
    // Those between 200 and 299 may have been swept first or replaced first; either way they live.
    expect(swept).toBeGreaterThanOrEqual(100);
    expect(swept).toBeLessThanOrEqual(200);
    const ids = new Set<string>();
    for await (const document of store.scan("lease")) ids.add(document.id);
    expect(ids).toEqual(new Set(Array.from({ length: 300 }, (_, n) => `${n}`)));
    expect((await store.verify()).problems).toEqual([]);
    await store.close();
  });

  it("finds an entry that became durable behind the place where it stands", async () => {
    const clock = new ManualClock();
    const { store, level } = await openFaultyStore({ clock, sweep: false });
    await store.put({ shape: "lease", id: "later", set: {}, ttl: 0.3 });
    level.hold();
    const late = store.put({ shape: "lease", id: "earlier", set: {}, ttl: 0.1 });
    await stateOf(late);
    clock.advance(1000);
    const sweeping = store.sweep();
    await settle();
    level.letGo();
    await late;
    await sweeping;
    await store.sweep();
    expect(await store.verify()).toMatchObject({ ok: true, documents: 0, expiry_entries: 0 });
    await store.close();
  });

  it.each(["near", "far"])(
    "spares what was written, durably, between its reading and its deleting: %s deadlines",
    async (distance) => {
      const ttl = distance === "near" ? 1 : 2 * hour;
      const clock = new ManualClock();
      const { store, level } = await openFaultyStore({ clock, sweep: false });
      for (const id of ["renewed", "ended", "deleted", "again"])
        await store.put({ shape: "lease", id, set: { n: 1 }, ttl });
      clock.advance(ttl * 1000 + 100);
      const letGo = level.holdNextGetMany();
      const sweeping = store.sweep();
      await settle();
      await store.put({ shape: "lease", id: "renewed", set: { n: 2 } });
      await store.put({ shape: "lease", id: "again", set: { n: 2 }, ttl });
      await store.put({ shape: "lease", id: "deleted", set: { n: 2 } });
      await store.delete({ shape: "lease", id: "deleted" });
      letGo();
      expect(await sweeping).toBe(1);
      expect(await store.get("lease", "renewed")).toEqual({ n: 2 });
      expect(await store.get("lease", "again")).toEqual({ n: 2 });
      expect(await store.verify()).toMatchObject({ problems: [], documents: 2, expiry_entries: 1 });
      await store.close();
    },
  );

  describe("beside writers", () => {
    /** A store whose sweeper has taken a step of 40 ms off 400 expired documents; `put` was written during it. */
    async function afterOneStep({ besidesWriter }: { readonly besidesWriter: boolean }) {
      const clock = new ManualClock();
      const { store, level } = await openFaultyStore({ clock });
      const keys = Array.from({ length: 400 }, (_, n) => ({ shape: "lease", id: `${n}` }));
      await store.batch(keys.map((key) => ({ op: "put", ...key, set: {}, ttl: 1 })));
      const letGo = level.holdNextGetMany();
      clock.advance(1100);
      await settle();
      if (besidesWriter) await store.put({ shape: "note", id: "1", set: {} });
      clock.advance(40);
      letGo();
      const leftOnDisk = async (): Promise<number> => {
        for (let times = 0; times < 10; times++) await settle();
        return (await level.keys({ gte: Buffer.from("dlease"), lt: Buffer.from("dleasf") }).all()).length;
      };
      return { clock, store, leftOnDisk };
    }

    it("rests after a step for as long as the step took", async () => {
      const { clock, store, leftOnDisk } = await afterOneStep({ besidesWriter: true });
      const left = await leftOnDisk();
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThan(400);
      clock.advance(39);
      expect(await leftOnDisk()).toBe(left);
      clock.advance(1);
      expect(await leftOnDisk()).toBe(0);
      await store.close();
    });

    it("does not rest when nobody writes", async () => {
      const { store, leftOnDisk } = await afterOneStep({ besidesWriter: false });
      expect(await leftOnDisk()).toBe(0);
      await store.close();
    });

    it("ends its rest when somebody awaits a sweep, or closes the store", async () => {
      const awaited = await afterOneStep({ besidesWriter: true });
      const left = await awaited.leftOnDisk();
      expect(left).toBeGreaterThan(0);
      // The rest goes with the pass that is under way; this call's own pass finds nothing more.
      expect(await awaited.store.sweep()).toBe(0);
      expect(await awaited.leftOnDisk()).toBe(0);
      await awaited.store.close();
      const closed = await afterOneStep({ besidesWriter: true });
      expect(await closed.leftOnDisk()).toBeGreaterThan(0);
      await closed.store.close();
    });
  });

  it("sweeps around a document that is damaged, and leaves that to verify", async () => {
    const clock = new ManualClock();
    const { store, level } = await openFaultyStore({ clock, sweep: false });
    await Promise.all(["a", "b", "c"].map((id) => store.put({ shape: "lease", id, set: {}, ttl: 1 })));
    await level.put(Buffer.from("dlease\0b"), Buffer.from("damaged"));
    clock.advance(5000);
    expect(await store.sweep()).toBe(2);
    expect(await store.sweep()).toBe(0);
    expect((await store.verify()).problem_count).toBe(1);
    await store.close();
  });

  it("keeps a step small when entries that mention one document come before those that mention many", async () => {
    const clock = new ManualClock();
    const { store } = await openFaultyStore({ clock, sweep: false });
    await store.put({ shape: "lease", id: "own", set: {}, ttl: 2 * hour });
    clock.advance(2 * hour * 1000 - 30_000);
    // Twenty shared entries of a hundred documents each, due after that one.
    for (let second = 0; second < 20; second++) {
      const operations = Array.from({ length: 100 }, (_, n) => {
        return { op: "put" as const, shape: "lease", id: `${second}-${n}`, set: {}, ttl: 31 + second };
      });
      await store.batch(operations);
    }
    const watch = store.watch();
    clock.advance(60_000);
    expect(await store.sweep()).toBe(2001);
    let told = 0;
    while (told < 2001) {
      const { changes } = await nextCommit(watch);
      expect(changes.length).toBeLessThanOrEqual(511);
      told += changes.length;
    }
    expect(await store.verify()).toMatchObject({ problems: [], documents: 0, expiry_entries: 0 });
    await store.close();
  });

  it("goes on behind an index entry that is damaged, and leaves that to verify", async () => {
    const clock = new ManualClock();
    const { store, level } = await openFaultyStore({ clock, sweep: false });
    for (const id of ["a", "b"]) {
      await store.put({ shape: "lease", id, set: {}, ttl: 1 });
      clock.advance(200);
    }
    const [first] = await level.keys({ gte: Buffer.from("x"), lt: Buffer.from("y") }).all();
    if (first === undefined) throw new Error("there is an entry");
    await level.put(first, Buffer.from("damaged"));
    clock.advance(5000);
    expect(await store.sweep()).toBe(1);
    expect(await store.sweep()).toBe(0);
    expect(await store.verify()).toMatchObject({ ok: false, documents: 1 });
    await store.close();
  });

  it("keeps at most one entry of its own for a document, and none once the document has no deadline", async () => {
    const clock = new ManualClock();
    const { store } = await openFaultyStore({ clock });
    for (let n = 1; n <= 50; n++) await store.put({ shape: "note", id: "a", set: {}, ttl: 2 * hour + n });
    expect(await store.verify()).toMatchObject({ ok: true, expiry_entries: 1 });
    await store.patch({ shape: "note", id: "a", ttl: 3 * hour });
    expect(await store.verify()).toMatchObject({ ok: true, expiry_entries: 1 });
    await store.put({ shape: "note", id: "a", set: {} });
    expect(await store.verify()).toMatchObject({ ok: true, expiry_entries: 0 });
    await store.put({ shape: "note", id: "a", set: {}, ttl: 2 * hour });
    await store.delete({ shape: "note", id: "a" });
    expect(await store.verify()).toMatchObject({ ok: true, expiry_entries: 0, documents: 0 });
    await store.close();
  });

  it("keeps a deadline that a patch has kept, near or far, until it comes", async () => {
    const clock = new ManualClock();
    const { store } = await openFaultyStore({ clock, sweep: false });
    await store.put({ shape: "note", id: "a", set: { n: 1 }, ttl: 2 * hour + 0.05 });
    clock.advance(90 * 60 * 1000);
    // The deadline is now half an hour ahead: its entry changes from one of its own to a shared one.
    await store.patch({ shape: "note", id: "a", merge: { n: 2 } });
    expect((await store.verify()).problems).toEqual([]);
    clock.advance(30 * 60 * 1000 + 49);
    expect(await store.get("note", "a")).toEqual({ n: 2 });
    clock.advance(1);
    expect(await store.get("note", "a")).toBeUndefined();
    expect(await store.sweep()).toBe(0); // Not due before the end of its tenth of a second.
    clock.advance(100);
    expect(await store.sweep()).toBe(1);
    await store.close();
  });
});
