import { rm } from "node:fs/promises";
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
import { copyFolder, openCopy } from "./working-copy.js";

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

/**
 * Checks a folder that no process has open, also one that `openStore` refuses. Changes no document; LevelDB may write its
 * files anew. Where files are damaged nothing of the folder is changed: what can still be read is checked in a copy beside it.
 */
export async function verifyFolder(options: {
  readonly dataDir: string;
  readonly onProgress?: (entries: number) => void;
}): Promise<VerifyReport> {
  const folder = resolveFolder(options.dataDir);
  // Before LevelDB opens anything: it would write new tables, and damage can make it end the process.
  const suspects = await damagedBlocksIn(folder);
  if (suspects.length > 0) return await verifyCopy(folder, options.onProgress);
  const level = await openFolder(folder, { create: false });
  try {
    // LevelDB has just repaired itself, and says so once: the next open must still know.
    const damage = await noteDamage(level, await droppedAtOpen(folder));
    const lost = damage === undefined ? [] : [`acknowledged writes are lost: ${damage}`];
    return withProblems(await verify(level, options.onProgress), lost);
  } finally {
    await level.close();
  }
}

/** Where there is no folder, or none that can be read, opening it will say so better. */
async function damagedBlocksIn(folder: string): Promise<DamagedBlock[]> {
  const files = await tableFiles(folder).catch(() => []);
  return files.length === 0 ? [] : await damagedBlocks(folder);
}

/** Checks a copy, from whose tables the damage was taken out. */
async function verifyCopy(folder: string, onProgress?: (entries: number) => void): Promise<VerifyReport> {
  const copy = `${folder}.verifying`;
  const unreadable = await copyFolder(folder, copy);
  try {
    const { level, blocks, droppedBytes, problems } = await openCopy(copy);
    try {
      const dropped =
        droppedBytes === 0 ? [] : [`acknowledged writes are lost: LevelDB drops ${droppedBytes} bytes of its log`];
      const report = await verify(level, onProgress);
      return withProblems(report, [...dropped, ...blocks.map(describeBlock), ...unreadable, ...problems]);
    } finally {
      await level.close();
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

function withProblems(report: VerifyReport, further: readonly string[]): VerifyReport {
  return {
    ...report,
    ok: report.ok && further.length === 0,
    problems: [...further, ...report.problems].slice(0, problemsShown),
    problem_count: report.problem_count + further.length,
  };
}

function describeBlock({ file, bytes, holds, after, upTo }: DamagedBlock): string {
  if (holds === "index") return `${file}: ${bytes} bytes behind its entries are damaged: LevelDB finds none of them`;
  if (holds === "filter") return `${file}: ${bytes} bytes of its filter are damaged: reads may overlook what is there`;
  const from = after === undefined ? "from its first entry" : `behind ${describeKey(after)}`;
  const to = upTo === undefined ? "to its last" : `up to ${describeKey(upTo)}`;
  return `${file}: a block of ${bytes} bytes is damaged, ${from} ${to}: entries there may be missing`;
}
