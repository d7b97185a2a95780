import { MemoryLevel } from "memory-level";
import { InvalidRequestError } from "../base/errors.js";
import type { AnyShapes } from "../documents/contract.js";
import { EmbeddedStore } from "./embedded-store.js";
import { describeKey } from "./key-names.js";
import type { Level } from "./level.js";
import { fromLevel } from "./level-errors.js";
import { droppedAtOpen, openFolder, resolveFolder } from "./open-folder.js";
import { noteDamage } from "./recover.js";
import type { MemoryStoreOptions } from "./store-options.js";
import { type DamagedBlock, damagedBlocks, tableFiles } from "./table-file.js";
import { problemsShown, type VerifyReport, verify } from "./verify.js";

export interface StoreOptions extends MemoryStoreOptions {
  /** The folder; it is created when it does not exist. One process has it open at a time. */
  readonly dataDir: string;
  /**
   * `"durable"` (the default): a write resolves when it is on disk. `"buffered"`: when the operating system has it, which
   * survives the end of the process, not a loss of power.
   */
  readonly durability?: "durable" | "buffered";
  /** true: open although acknowledged writes are known to be lost. Revisions jump ahead and history is dropped. */
  readonly acceptLoss?: boolean;
}

/**
 * Opens a store in a folder. Rejects with `store_locked` when another process has it open, `store_unwritable` when the
 * folder cannot be used, `store_format` when its data is not ours or newer, `store_damaged` when acknowledged writes are
 * missing.
 */
export async function openStore<Shapes = AnyShapes>(options: StoreOptions): Promise<EmbeddedStore<Shapes>> {
  const { durability = "durable", acceptLoss = false } = options;
  if (durability !== "durable" && durability !== "buffered") {
    throw new InvalidRequestError("durability", 'must be "durable" or "buffered"');
  }
  const folder = resolveFolder(options.dataDir);
  const level = await openFolder(folder, { create: true });
  try {
    const dropped = await droppedAtOpen(folder);
    return await EmbeddedStore.start<Shapes>(level, { ...options, where: folder, durability, acceptLoss, dropped });
  } catch (error) {
    await level.close();
    throw fromLevel(error, `the database in ${folder}`);
  }
}

/** Opens a store in memory: the same code over another engine, for tests and for what need not outlive the process. */
export async function openMemoryStore<Shapes = AnyShapes>(
  options: MemoryStoreOptions = {},
): Promise<EmbeddedStore<Shapes>> {
  const level: Level = new MemoryLevel<Buffer, Buffer>({
    keyEncoding: "buffer",
    valueEncoding: "buffer",
    storeEncoding: "buffer",
  });
  await level.open();
  return EmbeddedStore.start<Shapes>(level, {
    ...options,
    where: "the memory store",
    durability: "durable",
    acceptLoss: false,
    dropped: undefined,
  });
}

/** Checks a folder that no process has open, also one that `openStore` refuses. Changes no document. */
export async function verifyFolder(options: {
  readonly dataDir: string;
  readonly onProgress?: (entries: number) => void;
}): Promise<VerifyReport> {
  const folder = resolveFolder(options.dataDir);
  // Before anything is opened, which would begin to write new tables. Where there is no folder, opening it will say so.
  const suspects = await damagedBlocks(folder).catch(() => []);
  const level = await openFolder(folder, { create: false });
  try {
    // Opening removes tables that an interrupted compaction has left behind.
    const live = new Set(await tableFiles(folder));
    const blocks = suspects.filter(({ file }) => live.has(file)).map(describeBlock);
    // LevelDB has just repaired itself, and says so once: the next open must still know.
    const damage = await noteDamage(level, await droppedAtOpen(folder));
    const report = await verify(level, options.onProgress);
    const lost = damage === undefined ? [] : [`acknowledged writes are lost: ${damage}`];
    const further = [...lost, ...blocks];
    return {
      ...report,
      ok: report.ok && further.length === 0,
      problems: [...further, ...report.problems].slice(0, problemsShown),
      problem_count: report.problem_count + further.length,
    };
  } finally {
    await level.close();
  }
}

function describeBlock({ file, bytes, holds, after, upTo }: DamagedBlock): string {
  if (holds === "filter") return `${file}: ${bytes} bytes of its filter are damaged: reads may overlook what is there`;
  const from = after === undefined ? "from its first entry" : `behind ${describeKey(after)}`;
  const to = upTo === undefined ? "to its last" : `up to ${describeKey(upTo)}`;
  return `${file}: a block of ${bytes} bytes is damaged, ${from} ${to}: entries there may be missing`;
}
