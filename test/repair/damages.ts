import assert from "node:assert/strict";
import { readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SeededRandom } from "../crash/seeded-random.js";
import { entriesOf, entryOf, filesOf, tamper } from "../store/filled-folder.js";

/** Does one kind of damage to a closed folder. */
export type Damage = (dataDir: string, random: SeededRandom) => Promise<void>;

/** Damage that nothing tells of afterwards, as the page of guarantees says; a repair may then call all well. */
export const silentDamages: ReadonlySet<string> = new Set(["log-cut-at-its-end"]);

/**
 * Damage after which a report says that something is lost, and cannot name all of it: whole files are gone, or LevelDB has
 * passed over a part of its log, and nothing that is left tells what stood there. After every other kind each loss is named:
 * the document, the stretch in which it lay, or the revision of a commit that changed it.
 */
export const unnamedDamages: ReadonlySet<string> = new Set(["table-gone"]);

/** The kinds, each by its name. */
export const damages: { readonly [name: string]: Damage } = {
  "document-bits": async (dataDir, random) => {
    for (let n = 0; n < 8; n++) await flipEntry(dataDir, random, "d");
  },
  "document-gone": (dataDir, random) => removeLogged(dataDir, random),
  "log-entry-bit": (dataDir, random) => flipEntry(dataDir, random, "l"),
  "expiry-entry-bit": (dataDir, random) => flipEntry(dataDir, random, "x"),
  "write-id-bit": (dataDir, random) => flipEntry(dataDir, random, "w"),
  "fact-bit": (dataDir, random) => flipEntry(dataDir, random, "m"),
  "facts-gone": (dataDir) =>
    tamper(dataDir, async (level) => {
      for (const [key] of await entriesOf(level, "m")) await level.del(key);
    }),
  "table-bits": (dataDir, random) => flipFile(dataDir, random, ".ldb", 1 + random.below(4)),
  "table-cut": async (dataDir, random) => {
    const [table = assert.fail()] = await filesOf(dataDir, ".ldb");
    await truncate(table, random.below((await readFile(table)).length));
  },
  "table-gone": async (dataDir) => {
    const [table = assert.fail()] = await filesOf(dataDir, ".ldb");
    await rm(table);
  },
  "log-bits": (dataDir, random) => flipFile(dataDir, random, ".log", 1 + random.below(3)),
  "log-cut-at-its-end": async (dataDir, random) => {
    for (const log of await filesOf(dataDir, ".log")) {
      const { length } = await readFile(log);
      await truncate(log, Math.max(0, length - random.below(2000)));
    }
  },
  "current-gone": (dataDir) => rm(join(dataDir, "CURRENT")),
  "manifest-noise": async (dataDir) => {
    for (const name of await filesOf(dataDir, "")) {
      if (name.includes("MANIFEST")) await writeFile(name, Buffer.alloc(500, 0xa5));
    }
  },
  nothing: async () => {},
};

async function flipEntry(dataDir: string, random: SeededRandom, tag: string): Promise<void> {
  await tamper(dataDir, async (level) => {
    const entries = await entriesOf(level, tag);
    const [key, value] = entryOf(entries, random.below(entries.length));
    const place = random.below(value.length);
    value.writeUInt8(value.readUInt8(place) ^ (1 << random.below(8)), place);
    await level.put(key, value);
  });
}

/** A document that the log tells of; of one that nothing tells of nobody could say that it is gone. */
async function removeLogged(dataDir: string, random: SeededRandom): Promise<void> {
  await tamper(dataDir, async (level) => {
    const [, newest] = entryOf(await entriesOf(level, "l"), -1);
    const oldest = entryOf(await entriesOf(level, "l"), 0)[1].readDoubleBE(5);
    assert.ok(newest.readDoubleBE(21) > oldest);
    const logged = (await entriesOf(level, "d")).filter(([, value]) => value.readDoubleBE(5) > oldest);
    await level.del(entryOf(logged, random.below(logged.length))[0]);
  });
}

async function flipFile(dataDir: string, random: SeededRandom, end: string, flips: number): Promise<void> {
  const files = await filesOf(dataDir, end);
  const file = files[random.below(files.length)] ?? assert.fail(`there is no ${end}`);
  const bytes = await readFile(file);
  for (let flip = 0; flip < flips; flip++) {
    const place = random.below(bytes.length);
    bytes.writeUInt8(bytes.readUInt8(place) ^ (1 << random.below(8)), place);
  }
  await writeFile(file, bytes);
}
