import { appendFile } from "node:fs/promises";
import { type BackupHeader, BackupWriter, readBackup } from "../../src/level/backup-file.js";
import type { EmbeddedStore } from "../../src/level/index.js";

/*
 * Backups whose header, number of documents and checksum are right, and whose content is not.
 */

interface BackedUp {
  readonly key: Buffer;
  readonly value: Buffer;
}

/** Takes a backup that lacks one document. Resolves with its revision. */
export async function backupWithoutOne(store: EmbeddedStore, file: string): Promise<number> {
  const { header, documents } = await read(store, `${file}-right`);
  await write(file, header, documents.slice(1));
  return header.revision;
}

/** Takes a backup in which one document is as it was some commits before. Resolves with its revision. */
export async function backupWithOneOfBefore(store: EmbeddedStore, file: string): Promise<number> {
  const before = await read(store, `${file}-before`);
  const values = new Map(before.documents.map(({ key, value }) => [key.toString("hex"), value]));
  for (;;) {
    const { header, documents } = await read(store, `${file}-${store.revision}`);
    for (const [index, { key, value }] of documents.entries()) {
      const earlier = values.get(key.toString("hex"));
      if (earlier === undefined || earlier.equals(value)) continue;
      await write(file, header, documents.with(index, { key, value: earlier }));
      return header.revision;
    }
    // Writers go on meanwhile: soon some document is another one.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function read(
  store: EmbeddedStore,
  file: string,
): Promise<{ readonly header: BackupHeader; readonly documents: readonly BackedUp[] }> {
  await store.backup(file);
  const documents: BackedUp[] = [];
  let header: BackupHeader | undefined;
  for await (const part of readBackup(file)) {
    if ("key" in part) documents.push(part);
    else header = part;
  }
  if (header === undefined) throw new Error("a backup begins with its header");
  return { header, documents };
}

async function write(file: string, header: BackupHeader, documents: readonly BackedUp[]): Promise<void> {
  const writer = new BackupWriter({ write: (bytes) => appendFile(file, bytes) }, header);
  for (const { key, value } of documents) await writer.add(key, value);
  await writer.finish();
}
