import { access, readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { type Clock, systemClock } from "../base/clock.js";
import { OnceKvError } from "../base/errors.js";
import { type BackupHeader, BackupWriter, invalid, readBackup } from "./backup-file.js";
import { decodeDocument, isExpired, type StoredDocument } from "./document-codec.js";
import { type IndexedCommit, indexOperations } from "./expiry-index.js";
import { toIso } from "./iso-time.js";
import { everyDocument, parseDocumentKey } from "./keys.js";
import { type Level, type LevelOperation, type LevelSnapshot, writeBatch } from "./level.js";
import { dataFormat, putMeta } from "./meta.js";
import { openFolder, resolveFolder } from "./open-folder.js";
import { revisionAfterLoss } from "./recover.js";

export interface BackupSummary extends BackupHeader {
  readonly documents: number;
  readonly bytes: number;
}

export interface RestoreSummary extends BackupHeader {
  readonly documents: number;
  /** Where the restored store's revisions begin: past all that the lost timeline can have given out. */
  readonly base_revision: number;
}

const progressEvery = 10_000;

/** Writes the living documents of a snapshot into a new file. Throws `store_damaged` rather than copy a damaged one. */
export async function backup(
  level: Level,
  snapshot: LevelSnapshot,
  taken: { readonly revision: number; readonly now: number },
  file: string,
  onProgress?: (documents: number) => void,
): Promise<BackupSummary> {
  const target = resolve(file);
  const header = { revision: taken.revision, taken_at: toIso(taken.now) };
  if (await exists(target)) throw new OnceKvError("backup_invalid", `${target} exists; choose a new file`);
  const writer = await BackupWriter.create(target, header);
  try {
    for await (const [key, value] of level.iterator<Buffer, Buffer>({ ...everyDocument(), snapshot })) {
      if (isExpired(decodeDocument(key, value), taken.now)) continue;
      await writer.add(key, value);
      if (writer.documents % progressEvery === 0) onProgress?.(writer.documents);
    }
    return { ...header, documents: writer.documents, bytes: await writer.finish() };
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}

/**
 * Makes a new data folder from a backup. The file is checked to its end before anything is written. Revisions of the
 * documents stay; the counter jumps, so that no revision given out after the backup was taken ever matches; history and
 * write ids begin anew.
 */
export async function restore(options: {
  readonly file: string;
  readonly dataDir: string;
  readonly onProgress?: (documents: number) => void;
  readonly clock?: Clock;
}): Promise<RestoreSummary> {
  const file = resolve(options.file);
  const folder = resolveFolder(options.dataDir);
  if ((await entriesOf(folder)).length > 0) {
    throw new OnceKvError("store_unwritable", `${folder} is not empty; restore into a new folder`);
  }
  let header: BackupHeader | undefined;
  let batches = 0;
  for await (const batch of batchesOf(file, (found) => (header = found))) if (batch.length > 0) batches += 1;
  if (header === undefined) throw invalid(file, "it is empty");

  const level = await openFolder(folder, { create: true });
  try {
    const wallNow = (options.clock ?? systemClock).wallNow();
    const baseRevision = revisionAfterLoss(header.revision, wallNow);
    let documents = 0;
    for await (const batch of batchesOf(file, () => {})) {
      // The index entries of a batch are filed under numbers that no commit will ever have.
      const filed = baseRevision - batches--;
      await writeBatch(level, [...batch.flatMap(putDocument), ...indexOperations(batch, filed)], { sync: true });
      documents += batch.length;
      options.onProgress?.(documents);
    }
    const facts = [
      putMeta("format", dataFormat),
      putMeta("base_revision", baseRevision),
      putMeta("clock", Date.parse(header.taken_at)),
      putMeta("session", { durability: "durable", clean: true }),
    ];
    // Without these facts, which come last, the folder is not taken for a store.
    await writeBatch(level, facts, { sync: true });
    return { ...header, documents, base_revision: baseRevision };
  } finally {
    await level.close();
  }
}

/** The documents of a backup as commits, about a thousand at a time. */
async function* batchesOf(file: string, onHeader: (header: BackupHeader) => void): AsyncGenerator<IndexedCommit[]> {
  let batch: IndexedCommit[] = [];
  let bytes = 0;
  for await (const item of readBackup(file)) {
    if (!("key" in item)) {
      onHeader(item);
      continue;
    }
    const { key, value } = item;
    const { shape, id } = parseDocumentKey(key);
    let document: StoredDocument;
    try {
      document = decodeDocument(key, value);
    } catch (error) {
      throw invalid(file, `document ${shape}/${JSON.stringify(id)} in it is damaged`, error);
    }
    const change = { key, document, previous: undefined };
    batch.push({ changes: [change] });
    bytes += value.length;
    if (batch.length >= 1000 || bytes >= 4 * 1024 * 1024) {
      yield batch;
      batch = [];
      bytes = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

function putDocument(commit: IndexedCommit): LevelOperation[] {
  return commit.changes.flatMap(({ key, document }) =>
    document === undefined ? [] : [{ type: "put" as const, key, value: document.value }],
  );
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
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
