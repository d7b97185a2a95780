import { constants } from "node:fs";
import { access, mkdir, readdir, readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ClassicLevel } from "classic-level";
import { InvalidRequestError, OnceKvError } from "../base/errors.js";
import type { Level } from "./level.js";

/**
 * Opening a folder. LevelDB's own errors say little ("Database failed to open"), so each way in which it can go wrong
 * is told apart here, with the resolved path and with what to do.
 */
export async function openFolder(dataDir: string, options: { readonly create: boolean }): Promise<Level> {
  const folder = resolveFolder(dataDir);
  await checkFolder(folder, options.create);
  const level: Level = new ClassicLevel<Buffer, Buffer>(folder, {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
    createIfMissing: options.create,
    // Larger than LevelDB's 4 MiB: fewer, larger table files under a steady load of writes.
    writeBufferSize: 16 * 1024 * 1024,
    cacheSize: 32 * 1024 * 1024,
  });
  try {
    await level.open();
  } catch (error) {
    throw await translate(error, folder);
  }
  return level;
}

/** The absolute path of a data folder. */
export function resolveFolder(dataDir: string): string {
  if (typeof dataDir !== "string" || dataDir === "") {
    throw new InvalidRequestError("dataDir", "must be the path of a folder");
  }
  if (dataDir === "~" || dataDir.startsWith("~/")) {
    throw new InvalidRequestError(
      "dataDir",
      `${dataDir} begins with ~, which only a shell expands; give the whole path`,
    );
  }
  return resolve(dataDir);
}

async function checkFolder(folder: string, create: boolean): Promise<void> {
  try {
    if (create) await mkdir(folder, { recursive: true });
    if (!(await stat(folder)).isDirectory()) {
      throw new OnceKvError("store_unwritable", `${folder} is not a folder; choose another path`);
    }
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    checkFiles(folder, await readdir(folder));
  } catch (error) {
    if (error instanceof OnceKvError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const reasons: { readonly [code: string]: string } = {
      ENOENT: "does not exist",
      EEXIST: "is not a folder; choose another path",
      ENOTDIR: "lies below something that is not a folder; choose another path",
      EACCES: "may not be written by this user; change its owner or permissions, or choose another folder",
      EPERM: "may not be written by this user; change its owner or permissions, or choose another folder",
      EROFS: "lies on a file system that is mounted read-only",
      ENOSPC: "lies on a disk that is full",
    };
    throw new OnceKvError("store_unwritable", `${folder} ${reasons[code ?? ""] ?? `cannot be used (${code})`}`, {
      cause: error,
    });
  }
}

/**
 * LevelDB takes a folder without the file CURRENT for a new one, and would delete the tables of the old database as
 * left-overs.
 */
function checkFiles(folder: string, names: readonly string[]): void {
  if (names.includes("CURRENT") || !names.some((name) => /^(\d+\.(ldb|sst|log)|MANIFEST-\d+)$/.test(name))) return;
  throw new OnceKvError(
    "store_damaged",
    `${folder} holds files of a database, but its file CURRENT is missing; bring it back or restore a backup`,
  );
}

async function translate(error: unknown, folder: string): Promise<OnceKvError> {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  const reason = `${cause?.message ?? (error as Error).message}`;
  if (cause?.code === "LEVEL_LOCKED") {
    return new OnceKvError(
      "store_locked",
      `${folder} is open in another process, or a second time in this one; stop that one, ` +
        "or start one server on the folder and use its URL. The lock goes by itself when its process ends",
      { cause: error },
    );
  }
  if (cause?.code === "LEVEL_CORRUPTION" || /corrupt|missing files|no meta-nextfile|bad record/i.test(reason)) {
    return new OnceKvError("store_damaged", `the database in ${folder} is damaged (${reason}); restore a backup`, {
      cause: error,
    });
  }
  return new OnceKvError("store_unwritable", `the database in ${folder} cannot be opened: ${reason}`, { cause: error });
}

/**
 * What LevelDB has just dropped. When a part of its write-ahead log is damaged it skips that part at open, goes on, and
 * says so nowhere but in its text file `LOG`. A record that a crash has cut off at the very end is not among these.
 */
export async function droppedAtOpen(folder: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await readFile(join(folder, "LOG"), "utf8");
  } catch {
    return undefined;
  }
  const lines = text.split("\n").filter((line) => /dropping \d+ bytes/i.test(line));
  return lines.length === 0 ? undefined : lines.map((line) => line.trim()).join("; ");
}
