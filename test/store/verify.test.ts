import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { describe, test } from "vitest";
import { OnceKvError } from "../../src/base/errors.js";
import { openStore, verifyFolder } from "../../src/level/index.js";
import { entriesOf, entryOf, filesOf, fillFolder, type RawLevel, tamper } from "./filled-folder.js";

const filledStore = fillFolder();

describe("verify", () => {
  test("finds nothing in a store that is whole, and counts what is there", async () => {
    const dataDir = await filledStore();
    const report = await verifyFolder({ dataDir });
    assert.deepEqual(report.problems, []);
    assert.deepEqual([report.ok, report.documents, report.problem_count], [true, 300, 0]);
    assert.ok(report.log_entries > 0 && report.expiry_entries > 0 && report.write_id_entries > 0);
    const store = await openStore({ dataDir });
    assert.equal((await store.verify()).documents, 300);
    await store.close();
  });

  const plants: [about: string, plant: (level: RawLevel) => Promise<void>, names: RegExp][] = [
    [
      "a document with one flipped bit",
      async (level) => {
        const [key, value] = entryOf(await entriesOf(level, "d"), 17);
        value.writeUInt8(value.readUInt8(value.length - 1) ^ 1, value.length - 1);
        await level.put(key, value);
      },
      /note\/"d0017"/,
    ],
    [
      "a document under another one's key",
      async (level) => {
        const entries = await entriesOf(level, "d");
        await level.put(entryOf(entries, 3)[0], entryOf(entries, 4)[1]);
      },
      /note\/"d0003"/,
    ],
    [
      "a document that is cut short",
      async (level) => {
        const [key, value] = entryOf(await entriesOf(level, "d"), 5);
        await level.put(key, value.subarray(0, 3));
      },
      /note\/"d0005"/,
    ],
    [
      "a deadline that the expiry index lacks, in an entry that is shared",
      async (level) => {
        const [key] = entryOf(await entriesOf(level, "x"), 0);
        await level.del(key);
      },
      /expiry index/,
    ],
    [
      "a deadline that the expiry index lacks, in an entry of its own",
      async (level) => {
        const [key] = entryOf(await entriesOf(level, "x"), -1);
        await level.del(key);
      },
      /expiry index/,
    ],
    [
      "an expiry entry whose document is gone",
      async (level) => {
        const [entry] = entryOf(await entriesOf(level, "x"), -1);
        await level.del(entry.subarray(10));
      },
      /expiry index/,
    ],
    [
      "a damaged expiry entry",
      async (level) => {
        const [key, value] = entryOf(await entriesOf(level, "x"), 0);
        value.writeUInt8(value.readUInt8(9) ^ 16, 9);
        await level.put(key, value);
      },
      /expiry index/,
    ],
    [
      "a log entry that is missing in the middle",
      async (level) => {
        const entries = await entriesOf(level, "l");
        await level.del(entryOf(entries, Math.floor(entries.length / 2))[0]);
      },
      /gap/,
    ],
    [
      "a damaged log entry",
      async (level) => {
        const [key, value] = entryOf(await entriesOf(level, "l"), 2);
        value.writeUInt8(value.readUInt8(60) ^ 16, 60);
        await level.put(key, value);
      },
      /log/,
    ],
    [
      "a document that is newer than the log",
      async (level) => {
        const entries = await entriesOf(level, "l");
        for (const [key] of entries.slice(-5)) await level.del(key);
      },
      /revision/,
    ],
    [
      "a damaged entry of the write ids",
      async (level) => {
        const [key, value] = entryOf(await entriesOf(level, "w"), 0);
        value.writeUInt8(value.readUInt8(value.length - 2) ^ 1, value.length - 2);
        await level.put(key, value);
      },
      /entry 1 of the write ids/,
    ],
    [
      "a document that is missing",
      async (level) => {
        await level.del(entryOf(await entriesOf(level, "d"), 1)[0]);
      },
      /document note\/"d0001" is missing: the log has it at revision 2/,
    ],
    [
      "a log entry under another one's key",
      async (level) => {
        const entries = await entriesOf(level, "l");
        const [key] = entryOf(entries, 7);
        await level.put(key, entryOf(entries, 8)[1]);
      },
      /log entry of revision 8/,
    ],
    [
      "a store without its own entries",
      async (level) => {
        for (const [key] of await entriesOf(level, "m")) await level.del(key);
      },
      /the store's own entry format is missing/,
    ],
    [
      "a damaged entry of the store's own",
      async (level) => {
        const [key, value] = entryOf(await entriesOf(level, "m"), 0);
        value.writeUInt8(value.readUInt8(value.length - 1) ^ 1, value.length - 1);
        await level.put(key, value);
      },
      /the store's own entry "clock"/,
    ],
    [
      "an entry under a key that means nothing",
      async (level) => {
        await level.put(Buffer.from("zebra"), Buffer.from("x"));
      },
      /key 0x7a65627261 is the key of nothing/,
    ],
  ];
  for (const [about, plant, names] of plants) {
    test(`finds ${about}`, async () => {
      const dataDir = await filledStore();
      await tamper(dataDir, plant);
      const report = await verifyFolder({ dataDir });
      assert.equal(report.ok, false);
      assert.ok(report.problem_count >= 1);
      assert.ok(
        report.problems.some((problem) => names.test(problem)),
        report.problems.join("\n"),
      );
    });
  }

  test("finds a flipped bit in a table file, also where it hides an entry and changes none", async () => {
    const dataDir = await filledStore();
    await tamper(dataDir, async (level) => {
      await level.compactRange(Buffer.from([0]), Buffer.from([255]));
    });
    const [table = assert.fail()] = await filesOf(dataDir, ".ldb");
    const whole = await readFile(table);
    let found = 0;
    for (let round = 0; round < 12; round++) {
      const spoilt = Buffer.from(whole);
      const place = Math.floor(((whole.length - 60) * (round + 0.5)) / 12);
      spoilt.writeUInt8(spoilt.readUInt8(place) ^ (1 << (round % 8)), place);
      await writeFile(table, spoilt);
      const report = await verifyFolder({ dataDir }).catch((error: unknown) => {
        assert.ok(error instanceof OnceKvError && error.code === "store_damaged", String(error));
        return undefined;
      });
      if (report === undefined) continue;
      found += 1;
      assert.ok(!report.ok && report.problems.some((problem) => problem.includes(".ldb:")), `byte ${place}`);
      await writeFile(table, whole);
    }
    assert.ok(found >= 10, `${found}`);
  });
});
