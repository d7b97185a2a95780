import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SeededRandom } from "../crash/seeded-random.js";
import { type Counts, count, type Tally } from "../torture/counts.js";
import type { Trial } from "../torture/trial.js";
import { type Damage, damage } from "./damage.js";
import { type Filled, type FilledStore, fillStore } from "./filled-store.js";
import { ReaderProcess } from "./reader-process.js";
import type { Reading } from "./reading.js";

/** Damages copies of a filled store at random, and judges what reading everything gives. */
export async function damageMany(random: SeededRandom, times: number): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), "oncekv-bytes-"));
  const counts: Tally = {};
  try {
    const filled = await fillStore(folder, random);
    const documentsFile = join(folder, "documents.json");
    await writeFile(documentsFile, JSON.stringify(filled.documents));
    const reader = new ReaderProcess(documentsFile);
    try {
      for (let number = 0; number < times; number++) {
        const what = await damageOnce(filled, join(folder, "copy"), reader, random);
        count(counts, what);
      }
    } finally {
      await reader.close();
    }
    return counts;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function damageOnce(
  filled: FilledStore,
  copy: string,
  reader: ReaderProcess,
  random: SeededRandom,
): Promise<string> {
  await cp(filled.dataDir, copy, { recursive: true });
  try {
    const done = await damage(copy, random);
    return judge(done, await reader.read(copy), filled.documents, copy);
  } finally {
    await rm(copy, { recursive: true });
  }
}

/** What a damage has come to. Throws when a promise was broken. */
export function judge(
  { file, what }: Damage,
  reading: Reading | string,
  documents: readonly Filled[],
  dataDir: string,
): string {
  const about = `${file}, ${what}`;
  if (typeof reading === "string") {
    // LevelDB checks what it compacts with assertions of its own, which end the process where a table's keys are out of order.
    assert.ok(file.endsWith(".ldb") && /SIGABRT.*leveldb/s.test(reading), `${about}: ${reading}`);
    return "ended by an assertion of LevelDB";
  }
  assert.deepEqual(reading.foreign, [], `${about}: errors that are not ours`);
  assert.deepEqual(reading.wrong, [], `${about}: wrong values`);
  if (reading.refused !== undefined) {
    const { code, message } = reading.refused;
    assert.match(code, /^store_(damaged|format|unwritable)$/, `${about}: ${code}, ${message}`);
    assert.ok(
      code === "store_format" || message.includes(dataDir) || /checksum|log/.test(message),
      `${about}: ${message}`,
    );
    return `refused as ${code}`;
  }
  if (reading.missing.length === 0) return reading.errors > 0 ? "read with errors that say so" : "harmless";
  if (reading.isFound) return "missing, and found by reading or by verify";
  // The end of LevelDB's log that is cut off looks as a crash leaves it: a moment of the past, with nothing torn.
  const isPast = documents.every(({ id, revision }) => revision > reading.revision === reading.missing.includes(id));
  if (file.endsWith(".log") && isPast) return "the log ends early, at a moment of the past";
  // classic-level does not verify the checksums of LevelDB's tables: a key that changed is not found where it belongs.
  if (file.endsWith(".ldb") && /flipped|zeroed/.test(what) && reading.isFoundInFolder === true) {
    return "hidden by changed bytes in a table, and found by verify of the folder";
  }
  assert.fail(`${about}: documents are missing, and nothing says so: ${reading.missing.join(", ")}`);
}

/** A piece of work for the long run. */
export const storedBytes: Trial = { name: "stored-bytes", run: (random) => damageMany(random, 150) };
