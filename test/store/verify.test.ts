import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { openStore, verifyFolder } from "../../src/level/index.js";
import { entriesOf, entryOf, fillFolder, type RawLevel, tamper } from "./filled-folder.js";

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
      /write id/,
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
});
