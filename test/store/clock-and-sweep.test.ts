import assert from "node:assert/strict";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { describe, test } from "vitest";
import type { Commit } from "../../src/documents/contract.js";
import { type EmbeddedStore, openMemoryStore, openStore, type StoreOptions } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { copyOfAMoment } from "./copy-of-a-moment.js";
import { startChild } from "./processes/child.js";
import { temporaryFolder } from "./temporary-folder.js";

/** Every commit since the beginning, until the newest. */
async function history(store: EmbeddedStore): Promise<Commit[]> {
  const commits: Commit[] = [];
  const until = store.revision;
  for await (const commit of store.watch({ since: store.stats().oldest_revision })) {
    commits.push(commit);
    if (commit.revision >= until) break;
  }
  return commits;
}

function told(commits: readonly Commit[]): string[] {
  return commits.map((commit) => commit.changes.map(({ type, id }) => `${type} ${id}`).join(", "));
}

async function entries(dataDir: string): Promise<string[]> {
  const level = new ClassicLevel<Buffer, Buffer>(dataDir, { keyEncoding: "buffer", valueEncoding: "buffer" });
  const keys = await level.keys().all();
  await level.close();
  return keys.map((key) => key.toString("latin1", 0, 1));
}

describe("the clock", () => {
  test("a wall clock that is stepped, forward or back, moves no deadline while the process runs", async () => {
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock });
    const lease = await store.put({ shape: "lease", id: "a", set: {}, ttl: 60 });
    const waiting = store.waitFor("lease", "a", { after: lease.revision, timeout: 300 });
    for (const step of [365 * 86_400_000, -2 * 365 * 86_400_000, 2000, -3_600_000]) {
      clock.stepWall(step);
      clock.advance(10_000);
      const document = await store.getDocument("lease", "a");
      assert.equal(document?.expires_at, lease.expires_at);
      assert.ok((document?.as_of ?? "") < (lease.expires_at ?? ""));
      const renewed = await store.put({ shape: "lease", id: "b", set: {}, ttl: 60, return: "document" });
      assert.equal(Date.parse(renewed.expires_at ?? "") - Date.parse(renewed.document?.updated_at ?? ""), 60_000);
    }
    clock.advance(19_999);
    assert.notEqual(await store.get("lease", "a"), undefined);
    clock.advance(1);
    assert.equal(await store.get("lease", "a"), undefined);
    assert.deepEqual(await waiting, { changed: true, document: null });
    await store.close();
  });

  test("revisions and updated_at keep their order when the wall clock is set back", async () => {
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock });
    const first = await store.put({ shape: "note", id: "a", set: {}, return: "document" });
    clock.stepWall(-86_400_000);
    clock.advance(5);
    const second = await store.put({ shape: "note", id: "a", set: {}, return: "document" });
    assert.ok(second.revision > first.revision);
    assert.ok((second.document?.updated_at ?? "") > (first.document?.updated_at ?? ""));
    await store.close();
  });

  test("what has expired stays expired when the store is opened again under a clock that was set back", async () => {
    const folder = await temporaryFolder();
    for (const end of ["close", "crash"] as const) {
      const dataDir = join(folder, end);
      const clock = new ManualClock();
      const store = await openStore({ dataDir, clock, sweep: false });
      const { revision } = await store.put({ shape: "lease", id: "a", set: {}, ttl: 60 });
      await store.put({ shape: "lease", id: "b", set: {}, ttl: 3600 });
      clock.advance(61_500);
      assert.equal(await store.get("lease", "a"), undefined);
      // Let the mark that falls due every second reach the disk.
      await store.verify();
      const opened = end === "close" ? dataDir : `${dataDir}-left`;
      if (end === "crash") await copyOfAMoment(dataDir, opened);
      await store.close();
      const earlier = new ManualClock(clock.wallNow() - 86_400_000);
      const again = await openStore({ dataDir: opened, clock: earlier, sweep: false });
      assert.equal(await again.get("lease", "a"), undefined, end);
      assert.notEqual(await again.get("lease", "b"), undefined, end);
      const claim = await again.put({ shape: "lease", id: "a", set: {}, if_match: { exists: false } });
      assert.ok(claim.revision > revision);
      await again.close();
    }
  });

  test("a store that is opened later counts the time in between", async () => {
    const dataDir = await temporaryFolder();
    const clock = new ManualClock();
    const store = await openStore({ dataDir, clock });
    await store.put({ shape: "lease", id: "short", set: {}, ttl: 60 });
    await store.put({ shape: "lease", id: "long", set: {}, ttl: 7200 });
    await store.close();
    clock.advance(3_600_000);
    const again = await openStore({ dataDir, clock });
    assert.equal(await again.get("lease", "short"), undefined);
    assert.notEqual(await again.get("lease", "long"), undefined);
    await again.close();
  });

  test("a process that leaves leases, long ones too, and a watcher behind ends by itself, without a warning", async () => {
    const child = startChild("unclosed.ts", [await temporaryFolder()]);
    const { code, stdout, stderr } = await child.ended;
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "5 left\n", stderr: "" });
  });
});

describe("the sweeper", () => {
  test("takes what has expired off the disk by itself, soon after the deadline", async () => {
    const dataDir = await temporaryFolder();
    const clock = new ManualClock();
    const store = await openStore({ dataDir, clock });
    const before = (await store.verify()).documents;
    await store.put({ shape: "lease", id: "a", set: {}, ttl: 5 });
    await store.put({ shape: "lease", id: "b", set: {}, ttl: 4000 });
    clock.advance(5_100);
    for (let turn = 0; turn < 200 && (await store.verify()).documents > before + 1; turn++) {
      await new Promise(setImmediate);
    }
    assert.deepEqual(told(await history(store)), ["put a", "put b", "expire a"]);
    clock.advance(3_994_900);
    for (let turn = 0; turn < 200 && (await store.verify()).documents > before; turn++) await new Promise(setImmediate);
    assert.equal((await store.verify()).documents, before);
    assert.deepEqual(told(await history(store)).at(-1), "expire b");
    await store.close();
  });

  test("documents that are written again while it sweeps survive, and no expiry is told of them", async () => {
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock, sweep: false });
    const ids = Array.from({ length: 1000 }, (_, n) => `d${n}`);
    await store.batch(ids.map((id) => ({ op: "put", shape: "lease", id, set: { life: 1 }, ttl: 1 })));
    await store.put({ shape: "lease", id: "other", set: {}, ttl: 1 });
    clock.advance(999);
    // Renewed in time, but staged only when the sweep begins.
    const renewals = ids.slice(0, 300).map((id) => store.patch({ shape: "lease", id, ttl: 60 }));
    clock.advance(101);
    const sweeping = store.sweep();
    const rewrites = ids.slice(300, 600).map(async (id, n) => {
      // Spread over the steps of the sweep.
      for (let turn = 0; turn < n % 20; turn++) await new Promise(setImmediate);
      const ttl = n % 3 === 0 ? {} : { ttl: 60 };
      return await store.put({ shape: "lease", id, set: { life: 2 }, if_match: { exists: false }, ...ttl });
    });
    await Promise.all([...renewals, ...rewrites]);
    await sweeping;
    await store.sweep();
    const { documents } = await store.list("lease", { limit: 1000 });
    assert.deepEqual(documents.map((document) => document.id).toSorted(), ids.slice(0, 600).toSorted());
    const lives = new Map<string, string>();
    for (const commit of await history(store)) {
      for (const { type, id } of commit.changes) {
        const life = lives.get(id) ?? "";
        if (type === "expire") assert.equal(life, "put", `${id} expires once, and only while it is there`);
        lives.set(id, type);
      }
    }
    for (const id of ids.slice(0, 600)) assert.equal(lives.get(id), "put");
    for (const id of [...ids.slice(600), "other"]) assert.equal(lives.get(id), "expire");
    await store.close();
  });

  test("a put that meets an expired document carries its expire first, in one commit", async () => {
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock, sweep: false });
    await store.put({ shape: "lease", id: "a", set: { life: 1 }, ttl: 1 });
    await store.put({ shape: "lease", id: "b", set: { life: 1 }, ttl: 1 });
    clock.advance(1000);
    await store.delete({ shape: "lease", id: "b" });
    const { revision } = await store.batch([
      { op: "put", shape: "lease", id: "c", set: {} },
      { op: "put", shape: "lease", id: "a", set: { life: 2 } },
    ]);
    const commits = await history(store);
    assert.deepEqual(told(commits), ["put a", "put b", "put c, expire a, put a"]);
    assert.equal(commits[2]?.revision, revision);
    assert.equal(commits[2]?.changes[1]?.document, null);
    clock.advance(100);
    assert.equal(await store.sweep(), 1);
    assert.deepEqual(told(await history(store)).at(-1), "expire b");
    await store.close();
  });

  test("many expiries fall behind without harm, and are swept in bounded steps", async () => {
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock, sweep: false });
    for (let batch = 0; batch < 3; batch++) {
      const ids = Array.from({ length: 1000 }, (_, n) => `b${batch}-${n}`);
      await store.batch(ids.map((id, n) => ({ op: "put", shape: "lease", id, set: {}, ttl: n % 2 === 0 ? 1 : 5000 })));
    }
    clock.advance(5_000_100);
    assert.equal((await store.list("lease")).documents.length, 0);
    assert.equal(await store.sweep(), 3000);
    const sweeps = (await history(store)).filter((commit) => commit.changes[0]?.type === "expire");
    assert.ok(sweeps.every((commit) => commit.changes.length <= 1000));
    assert.ok(sweeps.length >= 3);
    assert.equal((await store.verify()).expiry_entries, 0);
    await store.close();
  });

  test("writing a document again and again leaves no expiry entry behind that could end it early", async () => {
    const dataDir = await temporaryFolder();
    const clock = new ManualClock();
    const options: StoreOptions = { dataDir, clock, sweep: false, history: { maxAgeSeconds: 1 } };
    const store = await openStore(options);
    await store.put({ shape: "lease", id: "k", set: {}, ttl: 1 });
    await store.put({ shape: "lease", id: "k", set: {}, ttl: 3601 });
    await store.put({ shape: "lease", id: "k", set: {} });
    const ttls = [0.5, 3601, null, 1.5, 7200];
    await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        store.put({ shape: "lease", id: "k", set: { n }, ttl: ttls[n % 5] ?? null }),
      ),
    );
    assert.equal((await store.verify()).expiry_entries <= 51, true);
    await store.delete({ shape: "lease", id: "k" });
    await store.put({ shape: "lease", id: "k", set: { last: true } });
    clock.advance(2000);
    assert.equal(await store.sweep(), 0);
    assert.deepEqual(await store.get("lease", "k"), { last: true });
    assert.deepEqual((await store.verify()).problems, []);
    assert.equal((await store.verify()).expiry_entries, 0, "the entries of an hour ahead went with their documents");
    clock.advance(10_000_000);
    assert.deepEqual(await store.get("lease", "k"), { last: true });
    await store.delete({ shape: "lease", id: "k" });
    await store.close();
    const left = (await entries(dataDir)).filter((tag) => tag === "d" || tag === "x");
    assert.deepEqual(left, []);
  });

  test("its work is by what is due: expired documents among 20,000 that live are found at once", async () => {
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock, sweep: false });
    for (let start = 0; start < 20_000; start += 1000) {
      await store.batch(
        Array.from({ length: 1000 }, (_, n) => ({ op: "put", shape: "a", id: `${start + n}`, set: {}, ttl: 50_000 })),
      );
    }
    await store.batch(Array.from({ length: 10 }, (_, n) => ({ op: "put", shape: "z", id: `${n}`, set: {}, ttl: 1 })));
    clock.advance(1100);
    const before = performance.now();
    assert.equal(await store.sweep(), 10);
    const first = performance.now() - before;
    assert.ok(first < 500, `the sweep took ${first} ms`);
    await store.close();
  });

  test("a store that sweeps nothing shows nothing that has expired", async () => {
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock, sweep: false });
    await store.put({ shape: "lease", id: "a", set: {}, ttl: 0.2 });
    for (const [ms, there] of [
      [150, true],
      [49, true],
      [1, false],
      [1, false],
      [200, false],
    ] as const) {
      clock.advance(ms);
      assert.equal((await store.get("lease", "a")) !== undefined, there);
      assert.equal((await store.list("lease")).documents.length, there ? 1 : 0);
    }
    assert.equal(store.revision, 1);
    await store.close();
  });
});
