import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type Clock, systemClock } from "../base/clock.js";
import { type BackupHeader, type BackupSink, BackupWriter, invalid, readBackup } from "./backup-file.js";
import { BackupTarget } from "./backup-target.js";
import { decodeDocument, isExpired, type StoredDocument } from "./document-codec.js";
import { FolderFiller, requireEmpty } from "./fill-folder.js";
import { toIso } from "./iso-time.js";
import { everyDocument, parseDocumentKey } from "./keys.js";
import type { Level, LevelSnapshot } from "./level.js";
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

/** How a backup is taken. */
export interface BackupOptions {
  /** Called now and then with the number of documents written so far. */
  readonly onProgress?: (documents: number) => void;
  /** Gives up when it aborts; the backup rejects with its reason. */
  readonly signal?: AbortSignal;
}

const progressEvery = 10_000;

/** What a snapshot is called in its backup. */
interface Taken {
  readonly revision: number;
  /** The store's now, in milliseconds since 1970. */
  readonly now: number;
}

/** Writes the living documents of a snapshot into a sink. Throws `store_damaged` rather than copy a damaged one. */
export async function backupTo(
  level: Level,
  snapshot: LevelSnapshot,
  taken: Taken,
  sink: BackupSink,
  { onProgress, signal }: BackupOptions,
): Promise<BackupSummary> {
  const header = { revision: taken.revision, taken_at: toIso(taken.now) };
  const writer = new BackupWriter(sink, header);
  for await (const [key, value] of level.iterator<Buffer, Buffer>({ ...everyDocument(), snapshot })) {
    signal?.throwIfAborted();
    if (isExpired(decodeDocument(key, value), taken.now)) continue;
    await writer.add(key, value);
    if (writer.documents % progressEvery === 0) onProgress?.(writer.documents);
  }
  signal?.throwIfAborted();
  return { ...header, documents: writer.documents, bytes: await writer.finish() };
}

/** The same into a new file, which is whole or not there. */
export async function backup(
  level: Level,
  snapshot: LevelSnapshot,
  taken: Taken,
  file: string,
  options: BackupOptions,
): Promise<BackupSummary> {
  const target = await BackupTarget.create(file);
  try {
    const summary = await backupTo(level, snapshot, taken, target, options);
    await target.finish();
    return summary;
  } catch (error) {
    await target.abandon();
    throw error;
  }
}

/**
 * Reads a backup file to its end and checks every document in it.
 *
 * @throws OnceKvError `backup_invalid` when it is not a whole backup
 */
export async function checkBackup(file: string): Promise<BackupSummary> {
  const path = resolve(file);
  let header: BackupHeader | undefined;
  let documents = 0;
  for await (const item of readBackup(path)) {
    if (!("key" in item)) {
      header = item;
      continue;
    }
    documentOf(path, item);
    documents += 1;
  }
  if (header === undefined) throw invalid(path, "it is empty");
  return { revision: header.revision, taken_at: header.taken_at, documents, bytes: (await stat(path)).size };
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
  await requireEmpty(folder, "restore");
  const { revision, taken_at, documents } = await checkBackup(file);

  const level = await openFolder(folder, { create: true });
  try {
    const filler = new FolderFiller(level, options.onProgress);
    for await (const item of readBackup(file)) {
      if ("key" in item) await filler.add(item.key, documentOf(file, item));
    }
    const wallNow = (options.clock ?? systemClock).wallNow();
    const baseRevision = revisionAfterLoss(revision, wallNow);
    await filler.finish(baseRevision, Date.parse(taken_at));
    return { revision, taken_at, documents, base_revision: baseRevision };
  } finally {
    await level.close();
  }
}

function documentOf(file: string, { key, value }: { readonly key: Buffer; readonly value: Buffer }): StoredDocument {
  try {
    return decodeDocument(key, value);
  } catch (error) {
    const { shape, id } = parseDocumentKey(key);
    throw invalid(file, `document ${shape}/${JSON.stringify(id)} in it is damaged`, error);
  }
}
