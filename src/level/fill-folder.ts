import { readdir } from "node:fs/promises";
import { OnceKvError } from "../base/errors.js";
import type { StoredDocument } from "./document-codec.js";
import { type IndexedCommit, indexOperations } from "./expiry-index.js";
import { type Level, type LevelOperation, writeBatch } from "./level.js";
import { dataFormat, putMeta } from "./meta.js";

const batchDocumentsMax = 1000;
const batchBytesMax = 4 * 1024 * 1024;

/**
 * Fills a new database with documents that come from elsewhere: they keep their revisions, the counter begins past all
 * of them, and history and write ids begin anew.
 */
export class FolderFiller {
  readonly #level: Level;
  readonly #onProgress: ((documents: number) => void) | undefined;
  #batch: IndexedCommit[] = [];
  #bytes = 0;
  #batches = 0;
  #documents = 0;

  /** @param onProgress called with the number of documents that are on disk */
  constructor(level: Level, onProgress: ((documents: number) => void) | undefined) {
    this.#level = level;
    this.#onProgress = onProgress;
  }

  /** Documents that are on disk. */
  get documents(): number {
    return this.#documents;
  }

  async add(key: Buffer, document: StoredDocument): Promise<void> {
    this.#batch.push({ changes: [{ key, document, previous: undefined }] });
    this.#bytes += key.length + document.value.length;
    if (this.#batch.length >= batchDocumentsMax || this.#bytes >= batchBytesMax) await this.#flush();
  }

  /**
   * Makes a store of it. Without these facts, which come last, the folder is not taken for one.
   *
   * @param baseRevision past every revision that has ever been given out
   * @param clockMark the store's now is no earlier than this, in milliseconds since 1970
   */
  async finish(baseRevision: number, clockMark: number): Promise<void> {
    await this.#flush();
    const facts = [
      putMeta("format", dataFormat),
      putMeta("base_revision", baseRevision),
      putMeta("clock", clockMark),
      putMeta("session", { durability: "durable", clean: true }),
    ];
    await writeBatch(this.#level, facts, { sync: true });
  }

  async #flush(): Promise<void> {
    if (this.#batch.length === 0) return;
    const batch = this.#batch;
    this.#batch = [];
    this.#bytes = 0;
    // The index entries of a batch are filed under small numbers, which commits of the new store lie far beyond.
    this.#batches += 1;
    await writeBatch(this.#level, [...batch.flatMap(putDocument), ...indexOperations(batch, this.#batches)], {
      sync: true,
    });
    this.#documents += batch.length;
    this.#onProgress?.(this.#documents);
  }
}

/** @throws OnceKvError `store_unwritable` unless the folder is empty or not there yet */
export async function requireEmpty(folder: string, doing: string): Promise<void> {
  if ((await entriesOf(folder)).length > 0) {
    throw new OnceKvError("store_unwritable", `${folder} is not empty; ${doing} into a new folder`);
  }
}

function putDocument(commit: IndexedCommit): LevelOperation[] {
  return commit.changes.flatMap(({ key, document }) =>
    document === undefined ? [] : [{ type: "put" as const, key, value: document.value }],
  );
}

async function entriesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw new OnceKvError("store_unwritable", `${folder} cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
