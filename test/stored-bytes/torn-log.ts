import assert from "node:assert/strict";
import { cp, mkdtemp, open, readdir, rm, stat, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OnceKvError } from "../../src/base/errors.js";
import { type EmbeddedStore, openStore } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import type { SeededRandom } from "../crash/seeded-random.js";
import { copyOfAMoment } from "../store/copy-of-a-moment.js";
import { type Counts, count, type Tally } from "../torture/counts.js";
import type { Trial } from "../torture/trial.js";

const sides = ["left", "right"] as const;

/** Bytes of the newest log file after each batch, and the revision that it brought. */
interface Written {
  readonly revision: number;
  readonly end: number;
}

/**
 * Tears the end of LevelDB's newest log at places of its last records, as a power failure would: cut off, or followed by
 * zeros where the file had grown already. What was whole before the tear is there, the rest is not, and no batch is torn.
 */
export async function tearMany(random: SeededRandom, times: number): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), "oncekv-torn-"));
  try {
    const dataDir = join(folder, "data");
    const store = await openStore({ dataDir, clock: new ManualClock(), sweep: false });
    const log = await newestLog(dataDir);
    const written: Written[] = [];
    const batches = 20 + random.below(20);
    for (let n = 0; n < batches; n++) {
      const text = "x".repeat(random.below(10) === 0 ? 40_000 : random.below(300));
      const operations = sides.map((shape) => ({ op: "put" as const, shape, id: `${n}`, set: { n, text } }));
      const { revision } = await store.batch(operations, { write_id: `w${n}` });
      written.push({ revision, end: (await stat(join(dataDir, log))).size });
    }
    await copyOfAMoment(dataDir, join(folder, "left"));
    await store.close();
    const counts: Tally = {};
    for (let number = 0; number < times; number++) {
      const what = await tearOnce(join(folder, "left"), log, written, join(folder, "torn"), random);
      count(counts, what);
    }
    return counts;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function newestLog(dataDir: string): Promise<string> {
  const logs = (await readdir(dataDir)).filter((name) => name.endsWith(".log")).toSorted();
  return logs.at(-1) ?? assert.fail("there is a log");
}

async function tearOnce(
  left: string,
  log: string,
  written: readonly Written[],
  torn: string,
  random: SeededRandom,
): Promise<string> {
  await cp(left, torn, { recursive: true });
  try {
    const { size } = await stat(join(torn, log));
    // Among the last five records, or anywhere.
    const from = random.below(3) === 0 ? 0 : (written.at(-6)?.end ?? 0);
    const place = from + random.below(size - from);
    const zeros = random.below(3) === 0;
    await truncate(join(torn, log), place);
    if (zeros) await extend(join(torn, log), size);
    const about = `torn at ${place} of ${size}${zeros ? ", with zeros behind" : ""}`;
    const expected = written.filter(({ end }) => end <= place);
    let store: EmbeddedStore;
    try {
      store = await openStore({ dataDir: torn, clock: new ManualClock(), sweep: false });
    } catch (error) {
      // A record whose beginning is there and whose rest is zeros looks like a damaged one, which may be an acknowledged one.
      assert.ok(zeros && error instanceof OnceKvError && error.code === "store_damaged", `${about}: ${String(error)}`);
      return "refused for the zeros in a record";
    }
    try {
      for (const shape of sides) {
        const { documents } = await store.list(shape, { limit: 1000 });
        const found = documents.map(({ revision }) => revision).toSorted((one, other) => one - other);
        assert.deepEqual(
          found,
          expected.map(({ revision }) => revision),
          `${shape}, ${about}`,
        );
      }
      assert.equal(store.revision, expected.at(-1)?.revision ?? 0, about);
      assert.deepEqual((await store.verify()).problems, [], about);
    } finally {
      await store.close();
    }
    return zeros ? "torn with zeros behind" : "cut off";
  } finally {
    await rm(torn, { recursive: true });
  }
}

async function extend(file: string, size: number): Promise<void> {
  const handle = await open(file, "r+");
  await handle.truncate(size);
  await handle.close();
}

/** A piece of work for the long run. */
export const tornLogs: Trial = { name: "torn-logs", run: (random) => tearMany(random, 60) };
