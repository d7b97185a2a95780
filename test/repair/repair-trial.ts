import assert from "node:assert/strict";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OnceKvError } from "../../src/base/errors.js";
import type { Document } from "../../src/documents/contract.js";
import { openStore, type RepairReport, repairFolder, verifyFolder } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import type { SeededRandom } from "../crash/seeded-random.js";
import { type Counts, count, type Tally } from "../torture/counts.js";
import type { Trial } from "../torture/trial.js";
import { damages, silentDamages, unnamedDamages } from "./damages.js";
import { type KnownHistory, makeHistory, timeless } from "./known-history.js";
import { isNamedAsLost } from "./named-losses.js";

/** Makes a folder, damages copies of it in every way, repairs each, and compares with what was ever true. */
export const repairTrial: Trial = {
  name: "repair",
  run: (random) => tryRepairs(random, repairFolder),
};

/** The same with another repair, to show that a bad one is found. */
export async function tryRepairs(
  random: SeededRandom,
  repair: typeof repairFolder,
  names: readonly string[] = Object.keys(damages),
): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), "oncekv-repair-"));
  const counts: Tally = { repairs: 0, lossless: 0, documents: 0, named_as_lost: 0, refused: 0 };
  try {
    const history = await makeHistory(join(folder, "data"), random);
    for (const name of names) {
      const dataDir = join(folder, name);
      const into = join(folder, `${name}-repaired`);
      await cp(history.dataDir, dataDir, { recursive: true });
      await (damages[name] ?? assert.fail(name))(dataDir, random);
      const about = `damage ${name}, seed ${random.seed}`;
      const before = await contentsOf(dataDir);
      const clock = new ManualClock();
      const report = await repair({ dataDir, into, clock }).catch((error: unknown) => {
        assert.ok(error instanceof OnceKvError && error.code !== "internal", `${about}: ${String(error)}`);
        return undefined;
      });
      assert.deepEqual(await contentsOf(dataDir), before, `${about}: the damaged folder was changed`);
      count(counts, "repairs");
      if (report === undefined) {
        assert.ok(!["nothing", "document-bits"].includes(name), about);
        count(counts, "refused");
        continue;
      }
      const given = await contentOfStore(into, clock);
      count(counts, "documents", given.size);
      count(counts, "named_as_lost", report.lost_count);
      if (report.ok) count(counts, "lossless");
      assert.ok(report.base_revision > history.revision, about);
      assert.equal(given.size, report.documents, about);
      compare(about, history, report, given, name);
      if (name === "nothing") assert.deepEqual([report.ok, report.problems], [true, []], about);
      assert.deepEqual(await readdir(folder).then((names) => names.filter((one) => one.endsWith(".working"))), []);
      await rm(dataDir, { recursive: true });
      await rm(into, { recursive: true });
    }
    return counts;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Everything given was once true, and whatever is not as it last was is covered by something that the report says. */
function compare(
  about: string,
  history: KnownHistory,
  report: RepairReport,
  given: ReadonlyMap<string, Document>,
  damage: string,
): void {
  const problems: string[] = [];
  for (const [name, document] of given) {
    const states = history.states.get(name);
    const state = states?.find(({ revision }) => revision === document.revision);
    if (state?.document === null || state === undefined) problems.push(`${name} was never at ${document.revision}`);
    else assert.deepEqual(timeless(document), timeless(state.document), `${about}: ${name}`);
  }
  for (const [name, states] of history.states) {
    const last = states.at(-1) ?? assert.fail();
    const isAsLast = (given.get(name)?.revision ?? null) === (last.document?.revision ?? null);
    if (isAsLast || isNamedAsLost(report, name, last.revision)) continue;
    const isSaid = !report.ok && report.problems.length > 0;
    if (silentDamages.has(damage) || (unnamedDamages.has(damage) && isSaid)) continue;
    problems.push(`${name} is not as it last was, and ${isSaid ? "nothing names it" : "nothing says so"}`);
  }
  assert.deepEqual(problems, [], `${about}: ${JSON.stringify(report, null, 1)}`);
}

async function contentOfStore(dataDir: string, clock: ManualClock): Promise<Map<string, Document>> {
  assert.deepEqual((await verifyFolder({ dataDir })).problems, []);
  const store = await openStore({ dataDir, clock, sweep: false });
  const documents = new Map<string, Document>();
  for (const shape of ["lease", "note"]) {
    for await (const document of store.scan(shape)) documents.set(`${shape}/${document.id}`, document);
  }
  await store.close();
  return documents;
}

async function contentsOf(folder: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const name of (await readdir(folder)).toSorted()) {
    files.set(name, (await readFile(join(folder, name))).toString("base64"));
  }
  return files;
}
