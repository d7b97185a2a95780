import { copyFile, mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { OnceKvError } from "../base/errors.js";
import type { Level } from "./level.js";
import { mendTables } from "./mend-tables.js";
import { openFolder } from "./open-folder.js";
import { type DamagedBlock, tableFiles } from "./table-file.js";

/** A database that was opened from a copy of a damaged one. */
export interface OpenedCopy {
  readonly level: Level;
  /** Parts of its tables that are not what was written. */
  readonly blocks: readonly DamagedBlock[];
  /** Bytes of the write-ahead log that LevelDB has passed over. */
  readonly droppedBytes: number;
  /** What is wrong with the folder as a whole, each a sentence. */
  readonly problems: readonly string[];
}

/**
 * Copies a damaged folder, so that nothing is written into it, not even by LevelDB, which repairs what it opens.
 *
 * @throws OnceKvError `store_locked` when a process has the folder open; `store_unwritable` when there is nothing to copy
 */
export async function copyFolder(folder: string, copy: string): Promise<string[]> {
  const before = await filesOf(folder);
  await refuseLocked(folder);
  try {
    await mkdir(copy);
  } catch (error) {
    const hint =
      (error as NodeJS.ErrnoException).code === "EEXIST" ? ": a repair or a check was killed; remove it" : "";
    throw new OnceKvError("store_unwritable", `${copy} cannot be made${hint} (${(error as Error).message})`, {
      cause: error,
    });
  }
  const problems: string[] = [];
  for (const { name } of before) {
    try {
      await copyFile(join(folder, name), join(copy, name));
    } catch (error) {
      await rm(join(copy, name), { force: true });
      problems.push(`the file ${name} cannot be read (${(error as Error).message})`);
    }
  }
  if (JSON.stringify(await filesOf(folder)) !== JSON.stringify(before)) {
    throw new OnceKvError("store_locked", `${folder} changes while it is copied: another process has it open`);
  }
  return problems;
}

/**
 * Opens the copy: as it is if LevelDB takes it, since its list of files then says what is old; else after LevelDB has
 * made a new list from all the files that it finds.
 *
 * @throws OnceKvError `store_damaged` when that does not help either
 */
export async function openCopy(copy: string): Promise<OpenedCopy> {
  const problems: string[] = [];
  // Before LevelDB meets what could end the process.
  const blocks = await mendTables(copy);
  let level: Level;
  try {
    level = await openFolder(copy, { create: false });
    const live = new Set(await tableFiles(copy));
    return {
      level,
      // Tables that an interrupted compaction left behind are none of the database's; opening has removed them.
      blocks: blocks.filter(({ file }) => live.has(file)),
      droppedBytes: await droppedBytesIn(copy, ["LOG"]),
      problems,
    };
  } catch (error) {
    if (!(error instanceof OnceKvError)) throw error;
    const reason = (error.cause as { cause?: Error } | undefined)?.cause?.message ?? error.message;
    problems.push(
      `LevelDB's list of its files is lost or does not fit them (${reason.replaceAll(copy, ".")}): it was made anew`,
    );
  }
  try {
    await ClassicLevel.repair(copy);
    level = await openFolder(copy, { create: false });
  } catch (error) {
    throw new OnceKvError("store_damaged", `nothing can be salvaged: ${(error as Error).message}`, { cause: error });
  }
  return { level, blocks, droppedBytes: await droppedBytesIn(copy, ["LOG", "LOG.old"]), problems };
}

interface FoundFile {
  readonly name: string;
  readonly size: number;
  readonly changedAt: number;
}

async function filesOf(folder: string): Promise<FoundFile[]> {
  try {
    const files: FoundFile[] = [];
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const { size, mtimeMs } = await stat(join(folder, entry.name));
      files.push({ name: entry.name, size, changedAt: mtimeMs });
    }
    if (files.some(({ name }) => /^(CURRENT|MANIFEST-\d+|\d+\.(ldb|sst|log))$/.test(name))) {
      return files.sort((one, other) => (one.name < other.name ? -1 : 1));
    }
  } catch (error) {
    throw new OnceKvError("store_unwritable", `${folder} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
  throw new OnceKvError("store_unwritable", `there is no store in ${folder}`);
}

/** LevelDB's lock cannot be asked for without opening the database, which changes it. Linux tells who holds locks. */
async function refuseLocked(folder: string): Promise<void> {
  let inode: number;
  let locks: string;
  try {
    inode = (await stat(join(folder, "LOCK"))).ino;
    locks = await readFile("/proc/locks", "utf8");
  } catch {
    return;
  }
  if (locks.split("\n").some((line) => line.includes("WRITE") && line.includes(`:${inode} `))) {
    throw new OnceKvError("store_locked", `${folder} is open in another process; stop that one first`);
  }
}

async function droppedBytesIn(folder: string, names: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const name of names) {
    const text = await readFile(join(folder, name), "utf8").catch(() => "");
    for (const [, count] of text.matchAll(/dropping (\d+) bytes/gi)) bytes += Number(count);
  }
  return bytes;
}
