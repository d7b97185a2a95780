import assert from "node:assert/strict";
import { cp, mkdtemp, open, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { afterAll, beforeAll, describe, test } from "vitest";
import { OnceKvError } from "../../src/base/errors.js";
import type { Fields } from "../../src/documents/contract.js";
import { openStore, verifyFolder } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { rejection } from "./rejection.js";
import { temporaryFolder } from "./temporary-folder.js";

type RawLevel = ClassicLevel<Buffer, Buffer>;

/** Works on the entries of a closed store, as no program of ours would. */
async function tamper(dataDir: string, work: (level: RawLevel) => Promise<void>): Promise<void> {
  const level: RawLevel = new ClassicLevel(dataDir, { keyEncoding: "buffer", valueEncoding: "buffer" });
  await level.open();
  await work(level);
  await level.close();
}

/** The entries whose keys begin with a letter: d documents, l the log, x the expiry index, w write ids, m facts. */
async function entriesOf(level: RawLevel, tag: string): Promise<[key: Buffer, value: Buffer][]> {
  const [gte, lt] = [Buffer.from(tag), Buffer.from([tag.charCodeAt(0) + 1])];
  return await level.iterator({ gte, lt }).all();
}

function entryOf(entries: readonly [key: Buffer, value: Buffer][], place: number): [key: Buffer, value: Buffer] {
  return entries.at(place) ?? assert.fail("there is no such entry");
}

async function filesOf(dataDir: string, end: string): Promise<string[]> {
  const names = (await readdir(dataDir)).filter((name) => name.endsWith(end)).toSorted();
  return names.map((name) => join(dataDir, name));
}

let filled: string;

/** A closed store with 300 documents, a fifth of them with a deadline; each test has a copy of its own. */
beforeAll(async () => {
  filled = await mkdtemp(join(tmpdir(), "oncekv-filled-"));
  const store = await openStore({ dataDir: filled, clock: new ManualClock(), sweep: false });
  for (let n = 0; n < 300; n++) {
    const ttl = n % 5 !== 0 ? {} : { ttl: n % 10 === 0 ? 60 : 7200 };
    await store.put({ shape: "note", id: id(n), set: { n, text: `text of ${n}` }, write_id: `w${n}`, ...ttl });
  }
  await store.close();
});

afterAll(() => rm(filled, { recursive: true }));

async function filledStore(): Promise<string> {
  const dataDir = join(await temporaryFolder(), "data");
  await cp(filled, dataDir, { recursive: true });
  return dataDir;
}

/** What a promise gives, or the error that it rejects with. */
async function outcome<T>(promise: Promise<T>): Promise<T | Error> {
  try {
    return await promise;
  } catch (error) {
    assert.ok(error instanceof Error);
    return error;
  }
}

function id(n: number): string {
  return `d${`${n}`.padStart(4, "0")}`;
}

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

describe("damage", () => {
  test("a document that is not what was written is an error in every call, never a wrong value", async () => {
    const dataDir = await filledStore();
    await tamper(dataDir, async (level) => {
      const [key, value] = entryOf(await entriesOf(level, "d"), 17);
      value.write("TEXT", value.indexOf("text"));
      await level.put(key, value);
    });
    const store = await openStore({ dataDir });
    const key = { shape: "note", id: id(17) };
    await rejection(store.get("note", id(17)), "store_damaged");
    await rejection(store.getMany([key]), "store_damaged");
    await rejection(store.list("note", { limit: 1000 }), "store_damaged");
    await rejection(store.patch({ ...key, merge: { n: 1 } }), "store_damaged");
    await rejection(store.put({ ...key, set: {}, if_match: { exists: true } }), "store_damaged");
    await rejection(store.waitFor("note", id(17), { after: 0, timeout: 0 }), "store_damaged");
    await rejection(store.backup(`${dataDir}.backup`), "store_damaged");
    assert.deepEqual((await store.get("note", id(18)))?.["n"], 18);
    assert.deepEqual((await store.list("note", { after: id(17), limit: 1 })).documents[0]?.id, id(18));
    assert.equal(store.stats().locks, 0, "a damaged document holds no lock");
    await store.close();
  });

  test("flipped bytes in a table file are found: an error or the right value, never a wrong one", async () => {
    const dataDir = await filledStore();
    await tamper(dataDir, async (level) => {
      await level.compactRange(Buffer.from([0]), Buffer.from([255]));
    });
    const [table] = await filesOf(dataDir, ".ldb");
    assert.ok(table !== undefined, "the documents are in a table");
    const whole = await readFile(table);
    let found = 0;
    for (let round = 0; round < 40; round++) {
      const spoilt = Buffer.from(whole);
      const place = Math.floor((whole.length * (round + 0.5)) / 40);
      spoilt.writeUInt8(spoilt.readUInt8(place) ^ (1 << (round % 8)), place);
      await writeFile(table, spoilt);
      const opened = await outcome(openStore({ dataDir }));
      if (!(opened instanceof Error)) {
        for (let n = 0; n < 300; n += 7) {
          const fields: Fields | Error | undefined = await outcome(opened.get("note", id(n)));
          if (fields instanceof Error) {
            assert.ok(fields instanceof OnceKvError, `byte ${place}: ${fields.stack}`);
            found++;
          }
          // A damaged block may hide an entry; what is shown is right.
          else if (fields !== undefined) assert.deepEqual(fields, { n, text: `text of ${n}` }, `byte ${place}`);
        }
        await opened.close();
      } else {
        assert.ok(opened instanceof OnceKvError, `byte ${place}: ${opened.stack}`);
        found++;
      }
      // Each round begins with the same files.
      await writeFile(table, whole);
    }
    assert.ok(found > 0);
  });

  test("a write-ahead log that ends early opens, with everything before the cut and nothing torn", async () => {
    const folder = await temporaryFolder();
    const dataDir = join(folder, "data");
    const store = await openStore({ dataDir });
    const revisions: number[] = [];
    for (let n = 0; n < 40; n++) {
      const { revision } = await store.batch(
        ["left", "right"].map((side) => ({ op: "put" as const, shape: side, id: id(n), set: { n } })),
      );
      revisions.push(revision);
    }
    const copies = [1, 2, 7, 50, 100, 1000, 3000];
    for (const cut of copies) await cp(dataDir, join(folder, `cut-${cut}`), { recursive: true });
    await store.close();
    for (const cut of copies) {
      const left = join(folder, `cut-${cut}`);
      const log = (await filesOf(left, ".log")).at(-1) ?? assert.fail("there is a log");
      await truncate(log, (await stat(log)).size - cut);
      const opened = await openStore({ dataDir: left });
      const [lefts, rights] = [await opened.list("left", { limit: 1000 }), await opened.list("right", { limit: 1000 })];
      assert.deepEqual(
        lefts.documents.map(({ id, revision }) => [id, revision]),
        rights.documents.map(({ id, revision }) => [id, revision]),
      );
      assert.deepEqual(
        lefts.documents.map(({ revision }) => revision),
        revisions.slice(0, lefts.documents.length),
      );
      assert.ok(lefts.documents.length < 40 && lefts.documents.length >= (cut <= 100 ? 39 : 20), `${cut} bytes cut`);
      assert.equal(opened.revision, revisions[lefts.documents.length - 1] ?? 0);
      assert.deepEqual((await opened.verify()).problems, []);
      await opened.close();
    }
  });

  test("damage inside the write-ahead log, which LevelDB skips in silence, keeps the store shut", async () => {
    const folder = await temporaryFolder();
    const dataDir = join(folder, "data");
    const left = join(folder, "left");
    const clock = new ManualClock();
    const store = await openStore({ dataDir, clock });
    let last = 0;
    for (let n = 0; n < 300; n++) last = (await store.put({ shape: "note", id: id(n), set: { n } })).revision;
    await cp(dataDir, left, { recursive: true });
    await store.close();
    const log = (await filesOf(left, ".log")).at(-1) ?? assert.fail("there is a log");
    const handle = await open(log, "r+");
    const middle = Math.floor((await handle.stat()).size / 2);
    const byte = Buffer.alloc(1);
    await handle.read(byte, 0, 1, middle);
    await handle.write(Buffer.from([byte.readUInt8(0) ^ 4]), 0, 1, middle);
    await handle.close();

    const error = await rejection(openStore({ dataDir: left, clock }), "store_damaged");
    assert.ok(error.message.includes(left) && /acceptLoss|accept-loss/.test(error.message), error.message);
    await rejection(openStore({ dataDir: left, clock }), "store_damaged");
    assert.equal((await verifyFolder({ dataDir: left })).ok, false);

    const opened = await openStore({ dataDir: left, clock, acceptLoss: true });
    assert.ok(opened.revision >= last + 2 ** 24 || opened.revision >= Math.floor(clock.wallNow() / 1000) * 2 ** 21);
    assert.equal(opened.stats().oldest_revision, opened.revision, "history begins anew");
    const { documents } = await opened.list("note", { limit: 1000 });
    for (const document of documents) assert.deepEqual(document.fields, { n: Number(document.id.slice(1)) });
    const { revision } = await opened.put({ shape: "note", id: "after", set: {} });
    assert.ok(revision > last);
    assert.deepEqual((await opened.verify()).problems, []);
    await opened.close();
    const again = await openStore({ dataDir: left, clock });
    assert.deepEqual(await again.get("note", "after"), {});
    await again.close();
  });

  test("a gap in the newest stretch of the log keeps the store shut until the loss is accepted", async () => {
    const dataDir = await filledStore();
    await tamper(dataDir, async (level) => {
      await level.del(entryOf(await entriesOf(level, "l"), -3)[0]);
    });
    await rejection(openStore({ dataDir }), "store_damaged");
    const store = await openStore({ dataDir, acceptLoss: true });
    assert.deepEqual((await store.get("note", id(7)))?.["n"], 7);
    await store.close();
    await (await openStore({ dataDir })).close();
  });

  test("a store of a newer format is refused with both versions named, and not touched", async () => {
    const dataDir = await filledStore();
    const { Packr } = await import("msgpackr");
    const { crc32 } = await import("node:zlib");
    const key = Buffer.from("mformat");
    const packed = new Packr({ useRecords: false }).pack(999);
    const seal = Buffer.alloc(4);
    seal.writeUInt32BE(crc32(packed, crc32(key)));
    await tamper(dataDir, (level) => level.put(key, Buffer.concat([seal, packed])));
    for (let attempt = 0; attempt < 2; attempt++) {
      const error = await rejection(openStore({ dataDir, acceptLoss: true }), "store_format");
      assert.ok(error.message.includes("999") && error.message.includes(dataDir), error.message);
    }
  });

  test("a folder whose files are missing or replaced is an error of ours, never a fresh store over the old one", async () => {
    const folder = await temporaryFolder();
    const source = await filledStore();
    await tamper(source, async (level) => {
      await level.compactRange(Buffer.from([0]), Buffer.from([255]));
    });
    const spoil: [about: string, spoil: (dataDir: string) => Promise<void>][] = [
      ["CURRENT is empty", (dataDir) => writeFile(join(dataDir, "CURRENT"), "")],
      ["CURRENT names nothing", (dataDir) => writeFile(join(dataDir, "CURRENT"), "MANIFEST-999999\n")],
      [
        "the manifest is noise",
        async (dataDir) => {
          const name = (await readdir(dataDir)).find((file) => file.startsWith("MANIFEST")) ?? assert.fail();
          await writeFile(join(dataDir, name), Buffer.alloc(200, 0xa5));
        },
      ],
      [
        "a table is empty",
        async (dataDir) => {
          for (const table of await filesOf(dataDir, ".ldb")) await writeFile(table, "");
        },
      ],
    ];
    for (const [about, work] of spoil) {
      const dataDir = join(folder, about.replaceAll(" ", "-"));
      await cp(source, dataDir, { recursive: true });
      await work(dataDir);
      const opened = await outcome(openStore({ dataDir }));
      if (opened instanceof Error) {
        assert.ok(opened instanceof OnceKvError, `${about}: ${opened.stack}`);
        assert.ok(["store_damaged", "store_unwritable"].includes(opened.code), `${about}: ${opened.code}`);
        assert.ok(opened.message.includes(dataDir), opened.message);
        continue;
      }
      const read = await outcome(opened.get("note", id(7)));
      await opened.close();
      assert.ok(read instanceof OnceKvError, `${about}: it opened, and reading gave ${JSON.stringify(read)}`);
    }
  });
});
