import { ClassicLevel } from "classic-level";
import { Packr } from "msgpackr";
import { WrongResultError } from "../checks.js";
import { untilStill } from "../folder-state.js";
import { numberedFields } from "../numbered-documents.js";
import { withFolder } from "../opened-stores.js";
import type { BenchWorld } from "../world.js";
import { expiringId } from "./expire-events.js";

/** How many documents a step takes, as our sweeper's does. */
const documentsPerStep = 128;

/** Readers of a step, as our sweeper has them. */
const readers = 2;

/** Documents in one batch while they are loaded. */
const loadedAtOnce = 1000;

/** The level, as far as a bare sweep needs it. */
export type SweptLevel = Pick<ClassicLevel<Buffer, Buffer>, "getMany" | "batch">;

/**
 * The floor under a sweep: what it asks of the database, by the database alone. Documents that are known beforehand are
 * looked up, deleted in synced batches that also hold one log entry with their keys, and nothing is judged, indexed or
 * told. Nothing else is under way.
 *
 * @returns documents a second
 */
export function measureBareSweep(
  world: Pick<BenchWorld, "folder" | "signal" | "say">,
  plan: { readonly documents: number; readonly stillMs: number },
): Promise<number> {
  return withFolder(world.folder, async (dataDir) => {
    const level = new ClassicLevel<Buffer, Buffer>(dataDir, {
      keyEncoding: "buffer",
      valueEncoding: "buffer",
      writeBufferSize: 16 * 1024 * 1024,
    });
    await level.open();
    try {
      const keys = await load(level, plan.documents, world.signal);
      await untilStill(dataDir, { stillMs: plan.stillMs, signal: world.signal });
      world.say(`sweeping ${plan.documents} documents by LevelDB alone`);
      const begun = performance.now();
      await sweepBarely(level, keys, world.signal);
      const elapsedMs = performance.now() - begun;
      for await (const key of level.keys({ gte: documentKey(""), lt: logKey(0), limit: 1 })) {
        throw new WrongResultError(`${key.toString()} is still there after LevelDB alone has swept it`);
      }
      return (plan.documents / elapsedMs) * 1000;
    } finally {
      await level.close();
    }
  });
}

async function load(level: SweptLevel, documents: number, signal: AbortSignal): Promise<Buffer[]> {
  const packr = new Packr({ useRecords: false, variableMapSize: true });
  const keys: Buffer[] = [];
  while (keys.length < documents) {
    signal.throwIfAborted();
    const batch = level.batch();
    for (let count = 0; count < loadedAtOnce && keys.length < documents; count++) {
      const number = keys.length;
      const key = documentKey(expiringId(number));
      keys.push(key);
      batch.put(key, packr.pack(numberedFields(number)));
    }
    await batch.write();
  }
  return keys;
}

/** @throws WrongResultError when a document is not there */
export async function sweepBarely(level: SweptLevel, keys: readonly Buffer[], signal: AbortSignal): Promise<void> {
  let written: Promise<void> = Promise.resolve();
  for (let from = 0; from < keys.length; from += documentsPerStep) {
    signal.throwIfAborted();
    const step = keys.slice(from, from + documentsPerStep);
    const half = Math.ceil(step.length / readers);
    const found = await Promise.all([level.getMany(step.slice(0, half)), level.getMany(step.slice(half))]);
    if (found.flat().includes(undefined as never)) {
      throw new WrongResultError("a document is gone before LevelDB alone has swept it");
    }
    await written;
    const batch = level.batch();
    for (const key of step) batch.del(key);
    batch.put(logKey(from), Buffer.concat(step));
    const options: { readonly sync: boolean } = { sync: true };
    written = batch.write(options);
  }
  await written;
}

function documentKey(id: string): Buffer {
  return Buffer.from(`document expiring ${id}`);
}

/** Behind all documents. */
function logKey(position: number): Buffer {
  return Buffer.from(`log ${String(position).padStart(12, "0")}`);
}
