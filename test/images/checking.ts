import assert from "node:assert/strict";
import { OnceKvError } from "../../src/base/errors.js";
import type { ManualClock } from "../../src/base/manual-clock.js";
import type { Commit } from "../../src/documents/contract.js";
import type { EmbeddedStore } from "../../src/level/index.js";
import { numberOfKey } from "../../src/level/keys.js";
import type { SeededRandom } from "../crash/seeded-random.js";
import type { ModelChange } from "../store/model.js";
import type { Counts } from "../torture/counts.js";
import { CrashDisk } from "./crash-disk.js";
import { answerOf, type Played, storeOptions } from "./playing.js";
import { type Script, shape, ttlMsMax } from "./script.js";

/** What a machine comes back with, and what it must show. */
export interface Image {
  readonly content: ReadonlyMap<string, Buffer>;
  /** Everything up to this revision must be there. */
  readonly least: number;
  /** Whether batches may be missing in the middle, so that a refusal to open is right, too. */
  readonly mayBeTorn: boolean;
}

/** The counter jumps at least this far when a part of the past may be lost. */
const stride = 2 ** 24;

/** Opens a store over an image and compares everything that it shows with the model. Counts what was looked at. */
export async function checkImage(
  script: Script,
  played: Played,
  image: Image,
  durability: "durable" | "buffered",
  clock: ManualClock,
  random: SeededRandom,
): Promise<Counts> {
  const newest = newestLogged(image.content);
  let disk = new CrashDisk({ content: image.content });
  let store: EmbeddedStore;
  try {
    store = await disk.start(storeOptions(clock, durability));
  } catch (error) {
    if (!(error instanceof OnceKvError && error.code === "store_damaged" && image.mayBeTorn)) throw error;
    await checkAccepted(script, image, durability, clock);
    return { "images refused as damaged": 1 };
  }
  const jumped = store.revision > stride;
  const reached = jumped ? newest : store.revision;
  assert.ok(reached >= image.least, `revision ${reached} was reached; ${image.least} was promised`);
  if (durability === "durable") assert.ok(!jumped, "a durable store goes on where it was");
  if (jumped) assert.ok(store.revision >= Math.max(reached, played.revision) + stride);

  await checkDocuments(script, store, reached);
  assert.deepEqual((await store.verify()).problems, []);
  const watched = await checkWatch(script, store, reached, jumped, random);
  const repeated = await checkWriteIds(store, played, reached, durability);
  const { revision } = await store.put({ shape, id: "new", set: {}, return: "document" });
  assert.ok(revision > Math.max(reached, jumped ? played.revision : 0), `a new revision is ${revision}`);

  // The index is complete: what it leads the sweeper to is everything that has a deadline.
  clock.advance(ttlMsMax + 200);
  await store.sweep();
  assert.deepEqual((await store.verify()).problems, []);
  const left = (await store.list(shape, { limit: 1000 })).documents.length;
  const stored = await disk.keys({ gte: Buffer.from("d"), lt: Buffer.from("e") }).all();
  assert.equal(stored.length, left, "documents that have expired, and that no entry of the index leads to");
  await store.close();
  // And what the reopened store has written can be read after one more clean end.
  disk = new CrashDisk({ content: disk.image(() => true) });
  const again = await disk.start(storeOptions(clock, durability));
  assert.ok(again.revision >= revision);
  assert.equal((await again.list(shape, { limit: 1000 })).documents.length, left);
  await again.close();
  return { "images opened": 1, "revisions watched from": watched, "write ids repeated": repeated };
}

/** The newest revision in a log, without any of the product's judgement. */
function newestLogged(content: ReadonlyMap<string, Buffer>): number {
  const revisions = [...content.keys()].filter((key) => key.startsWith("l")).map((key) => Buffer.from(key, "latin1"));
  return Math.max(0, ...revisions.map(numberOfKey));
}

/** The highest revision that batches brought to a log. */
export function newestWritten(disk: CrashDisk, end: number): number {
  const keys = disk.journal
    .slice(0, end)
    .flatMap(({ operations }) => operations.map(({ type, key }) => ({ type, key })));
  const logged = keys.filter(({ type, key }) => type === "put" && key.toString("latin1", 0, 1) === "l");
  return Math.max(0, ...logged.map(({ key }) => numberOfKey(key)));
}

async function checkDocuments(script: Script, store: EmbeddedStore, reached: number): Promise<void> {
  const state = script.states.get(reached) ?? assert.fail(`revision ${reached} never was`);
  const now = store.now();
  // Before the first commit nobody knows of a time.
  if (reached > 0) assert.ok(now >= (script.times.get(reached) ?? 0), "the store's now runs backward");
  const expected = [...state].filter(([, { deadline }]) => deadline === 0 || deadline > now);
  const { documents } = await store.list(shape, { limit: 1000 });
  const shown = documents.map(({ id, fields, revision, created_revision, expires_at }) => {
    return [id, { fields, revision, createdRevision: created_revision, deadline: expires_at }];
  });
  const right = expected.map(([id, document]) => {
    return [id, { ...document, deadline: document.deadline === 0 ? null : new Date(document.deadline).toISOString() }];
  });
  assert.deepEqual(new Map(shown as [string, unknown][]), new Map(right as [string, unknown][]));
  for (const [id, { fields }] of expected) assert.deepEqual(await store.get(shape, id), fields);
}

/** From any revision that history reaches back to, the rest of it comes without a gap; before it, watchers are told so. */
async function checkWatch(
  script: Script,
  store: EmbeddedStore,
  reached: number,
  jumped: boolean,
  random: SeededRandom,
): Promise<number> {
  const { oldest_revision: floor } = store.stats();
  if (floor > 0) {
    const earlier = random.below(jumped ? reached + 1 : floor);
    await assert.rejects(Promise.resolve(store.watch({ since: earlier }).next()), { code: "revision_compacted" });
  }
  if (jumped) {
    assert.equal(floor, store.revision, "history ends at a jump");
    return 0;
  }
  const starts = new Set([
    floor,
    reached - 1,
    ...Array.from({ length: 4 }, () => floor + random.below(reached - floor + 1)),
  ]);
  let count = 0;
  for (const since of starts) {
    if (since < floor || since >= reached) continue;
    const commits: Commit[] = [];
    for await (const commit of store.watch({ since })) {
      commits.push(commit);
      if (commit.revision >= reached) break;
    }
    const told = commits.flatMap(({ revision, changes }) =>
      changes.map(({ type, id, document }) => ({ revision, type, id, fields: document?.fields ?? null })),
    );
    const expected = script.model.history.filter(({ revision }) => revision > since && revision <= reached);
    assert.deepEqual(inOrder(told), inOrder(expected), `watching from ${since}`);
    count += 1;
  }
  return count;
}

/** The changes of one commit may come in any order here; the commits may not. */
function inOrder(changes: readonly ModelChange[]): ModelChange[] {
  const named = ({ type, id }: ModelChange): string => `${id} ${type}`;
  return changes.toSorted((one, other) => one.revision - other.revision || named(one).localeCompare(named(other)));
}

/** A write that is sent again gets its first answer if it is there, and is never applied twice. */
async function checkWriteIds(
  store: EmbeddedStore,
  played: Played,
  reached: number,
  durability: "durable" | "buffered",
): Promise<number> {
  let repeated = 0;
  for (const { call, answer } of played.remembered) {
    const { expected, at } = call;
    if (!expected.ok || answer.kind !== "done" || store.now() - at >= 600_000) continue;
    // What the power took, and what changed nothing and so has no place among the revisions, may be judged anew.
    if (durability === "buffered" && (answer.revision > reached || !expected.changed)) continue;
    const about = `${call.writeId} at revision ${answer.revision}`;
    assert.deepEqual(await answerOf(store, call), { ...answer, replayed: true }, about);
    repeated += 1;
  }
  for (const call of played.doubtful) {
    const { expected, at } = call;
    if (!expected.ok || !expected.changed || store.now() - at >= 600_000 || expected.revision > reached) continue;
    const answer = await answerOf(store, call);
    assert.ok(answer.kind === "done" && answer.replayed && answer.revision === expected.revision, call.writeId);
    repeated += 1;
  }
  return repeated;
}

/** A store that was told to go on with what is left shows only what once was, and is whole. */
async function checkAccepted(
  script: Script,
  image: Image,
  durability: "durable" | "buffered",
  clock: ManualClock,
): Promise<void> {
  const disk = new CrashDisk({ content: image.content });
  const store = await disk.start({ ...storeOptions(clock, durability), acceptLoss: true });
  assert.ok(store.revision >= stride + image.least);
  for (const document of (await store.list(shape, { limit: 1000 })).documents) {
    const was = script.states.get(document.revision)?.get(document.id);
    assert.deepEqual(document.fields, was?.fields, `${document.id} at revision ${document.revision}`);
  }
  await store.put({ shape, id: "new", set: {} });
  await store.close();
}
