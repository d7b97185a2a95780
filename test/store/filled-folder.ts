import assert from "node:assert/strict";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { afterAll, beforeAll } from "vitest";
import { openStore } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { temporaryFolder } from "./temporary-folder.js";

/** A database without our code around it. */
export type RawLevel = ClassicLevel<Buffer, Buffer>;

/** Works on the entries of a closed store, as no program of ours would. */
export async function tamper(dataDir: string, work: (level: RawLevel) => Promise<void>): Promise<void> {
  const level: RawLevel = new ClassicLevel(dataDir, { keyEncoding: "buffer", valueEncoding: "buffer" });
  await level.open();
  await work(level);
  await level.close();
}

/** The entries whose keys begin with a letter: d documents, l the log, x the expiry index, w write ids, m facts. */
export async function entriesOf(level: RawLevel, tag: string): Promise<[key: Buffer, value: Buffer][]> {
  const [gte, lt] = [Buffer.from(tag), Buffer.from([tag.charCodeAt(0) + 1])];
  return await level.iterator({ gte, lt }).all();
}

/** One of them; negative places count from the end. */
export function entryOf(entries: readonly [key: Buffer, value: Buffer][], place: number): [key: Buffer, value: Buffer] {
  return entries.at(place) ?? assert.fail("there is no such entry");
}

/** The files of a folder whose names end so, in order. */
export async function filesOf(dataDir: string, end: string): Promise<string[]> {
  const names = (await readdir(dataDir)).filter((name) => name.endsWith(end)).toSorted();
  return names.map((name) => join(dataDir, name));
}

/** The id of the nth document of a filled folder; its fields are `{ n, text: "text of <n>" }`. */
export function id(n: number): string {
  return `d${`${n}`.padStart(4, "0")}`;
}

/**
 * Has a closed store with 300 documents of the shape `note` made before the tests of a file, a fifth of them with a
 * deadline, each written with a write id. Gives the function that makes a copy for the running test.
 */
export function fillFolder(): () => Promise<string> {
  let filled: string;

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

  return async () => {
    const dataDir = join(await temporaryFolder(), "data");
    await cp(filled, dataDir, { recursive: true });
    return dataDir;
  };
}
