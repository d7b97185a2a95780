import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { describe, test } from "vitest";
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

  test("tell of a table that is cut, empty or noise", async () => {
    const { dataDir, table, whole } = await inOneTable();
    for (const bytes of [whole.subarray(0, whole.length / 2), Buffer.alloc(0), Buffer.alloc(5000, 0xa5)]) {
      await writeFile(table, bytes);
      const found = await damagedBlocks(dataDir);
      assert.deepEqual(
        found.map(({ bytes, after, upTo }) => ({ bytes, after, upTo })),
        [{ bytes: bytes.length, after: undefined, upTo: undefined }],
      );
    }
  });

  test("noise is no compressed block, and costs no memory", () => {
    for (const text of ["", "ff", "ffffffff0f00", "0a04", "050161626364", "0401", "040061050a"]) {
      assert.equal(decompressSnappy(Buffer.from(text, "hex")), undefined, text);
    }
    // Five bytes: one as it is, four copied from one before.
    assert.equal(decompressSnappy(Buffer.from("0500610101", "hex"))?.toString(), "aaaaa");
  });
});
