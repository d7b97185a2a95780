import assert from "node:assert/strict";
import { access, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "vitest";
import type { Document } from "../../src/documents/contract.js";
import { type EmbeddedStore, openMemoryStore, openStore, restore } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { rejection } from "./rejection.js";
import { temporaryFolder } from "./temporary-folder.js";

const stride = 2 ** 24;

/** Everything that a store shows of its documents, but for the instant of the answer. */
async function contents(store: EmbeddedStore, shapes: readonly string[]): Promise<object[]> {
  const documents: Document[] = [];
  for (const shape of shapes) for await (const document of store.scan(shape)) documents.push(document);
  return documents.map(({ as_of: _, ...document }) => document);
}

describe("backup and restore", () => {
  test("a restored store has every document as it was, deadlines and beginnings too", async () => {
    const folder = await temporaryFolder();
    const clock = new ManualClock();
    const store = await openStore({ dataDir: join(folder, "data"), clock, sweep: false });
    const values = [
      {},
      { text: "é😀\0" },
      { deep: { list: [1, null, [{}]] } },
      { n: -1.5 },
      { big: "x".repeat(200_000) },
    ];
    for (const [n, set] of values.entries()) await store.put({ shape: "note", id: `${n}/\0😀`, set });
    await store.put({ shape: "lease", id: "short", set: {}, ttl: 60 });
    await store.put({ shape: "lease", id: "long", set: {}, ttl: 86_400 });
    await store.put({ shape: "lease", id: "over", set: {}, ttl: 1 });
    await store.put({ shape: "note", id: "gone", set: {} });
    await store.delete({ shape: "note", id: "gone" });
    clock.advance(5000);
    await store.patch({ shape: "note", id: "0/\0😀", merge: { patched: true } });
    const expected = await contents(store, ["lease", "note"]);
    const file = join(folder, "backup");
    const summary = await store.backup(file);
    assert.deepEqual([summary.documents, summary.revision], [expected.length, store.revision]);
    assert.equal(summary.bytes, (await readFile(file)).length);
    assert.equal(summary.taken_at, new Date(store.now()).toISOString());
    const { revision } = store;
    await store.close();

    const dataDir = join(folder, "restored");
    const restored = await restore({ file, dataDir, clock });
    assert.equal(restored.documents, expected.length);
    assert.ok(restored.base_revision >= revision + stride);
    const again = await openStore({ dataDir, clock, sweep: false });
    assert.deepEqual(await contents(again, ["lease", "note"]), expected);
    assert.equal(again.revision, restored.base_revision);
    assert.deepEqual((await again.verify()).problems, []);
    clock.advance(55_000);
    assert.equal(await again.get("lease", "short"), undefined);
    assert.notEqual(await again.get("lease", "long"), undefined);
    clock.advance(100);
    assert.equal(await again.sweep(), 1);
    await again.close();
  });

  test("a backup while others write is one moment of the store: batches whole, nothing mixed", async () => {
    const folder = await temporaryFolder();
    const store = await openStore({ dataDir: join(folder, "data") });
    const ids = Array.from({ length: 500 }, (_, n) => `d${n}`);
    const write = (token: number) => store.batch(ids.map((id) => ({ op: "put", shape: "note", id, set: { token } })));
    await write(0);
    let writing = true;
    let token = 0;
    const writer = (async () => {
      while (writing) {
        token += 1;
        await write(token);
      }
    })();
    const backups = [0, 1, 2].map((n) => join(folder, `backup-${n}`));
    const summaries = [];
    for (const file of backups) {
      const before = store.revision;
      const summary = await store.backup(file);
      assert.ok(summary.revision >= before && summary.revision <= store.revision);
      summaries.push(summary);
    }
    writing = false;
    await writer;
    await store.close();
    for (const [n, file] of backups.entries()) {
      const dataDir = join(folder, `restored-${n}`);
      await restore({ file, dataDir });
      const again = await openStore({ dataDir });
      const { documents } = await again.list("note", { limit: 1000 });
      assert.equal(documents.length, ids.length);
      assert.equal(new Set(documents.map((document) => document.fields["token"])).size, 1);
      assert.deepEqual(new Set(documents.map((document) => document.revision)), new Set([summaries[n]?.revision]));
      await again.close();
    }
  });

  test("nothing of the lost timeline matches after a restore: revisions, write ids, watchers", async () => {
    const folder = await temporaryFolder();
    const clock = new ManualClock();
    const store = await openStore({ dataDir: join(folder, "data"), clock });
    await store.put({ shape: "note", id: "a", set: { n: 1 } });
    const file = join(folder, "backup");
    await store.backup(file);
    // Lost: written after the backup was taken.
    const write = { shape: "note", id: "a", set: { n: 2 }, write_id: "lost" };
    const lost = await store.put(write);
    await store.put({ shape: "note", id: "b", set: {} });
    await store.close();
    const dataDir = join(folder, "restored");
    await restore({ file, dataDir, clock });
    const again = await openStore({ dataDir, clock });
    assert.deepEqual(await again.get("note", "a"), { n: 1 });
    const if_match = { revision: lost.revision };
    await rejection(again.put({ shape: "note", id: "a", set: {}, if_match }), "precondition_failed");
    const rewritten = await again.put(write);
    assert.ok(rewritten.replayed === undefined && rewritten.revision > lost.revision + stride - 10);
    const watching = again.watch({ since: lost.revision })[Symbol.asyncIterator]();
    await rejection(Promise.resolve(watching.next()), "revision_compacted");
    await again.close();
  });

  test("the same backup restored twice, a second apart, makes two timelines that never meet", async () => {
    const folder = await temporaryFolder();
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock });
    await store.put({ shape: "note", id: "a", set: {} });
    const file = join(folder, "backup");
    await store.backup(file);
    await store.close();
    const bases: number[] = [];
    for (const name of ["first", "second"]) {
      bases.push((await restore({ file, dataDir: join(folder, name), clock })).base_revision);
      clock.advance(1000);
    }
    assert.ok((bases[1] ?? 0) - (bases[0] ?? 0) >= 2 ** 21);
  });

  test("a store that was restored, backed up and restored again goes on growing", async () => {
    const folder = await temporaryFolder();
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock });
    await store.put({ shape: "note", id: "a", set: { n: 0 } });
    let file = join(folder, "backup-0");
    await store.backup(file);
    await store.close();
    let { revision } = store;
    for (let life = 1; life <= 3; life++) {
      const dataDir = join(folder, `data-${life}`);
      await restore({ file, dataDir, clock });
      const next = await openStore({ dataDir, clock });
      assert.ok(next.revision >= revision + stride, `life ${life}`);
      ({ revision } = await next.patch({ shape: "note", id: "a", merge: { n: life } }));
      file = join(folder, `backup-${life}`);
      await next.backup(file);
      await next.close();
    }
  });

  test("a backup of an empty store can be restored", async () => {
    const folder = await temporaryFolder();
    const store = await openMemoryStore();
    const file = join(folder, "backup");
    assert.equal((await store.backup(file)).documents, 0);
    await store.close();
    assert.equal((await restore({ file, dataDir: join(folder, "data") })).documents, 0);
    const again = await openStore({ dataDir: join(folder, "data") });
    await again.put({ shape: "note", id: "a", set: {} });
    await again.close();
  });

  test("a backup that is cut, changed or of another kind is refused, and nothing is restored from it", async () => {
    const folder = await temporaryFolder();
    const store = await openMemoryStore();
    for (let n = 0; n < 50; n++) await store.put({ shape: "note", id: `${n}`, set: { n, text: "x".repeat(100) } });
    const file = join(folder, "backup");
    await store.backup(file);
    await store.close();
    const whole = await readFile(file);
    const changed = (place: number): Buffer => {
      const bytes = Buffer.from(whole);
      bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place);
      return bytes;
    };
    const spoilt: [about: string, bytes: Buffer][] = [
      ["empty", Buffer.alloc(0)],
      ["something else", Buffer.from("PK\u0003\u0004 this is a zip")],
      ["twice the same", Buffer.concat([whole, whole])],
      ...[5, 20, 100, whole.length / 2, whole.length - 33, whole.length - 1].map((length): [string, Buffer] => [
        `cut to ${Math.floor(length)}`,
        whole.subarray(0, length),
      ]),
      ...[3, 25, 120, whole.length / 3, whole.length - 40, whole.length - 5].map((place): [string, Buffer] => [
        `changed at ${Math.floor(place)}`,
        changed(Math.floor(place)),
      ]),
    ];
    for (const [about, bytes] of spoilt) {
      await writeFile(join(folder, "spoilt"), bytes);
      const dataDir = join(folder, "data");
      const error = await restore({ file: join(folder, "spoilt"), dataDir }).then(
        () => assert.fail(`restored from a file that is ${about}`),
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof Error && "code" in error, String(error));
      assert.ok(["backup_invalid", "store_damaged"].includes(String(error.code)), `${about}: ${error.message}`);
      assert.ok(error.message.includes("spoilt"), `${about}: the message names the file: ${error.message}`);
      assert.deepEqual(await readdir(dataDir).catch(() => []), [], about);
    }
    const missing = await rejection(
      restore({ file: join(folder, "nowhere"), dataDir: join(folder, "data") }),
      "backup_invalid",
    );
    assert.ok(missing.message.includes("nowhere"));
  });

  test("neither a backup nor a restore overwrites anything", async () => {
    const folder = await temporaryFolder();
    const store = await openMemoryStore();
    await store.put({ shape: "note", id: "a", set: {} });
    const file = join(folder, "backup");
    await writeFile(file, "precious");
    await rejection(store.backup(file), "backup_invalid");
    assert.equal(await readFile(file, "utf8"), "precious");
    const good = join(folder, "good");
    await store.backup(good);
    await store.close();
    const dataDir = join(folder, "data");
    await mkdir(dataDir);
    await writeFile(join(dataDir, "mine"), "precious");
    await rejection(restore({ file: good, dataDir }), "store_unwritable");
    assert.deepEqual(await readdir(dataDir), ["mine"]);
  });

  test("a backup into a folder that does not exist is refused with the path, and the store goes on", async () => {
    const folder = await temporaryFolder();
    const store = await openMemoryStore();
    await store.put({ shape: "note", id: "a", set: {} });
    const file = join(folder, "no", "such", "backup");
    const error = await store.backup(file).then(
      () => assert.fail("there is no such folder"),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof Error && error.message.includes(file), String(error));
    await assert.rejects(access(file));
    await store.put({ shape: "note", id: "b", set: {} });
    await store.close();
  });

  test("progress is told on the way", async () => {
    const folder = await temporaryFolder();
    const store = await openMemoryStore();
    for (let start = 0; start < 11_000; start += 1000) {
      await store.batch(
        Array.from({ length: 1000 }, (_, n) => ({ op: "put", shape: "note", id: `${start + n}`, set: {} })),
      );
    }
    const told: number[] = [];
    const file = join(folder, "backup");
    await store.backup(file, { onProgress: (documents) => told.push(documents) });
    assert.deepEqual(told, [10_000]);
    await store.close();
    const restored: number[] = [];
    await restore({ file, dataDir: join(folder, "data"), onProgress: (documents) => restored.push(documents) });
    assert.equal(restored.at(-1), 11_000);
  });
});
