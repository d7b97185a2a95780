import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, test } from "vitest";
import { mendTables } from "../../src/level/mend-tables.js";
import { decompressSnappy } from "../../src/level/snappy.js";
import { damagedBlocks } from "../../src/level/table-file.js";
import { filesOf, fillFolder, tamper } from "../store/filled-folder.js";

const filledStore = fillFolder();

/** A folder whose documents are all in one table. */
async function inOneTable(): Promise<{ dataDir: string; table: string; whole: Buffer }> {
  const dataDir = await filledStore();
  await tamper(dataDir, async (level) => {
    await level.compactRange(Buffer.from([0]), Buffer.from([255]));
  });
  const [table] = await filesOf(dataDir, ".ldb");
  assert.ok(table !== undefined);
  return { dataDir, table, whole: await readFile(table) };
}

describe("the checksums of table files", () => {
  test("hold in tables that are whole, compressed ones too", async () => {
    const { dataDir, whole } = await inOneTable();
    assert.ok(whole.length > 10_000);
    assert.deepEqual(await damagedBlocks(dataDir), []);
  });

  test("tell of every flipped bit that LevelDB could read, and where it is", async () => {
    const { dataDir, table, whole } = await inOneTable();
    let places = 0;
    for (let place = 0; place < whole.length; place += 397) {
      const spoilt = Buffer.from(whole);
      spoilt.writeUInt8(spoilt.readUInt8(place) ^ (1 << (place % 8)), place);
      await writeFile(table, spoilt);
      const [found, ...others] = await damagedBlocks(dataDir);
      // Before its magic number the footer is padded, and nothing reads that.
      if (place >= whole.length - 48) continue;
      assert.ok(found !== undefined && others.length === 0, `byte ${place} of ${whole.length}`);
      assert.ok(found.bytes <= whole.length);
      places += 1;
    }
    assert.ok(places > 20);
  });

  test("tell of a table that is empty or noise as a whole, and of one that is cut from where it is", async () => {
    const { dataDir, table, whole } = await inOneTable();
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(5000, 0xa5)]) {
      await writeFile(table, bytes);
      const found = await damagedBlocks(dataDir);
      assert.deepEqual(
        found.map(({ bytes, after, upTo }) => ({ bytes, after, upTo })),
        [{ bytes: bytes.length, after: undefined, upTo: undefined }],
      );
    }
    await writeFile(table, whole.subarray(0, whole.length / 2));
    const [cut, ...others] = await damagedBlocks(dataDir);
    assert.deepEqual(others, []);
    // What is whole in front of the cut is found by its checksums.
    assert.ok(cut !== undefined && cut.holds === "entries" && cut.after !== undefined);
    assert.ok(cut.bytes < whole.length / 4);
  });

  test("noise is no compressed block, and costs no memory", () => {
    for (const text of ["", "ff", "ffffffff0f00", "0a04", "050161626364", "0401", "040061050a"]) {
      assert.equal(decompressSnappy(Buffer.from(text, "hex")), undefined, text);
    }
    // Five bytes: one as it is, four copied from one before.
    assert.equal(decompressSnappy(Buffer.from("0500610101", "hex"))?.toString(), "aaaaa");
  });
});

describe("tables that are mended", () => {
  /** All keys that LevelDB finds, in both directions, and by themselves. */
  async function keysIn(dataDir: string): Promise<string[]> {
    const keys: string[] = [];
    await tamper(dataDir, async (level) => {
      for await (const key of level.keys()) keys.push(key.toString("latin1"));
      const backward: string[] = [];
      for await (const key of level.keys({ reverse: true })) backward.push(key.toString("latin1"));
      assert.deepEqual(backward.toReversed(), keys);
      for (const key of keys) assert.ok(level.getSync(Buffer.from(key, "latin1")) !== undefined);
      // LevelDB reads and writes all of it.
      await level.compactRange(Buffer.from([0]), Buffer.from([255]));
    });
    return keys;
  }

  test("are whole for LevelDB, with all that was not in a damaged block, wherever a bit was flipped", async () => {
    const { dataDir, table, whole } = await inOneTable();
    const all = await keysIn(dataDir);
    const [intact] = await filesOf(dataDir, ".ldb");
    assert.ok(intact !== undefined);
    // Opening gives the table another name.
    const bytes = await readFile(intact);
    const places = [
      ...Array.from({ length: 30 }, (_, n) => Math.floor((bytes.length * n) / 30)),
      // The filter, both indexes and the footer stand at the end.
      ...Array.from({ length: 40 }, (_, n) => bytes.length - 1 - n * 7),
    ];
    let mended = 0;
    for (const place of places) {
      const copy = `${dataDir}-${place}`;
      await cp(dataDir, copy, { recursive: true });
      const spoilt = Buffer.from(bytes);
      spoilt.writeUInt8(spoilt.readUInt8(place) ^ (1 << (place % 8)), place);
      await writeFile(join(copy, basename(intact)), spoilt);
      const damaged = await mendTables(copy);
      assert.deepEqual(await damagedBlocks(copy), [], `byte ${place}`);
      const left = await keysIn(copy);
      const entries = damaged.filter(({ holds }) => holds === "entries");
      if (entries.length === 0) assert.deepEqual(left, all, `byte ${place}`);
      else {
        mended += 1;
        assert.ok(left.length > all.length / 2, `byte ${place}: ${left.length} of ${all.length}`);
        const missing = all.filter((key) => !left.includes(key)).map((key) => Buffer.from(key, "latin1"));
        for (const key of missing) {
          assert.ok(
            entries.some(({ after, upTo }) => {
              return (
                (after === undefined || Buffer.compare(key, after) > 0) &&
                (upTo === undefined || Buffer.compare(key, upTo) <= 0)
              );
            }),
            "what is missing lies where damage was told",
          );
        }
      }
    }
    assert.ok(mended > 10);
    assert.ok(whole.length > 0 && table.length > 0);
  });
});
