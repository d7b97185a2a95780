import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../src/base/manual-clock.js";
import { openStore, restore, verifyFolder } from "../../src/level/index.js";
import { documentKey, logKey } from "../../src/level/keys.js";
import { putMeta } from "../../src/level/meta.js";
import { revisionAfterLoss } from "../../src/level/recover.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "oncekv-recovery-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const note = (n: number) => ({ shape: "note", id: `${n}`, set: { n } });

async function raw(dataDir: string): Promise<ClassicLevel<Buffer, Buffer>> {
  const level = new ClassicLevel<Buffer, Buffer>(dataDir, { keyEncoding: "buffer", valueEncoding: "buffer" });
  await level.open();
  return level;
}

/** LevelDB's newest write-ahead log. */
async function newestLog(dataDir: string): Promise<string> {
  const logs = (await readdir(dataDir)).filter((name) => name.endsWith(".log")).sort();
  return join(dataDir, logs.at(-1) ?? "");
}

describe("opening a store", () => {
  it("goes on where it was closed: revisions, history, write ids, deadlines and the clock", async () => {
    const clock = new ManualClock();
    const first = await openStore({ dataDir: folder, clock, sweep: false });
    await first.put({ ...note(1), ttl: 10, write_id: "w1" });
    const answer = await first.put({ ...note(2), write_id: "w2", return: "document" });
    await first.close();

    clock.advance(11_000);
    clock.stepWall(-3_600_000);
    const second = await openStore({ dataDir: folder, clock, sweep: false });
    expect(second.revision).toBe(2);
    expect(await second.put({ ...note(2), write_id: "w2", return: "document" })).toMatchObject({
      revision: 2,
      replayed: true,
      document: { revision: 2, fields: answer.document?.fields },
    });
    await expect(second.put({ ...note(3), write_id: "w2" })).rejects.toMatchObject({ code: "write_id_conflict" });
    const watch = second.watch({ since: 0 });
    expect((await watch.next()).value).toMatchObject({ revision: 1, changes: [{ id: "1" }] });
    expect((await watch.next()).value).toMatchObject({ revision: 2, changes: [{ id: "2" }] });
    // The wall clock was set back an hour while the store was closed; its own now does not run backward.
    expect(second.now()).toBeGreaterThanOrEqual(Date.parse(answer.document?.updated_at ?? ""));
    expect((await second.put(note(4))).revision).toBe(3);
    await second.close();
  });

  it("keeps what has expired expired, although the wall clock was set back before it was opened again", async () => {
    const clock = new ManualClock();
    const first = await openStore({ dataDir: folder, clock, sweep: false });
    await first.put({ ...note(1), ttl: 10 });
    clock.advance(10_500);
    expect(await first.get("note", "1")).toBeUndefined();
    await first.close();
    clock.stepWall(-9_000);
    const second = await openStore({ dataDir: folder, clock, sweep: false });
    expect(await second.get("note", "1")).toBeUndefined();
    await second.close();
  });

  it("refuses a newer data format and says what to do", async () => {
    await (await openStore({ dataDir: folder })).close();
    const level = await raw(folder);
    const newer = putMeta("format", 99);
    if (newer.type === "put") await level.put(newer.key, newer.value);
    await level.close();
    await expect(openStore({ dataDir: folder })).rejects.toMatchObject({
      code: "store_format",
      message: expect.stringMatching(/data format 99.*newer oncekv/),
    });
  });

  it("refuses a LevelDB database that is not ours", async () => {
    const level = await raw(folder);
    await level.put(Buffer.from("some"), Buffer.from("thing"));
    await level.close();
    await expect(openStore({ dataDir: folder })).rejects.toMatchObject({ code: "store_format" });
  });

  it("refuses at every open when LevelDB has dropped acknowledged writes, until the loss is accepted", async () => {
    const store = await openStore({ dataDir: folder });
    for (let n = 0; n < 300; n++) await store.put(note(n));
    await store.close();
    const log = await newestLog(folder);
    const bytes = await readFile(log);
    const middle = Math.floor(bytes.length / 2);
    bytes[middle] = (bytes[middle] ?? 0) ^ 0x10;
    await writeFile(log, bytes);

    expect((await verifyFolder({ dataDir: folder })).ok).toBe(false);
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(openStore({ dataDir: folder })).rejects.toMatchObject({
        code: "store_damaged",
        message: expect.stringMatching(/acknowledged writes.*acceptLoss/),
      });
    }
    const accepted = await openStore({ dataDir: folder, acceptLoss: true });
    expect(accepted.revision).toBeGreaterThanOrEqual(300 + 2 ** 24);
    await expect(accepted.watch({ since: 10 }).next()).rejects.toMatchObject({ code: "revision_compacted" });
    expect((await accepted.put(note(1000))).revision).toBe(accepted.revision);
    await accepted.close();
    const again = await openStore({ dataDir: folder });
    expect((await again.verify()).problems).toEqual([]);
    await again.close();
  });

  it("refuses a folder whose file CURRENT is gone, instead of beginning a new database over the old one", async () => {
    const store = await openStore({ dataDir: folder });
    await store.put(note(1));
    await store.close();
    const current = await readFile(join(folder, "CURRENT"));
    await rm(join(folder, "CURRENT"));
    await expect(openStore({ dataDir: folder })).rejects.toMatchObject({
      code: "store_damaged",
      message: expect.stringMatching(/CURRENT is missing/),
    });
    await writeFile(join(folder, "CURRENT"), current);
    const again = await openStore({ dataDir: folder });
    expect(await again.get("note", "1")).toEqual({ n: 1 });
    await again.close();
  });

  it("refuses when an entry is missing in the newest stretch of the log", async () => {
    const store = await openStore({ dataDir: folder });
    for (let n = 0; n < 10; n++) await store.put(note(n));
    await store.close();
    const level = await raw(folder);
    await level.del(logKey(8));
    await level.close();
    expect((await verifyFolder({ dataDir: folder })).problems.join()).toMatch(/gap/);
    await expect(openStore({ dataDir: folder })).rejects.toMatchObject({ code: "store_damaged" });
  });

  it("refuses when a buffered store that was not closed lacks an entry far behind, as a loss of power can leave it", async () => {
    // What was not synced at the end of an old log file of LevelDB can go, although a newer file is there.
    const store = await openStore({ dataDir: folder, durability: "buffered" });
    for (let n = 0; n < 300; n++) await store.put(note(n));
    const copy = await mkdtemp(join(tmpdir(), "oncekv-hole-"));
    try {
      for (const name of await readdir(folder)) await writeFile(join(copy, name), await readFile(join(folder, name)));
      const level = await raw(copy);
      await level.batch([
        { type: "del", key: logKey(100) },
        { type: "del", key: documentKey("note", "99") },
      ]);
      await level.close();
      const refusal = { code: "store_damaged", message: expect.stringMatching(/gap between revisions 99 and 101/) };
      await expect(openStore({ dataDir: copy, durability: "buffered" })).rejects.toMatchObject(refusal);
      const accepted = await openStore({ dataDir: copy, durability: "buffered", acceptLoss: true });
      expect((await accepted.verify()).problems).toEqual([]);
      await accepted.close();
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
    await store.close();
  });

  it("opens after the end of LevelDB's log was cut off, with at most the newest writes missing and none torn", async () => {
    const store = await openStore({ dataDir: folder, durability: "buffered" });
    for (let n = 0; n < 50; n++) {
      await store.batch([
        { op: "put", shape: "pair", id: `left-${n}`, set: { n } },
        { op: "put", shape: "pair", id: `right-${n}`, set: { n } },
      ]);
    }
    const log = await newestLog(folder);
    const { size } = await stat(log);
    const copy = await mkdtemp(join(tmpdir(), "oncekv-cut-"));
    try {
      // A copy of the folder as a power failure would leave it, without its last 40 bytes.
      for (const name of await readdir(folder)) await writeFile(join(copy, name), await readFile(join(folder, name)));
      await truncate(join(copy, log.slice(folder.length + 1)), size - 40);
      const cut = await openStore({ dataDir: copy });
      const { documents } = await cut.list("pair", { limit: 1000 });
      const left = documents.filter(({ id }) => id.startsWith("left")).length;
      expect(documents.length - left).toBe(left);
      expect(left).toBe(49);
      expect(cut.revision).toBeGreaterThan(2 ** 24); // Buffered and not closed cleanly: revisions have jumped.
      expect((await cut.verify()).problems).toEqual([]);
      await cut.close();
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
    await store.close();
  });
});

describe("the jump of the revision", () => {
  it("passes everything that was given out, and every earlier jump, and stays a safe integer until 2106", () => {
    const now = Date.UTC(2026, 5, 1);
    const once = revisionAfterLoss(12, now);
    expect(once).toBe(Math.floor(now / 1000) * 2 ** 21);
    expect(revisionAfterLoss(12, now + 1000)).toBeGreaterThan(once + 2 ** 20);
    expect(revisionAfterLoss(once + 5, now)).toBe(once + 5 + 2 ** 24);
    expect(Number.isSafeInteger(revisionAfterLoss(0, Date.UTC(2106, 0, 1)))).toBe(true);
  });
});

describe("backup and restore", () => {
  it("brings every living document back as it was, beyond all revisions of the lost timeline, without history", async () => {
    const clock = new ManualClock();
    const store = await openStore({ dataDir: join(folder, "data"), clock, sweep: false });
    await store.put({ ...note(1), ttl: 1 });
    for (let n = 2; n < 3000; n++) await store.put({ ...note(n), ...(n % 3 === 0 ? { ttl: n } : {}) });
    clock.advance(1000);
    const file = join(folder, "store.backup");
    const summary = await store.backup(file);
    expect(summary).toMatchObject({ documents: 2998, revision: 2999 });
    await store.put(note(9999));
    const before = new Map<string, unknown>();
    for await (const { as_of: _, ...document } of store.scan("note")) before.set(document.id, document);
    before.delete("9999");
    await store.close();

    const restored = await restore({ file, dataDir: join(folder, "new"), clock });
    expect(restored).toMatchObject({ documents: 2998, revision: 2999 });
    const again = await openStore({ dataDir: join(folder, "new"), clock, sweep: false });
    const after = new Map<string, unknown>();
    for await (const { as_of: _, ...document } of again.scan("note")) after.set(document.id, document);
    expect(after).toEqual(before);
    expect(again.revision).toBeGreaterThan(2999 + 2 ** 24 - 1);
    expect((await again.verify()).problems).toEqual([]);
    await expect(again.watch({ since: 100 }).next()).rejects.toMatchObject({ code: "revision_compacted" });
    clock.advance(4000_000);
    expect(await again.sweep()).toBe(999);
    await again.close();
  });

  it("refuses a file that is cut off or changed, a folder that is not empty, and a backup over an existing file", async () => {
    const store = await openStore({ dataDir: join(folder, "data") });
    for (let n = 0; n < 100; n++) await store.put(note(n));
    const file = join(folder, "store.backup");
    await store.backup(file);
    await expect(store.backup(file)).rejects.toMatchObject({ code: "backup_invalid" });
    await expect(restore({ file, dataDir: join(folder, "data") })).rejects.toMatchObject({ code: "store_unwritable" });
    await store.close();
    const bytes = await readFile(file);
    for (const broken of [bytes.subarray(0, bytes.length - 5), bytes.subarray(0, 200), Buffer.from("something else")]) {
      await writeFile(file, broken);
      await expect(restore({ file, dataDir: join(folder, "new") })).rejects.toMatchObject({ code: "backup_invalid" });
    }
    bytes[bytes.length - 60] = (bytes[bytes.length - 60] ?? 0) ^ 1;
    await writeFile(file, bytes);
    await expect(restore({ file, dataDir: join(folder, "new") })).rejects.toThrow(/backup|checksum/);
    await expect(stat(join(folder, "new"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});
