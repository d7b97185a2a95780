import { OnceKvError } from "../../../src/base/errors.js";
import type { Document, Fields } from "../../../src/documents/contract.js";
import { type Body, type BodyStore, encode, keepBody, loadBody } from "./body.js";
import { type CheckpointPlace, idOf, prefixOf } from "./place.js";
import type { PendingWrite, Serializer } from "./types.js";

/*
 * What the tasks of a step have written before the step is done. All writes of one task are one document, so that they are
 * there together or not at all: a task with any writes counts as done and is not run again.
 */

/** Channels of the framework's own, whose newest write counts; they stand under negative indexes, beside the task's own. */
const specialIndexes: ReadonlyMap<string, number> = new Map([
  ["__error__", -1],
  ["__scheduled__", -2],
  ["__interrupt__", -3],
  ["__resume__", -4],
]);

/** UTF-16 units of values that may stand in the document of a task, together. */
const inlineUnitsMax = 96 * 1024;

/** One write, as it is kept. */
interface KeptWrite extends Fields {
  channel: string;
  task_path: string;
  body: Body;
}

/** The writes of a task under their indexes. */
type KeptWrites = { [index: string]: KeptWrite };

/**
 * Adds writes of a task. The first write of an index counts, so that doing it again changes nothing; of the framework's own
 * channels the last one.
 *
 * @throws TooLargeError when they cannot be in one document; nothing is written then
 */
export async function keepWrites(
  bodies: BodyStore,
  serde: Serializer,
  place: CheckpointPlace,
  task: { readonly id: string; readonly path: string; readonly ttl: number | null },
  writes: readonly (readonly [string, unknown])[],
): Promise<void> {
  const { store, shape } = bodies;
  let inlineUnits = inlineUnitsMax;
  const given = new Map<number, KeptWrite>();
  for (const [position, [channel, value]] of writes.entries()) {
    const encoded = await encode(value, serde);
    const body = await keepBody(bodies, place, encoded, inlineUnits);
    inlineUnits -= body.text?.length ?? 0;
    given.set(specialIndexes.get(channel) ?? position, { channel, task_path: task.path, body });
  }
  const id = idOf("writes", place, task.id);
  for (;;) {
    const found = await store.getDocument(shape, id);
    const merged = merge(found?.fields, given);
    if (merged === undefined) return;
    const if_match = found === undefined ? { exists: false } : { revision: found.revision };
    try {
      await store.put({ shape, id, set: { task_id: task.id, writes: merged }, ttl: task.ttl, if_match });
      return;
    } catch (error) {
      // Somebody has written meanwhile: what counts is decided anew.
      if (!(error instanceof OnceKvError) || error.code !== "precondition_failed") throw error;
    }
  }
}

/** All writes for a checkpoint, in the order in which a step applies them. undefined: a part of a value is not there */
export async function loadWrites(
  bodies: BodyStore,
  serde: Serializer,
  place: CheckpointPlace,
): Promise<PendingWrite[] | undefined> {
  const { store, shape } = bodies;
  const kept: { readonly path: string; readonly taskId: string; readonly index: number; readonly write: KeptWrite }[] =
    [];
  const { threadId, namespace, checkpointId } = place;
  for await (const { fields } of store.scan(shape, { prefix: prefixOf("writes", threadId, namespace, checkpointId) })) {
    const taskId = String(fields["task_id"]);
    for (const [index, write] of Object.entries(writesOf(fields))) {
      kept.push({ path: write.task_path, taskId, index: Number(index), write });
    }
  }
  kept.sort((a, b) => byCodePoints(a.path, b.path) || byCodePoints(a.taskId, b.taskId) || a.index - b.index);
  const writes: PendingWrite[] = [];
  for (const { taskId, write } of kept) {
    const loaded = await loadBody(bodies, place, write.body, serde);
    if (loaded === undefined) return undefined;
    writes.push([taskId, write.channel, loaded.value]);
  }
  return writes;
}

/** undefined: nothing changes */
function merge(found: Document["fields"] | undefined, given: ReadonlyMap<number, KeptWrite>): KeptWrites | undefined {
  const merged: KeptWrites = found === undefined ? {} : { ...writesOf(found) };
  let changed = false;
  for (const [index, write] of given) {
    if (index >= 0 && merged[index] !== undefined) continue;
    merged[index] = write;
    changed = true;
  }
  return changed ? merged : undefined;
}

function writesOf(fields: Fields): KeptWrites {
  return fields["writes"] as KeptWrites;
}

/** The order of the texts' code points, which is not that of their UTF-16 units. */
function byCodePoints(a: string, b: string): number {
  if (a === b) return 0;
  const [left, right] = [[...a], [...b]];
  for (const [index, character] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (character !== other) return (character.codePointAt(0) ?? 0) - (other.codePointAt(0) ?? 0);
  }
  return -1;
}
