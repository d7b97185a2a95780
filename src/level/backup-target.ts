import { access, type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { OnceKvError } from "../base/errors.js";
import type { BackupSink } from "./backup-file.js";

/**
 * A file that is whole or not there: it is written under another name beside its own, and gets its own when everything
 * is on disk. Nothing that exists is ever overwritten.
 */
export class BackupTarget implements BackupSink {
  /** The absolute path that the file will have. */
  readonly file: string;
  /** Where its bytes are until then. */
  readonly partial: string;
  readonly #handle: FileHandle;

  /** @throws OnceKvError `backup_invalid` when the file exists, or is being written; else the system's error */
  static async create(file: string): Promise<BackupTarget> {
    const target = resolve(file);
    if (await exists(target)) throw new OnceKvError("backup_invalid", `${target} exists; choose a new file`);
    const partial = `${target}.partial`;
    try {
      return new BackupTarget(target, partial, await open(partial, "wx", 0o600));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      throw new OnceKvError(
        "backup_invalid",
        `${partial} exists: another backup is being written there, or one was killed; remove it if nobody writes it`,
        { cause: error },
      );
    }
  }

  private constructor(file: string, partial: string, handle: FileHandle) {
    this.file = file;
    this.partial = partial;
    this.#handle = handle;
  }

  async write(bytes: Buffer): Promise<void> {
    await this.#handle.writeFile(bytes);
  }

  /** Brings what was written to the disk, without giving it its name yet. */
  async sync(): Promise<void> {
    await this.#handle.sync();
  }

  /** Gives the file its name, for good. */
  async finish(): Promise<void> {
    await this.#handle.sync();
    await this.#handle.close();
    await rename(this.partial, this.file);
    const folder = await open(dirname(this.file), "r");
    await folder.sync();
    await folder.close();
  }

  /** Gives up; leaves no file behind. */
  async abandon(): Promise<void> {
    await this.#handle.close().catch(() => {});
    await rm(this.partial, { force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
