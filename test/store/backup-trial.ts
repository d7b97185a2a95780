import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OnceKvError } from "../../src/base/errors.js";
import type { Commit, Document } from "../../src/documents/contract.js";
import { type EmbeddedStore, openStore, restore } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import type { SeededRandom } from "../crash/seeded-random.js";
import type { Counts } from "../torture/counts.js";
import type { Trial } from "../torture/trial.js";

const shapes = ["lease", "note"];
const callers = 24;

/**
 * Writes, patches, deletes and lets expire from many callers while a backup is taken, restores it, and compares it with
 * what a watcher saw up to the backup's revision: document by document, with revisions, times and deadlines.
 */
export const backupTrial: Trial = {
  name: "backup under load",
  run: (random) => tryBackup(random, (store, file) => store.backup(file).then(({ revision }) => revision)),
};

/** The same with another way to make the file, to show that a wrong one is found. */
export async function tryBackup(
  random: SeededRandom,
  takeBackup: (store: EmbeddedStore, file: string) => Promise<number>,
): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), "oncekv-backup-"));
  const about = `seed ${random.seed}`;
  const counts = { writes: 0, during_backup: 0, documents: 0, with_deadline: 0, expired: 0 };
  const clock = new ManualClock();
  const store = await openStore({ dataDir: join(folder, "data"), clock });
  try {
    const watching = new AbortController();
    const seen: Commit[] = [];
    const watcher = (async () => {
      for await (const commit of store.watch({ since: 0, signal: watching.signal })) {
        if (commit.changes.length > 0) seen.push(commit);
      }
    })().catch((error: unknown) => {
      if (!watching.signal.aborted) throw error;
    });
    let isWriting = true;
    const write = async (caller: number): Promise<void> => {
      for (let step = 0; isWriting; step++) {
        const shape = shapes[random.below(2)] ?? "note";
        const id = `d${random.below(400)}`;
        const kind = random.below(10);
        const fields = { caller, step, text: "x".repeat(random.below(2000)) };
        // Long ones have an index entry of their own, short ones share theirs.
        const ttl = [null, 0.5, 20, 7200][random.below(4)] ?? null;
        if (kind < 6) await store.put({ shape, id, set: fields, ttl });
        else if (kind < 8) await store.patch({ shape, id, merge: fields }).catch(unlessMissing);
        else await store.delete({ shape, id });
        counts.writes += 1;
        if (step % 4 === 0) clock.advance(random.below(40));
      }
    };
    const writers = Array.from({ length: callers }, (_, caller) => write(caller));
    const failed = Promise.all(writers);
    while (counts.writes < 1500) await Promise.race([failed, turn()]);
    const before = counts.writes;
    const file = join(folder, "backup");
    const revision = await takeBackup(store, file);
    counts.during_backup = counts.writes - before;
    isWriting = false;
    await failed;
    // Expiries may come after the last write; what the watcher has seen up to the backup's revision is what counts.
    while ((seen.at(-1)?.revision ?? 0) < revision) await Promise.race([watcher, turn()]);
    watching.abort();
    await watcher;

    const dataDir = join(folder, "restored");
    const restored = await restore({ file, dataDir, clock });
    assert.equal(restored.revision, revision, about);
    const takenAt = Date.parse(restored.taken_at);
    const expected = stateAt(seen, revision, takenAt);
    const again = await openStore({ dataDir, clock: new ManualClock(takenAt), sweep: false });
    try {
      const found = new Map<string, object>();
      for (const shape of shapes) {
        for await (const document of again.scan(shape)) found.set(`${shape}/${document.id}`, timeless(document));
      }
      assert.deepEqual([...found.keys()].sort(), [...expected.keys()].sort(), about);
      for (const [name, document] of expected)
        assert.deepEqual(found.get(name), timeless(document), `${about}: ${name}`);
      assert.deepEqual((await again.verify()).problems, [], about);
      counts.documents = found.size;
      counts.with_deadline = [...expected.values()].filter(({ expires_at }) => expires_at !== null).length;
      counts.expired = seen.filter(({ changes }) => changes.some(({ type }) => type === "expire")).length;
      await watchOn(again, restored.base_revision, about);
    } finally {
      await again.close();
    }
    return counts;
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A patch of what is not there is refused, and that is right. */
function unlessMissing(error: unknown): void {
  if (!(error instanceof OnceKvError) || error.code !== "not_found") throw error;
}

/** What the commits up to a revision leave, without what had expired by then. */
function stateAt(commits: readonly Commit[], revision: number, now: number): Map<string, Document> {
  const state = new Map<string, Document>();
  for (const commit of commits) {
    if (commit.revision > revision) break;
    for (const { shape, id, document } of commit.changes) {
      if (document === null) state.delete(`${shape}/${id}`);
      else state.set(`${shape}/${id}`, document);
    }
  }
  for (const [name, { expires_at }] of state) {
    if (expires_at !== null && Date.parse(expires_at) <= now) state.delete(name);
  }
  return state;
}

/** A list's revision in the restored store is a place to watch from, and what is written comes. */
async function watchOn(store: EmbeddedStore, base: number, about: string): Promise<void> {
  const { revision } = await store.list("note");
  assert.equal(revision, base, about);
  const watching = store.watch({ since: revision })[Symbol.asyncIterator]();
  const written = await store.put({ shape: "note", id: "after", set: { restored: true } });
  assert.ok(written.revision > base, about);
  for (;;) {
    const { value } = (await watching.next()) as IteratorResult<Commit, undefined>;
    if (value?.changes.length === 0) continue;
    assert.deepEqual([value?.revision, value?.changes[0]?.id], [written.revision, "after"], about);
    break;
  }
  await watching.return?.();
}

function timeless({ as_of: _, ...document }: Document): object {
  return document;
}
