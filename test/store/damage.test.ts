import assert from "node:assert/strict";
import { cp, open, readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { Packr } from "msgpackr";
import { describe, test } from "vitest";
import { OnceKvError } from "../../src/base/errors.js";
import type { Fields } from "../../src/documents/contract.js";
import { openStore, verifyFolder } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { copyOfAMoment } from "./copy-of-a-moment.js";
import { entriesOf, entryOf, filesOf, fillFolder, id, tamper } from "./filled-folder.js";
import { rejection } from "./rejection.js";
import { temporaryFolder } from "./temporary-folder.js";

const filledStore = fillFolder();

/** What a promise gives, or the error that it rejects with. */
async function outcome<T>(promise: Promise<T>): Promise<T | Error> {
  try {
    return await promise;
  } catch (error) {
    assert.ok(error instanceof Error);
    return error;
  }
}

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
        // LevelDB may have met the damage in the background, and then takes no more writes: close says so.
        const closed = await outcome(opened.close());
        assert.ok(closed === undefined || closed instanceof OnceKvError, `byte ${place}: ${String(closed)}`);
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
    for (const cut of copies) await copyOfAMoment(dataDir, join(folder, `cut-${cut}`));
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
    await copyOfAMoment(dataDir, left);
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

  test("a watcher that catches up over a gap in the log, far behind its end, is told so and not led past it", async () => {
    const dataDir = await filledStore();
    await tamper(dataDir, async (level) => {
      await level.del(entryOf(await entriesOf(level, "l"), 100)[0]);
    });
    const store = await openStore({ dataDir });
    const revisions: number[] = [];
    const watching = (async () => {
      for await (const { revision } of store.watch({ since: 0 })) revisions.push(revision);
    })();
    const error = await rejection(watching, "store_damaged");
    assert.match(error.message, /gap between revisions 100 and 102/);
    assert.deepEqual(
      revisions,
      revisions.map((_, place) => place + 1),
    );
    await store.close();
  });

  test("a store of a newer format is refused with both versions named, and not touched", async () => {
    const dataDir = await filledStore();
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
