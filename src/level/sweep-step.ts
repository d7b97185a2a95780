import { engineLimits } from "../base/limits.js";
import { decodeDocument, type StoredDocument } from "./document-codec.js";
import { decodeExpiryEntry, type ExpiryMention } from "./expiry-index.js";
import { documentName, expiryRange, parseDocumentKey } from "./keys.js";
import type { Level } from "./level.js";

/** What the sweeper has to know of a document's state: enough to tell whether it is the one that was indexed. */
export type DueState = Pick<StoredDocument, "revision" | "updatedAt" | "expiresAt">;

/** A document that an entry of the expiry index mentions. */
export interface DueDocument {
  readonly key: Buffer;
  readonly name: string;
  readonly shape: string;
  readonly id: string;
  /** The revision that was indexed. */
  readonly revision: number;
  /** How it stood on disk when the step was read; undefined: it was not there. */
  readonly found: DueState | undefined;
}

/** An entry of the expiry index. */
interface DueEntry {
  readonly key: Buffer;
  /** Those of its documents that could be read. */
  readonly documents: readonly DueDocument[];
  /** Whether all could be read. If not, the entry stays for `verify` to find. */
  readonly isWhole: boolean;
}

/** What one step of the sweeper has read. */
export interface SweepStep {
  readonly entries: readonly DueEntry[];
  /** The last key of the index that was read; undefined: nothing is due. */
  readonly end: Buffer | undefined;
  /** Whether nothing more is due. */
  readonly last: boolean;
}

/** Documents that one reader reads at once: they are in memory together, as large as they are. */
const readAtOnce = 32;

/** Readers at work. Each takes a thread of the pool that all of Node shares; the writes of the store need one, too. */
const readers = 2;

/** An entry as it was read, before its documents are. */
interface ReadEntry {
  readonly key: Buffer;
  /** undefined: the entry is damaged. */
  readonly mentions: readonly ExpiryMention[] | undefined;
}

/**
 * Reads the entries that are due, from the key `from` on, and the documents that they mention: at most about
 * `sweepDocumentsMax` of them. The event loop goes on meanwhile, since documents that were written long ago and lie far
 * apart take time to read. So a write may overtake what is read here; the sweeper looks for that.
 */
export async function readSweepStep(level: Level, from: Buffer, now: number): Promise<SweepStep> {
  const { lt } = expiryRange(now);
  if (Buffer.compare(from, lt) >= 0) return { entries: [], end: undefined, last: true };
  const { entries, last } = await readEntries(level, from, lt);
  const documents = await readDocuments(level, entries);
  return { entries: entries.map((entry) => dueEntry(entry, documents)), end: entries.at(-1)?.key, last };
}

async function readEntries(
  level: Level,
  gte: Buffer,
  lt: Buffer,
): Promise<{ readonly entries: readonly ReadEntry[]; readonly last: boolean }> {
  const entries: ReadEntry[] = [];
  let left = engineLimits.sweepDocumentsMax;
  let atOnce = 1;
  const iterator = level.iterator<Buffer, Buffer>({ gte, lt });
  try {
    while (left > 0) {
      const read = await iterator.nextv(atOnce);
      if (read.length === 0) return { entries, last: true };
      let mentioned = 0;
      for (const [key, value] of read) {
        const mentions = mentionsIn(key, value);
        entries.push({ key, mentions });
        mentioned += mentions?.length ?? 1;
        // What is behind it is read again with the next step: entries may mention many more documents than those before.
        if (mentioned >= left) break;
      }
      left -= mentioned;
      // An entry mentions one document, or many. The next ones are probably as these were.
      atOnce = Math.ceil((left * read.length) / mentioned);
    }
  } finally {
    await iterator.close();
  }
  return { entries, last: false };
}

function mentionsIn(key: Buffer, value: Buffer): readonly ExpiryMention[] | undefined {
  try {
    return decodeExpiryEntry(key, value);
  } catch {
    return undefined;
  }
}

/** The documents that are mentioned, by mention. Damaged ones are missing. */
async function readDocuments(
  level: Level,
  entries: readonly ReadEntry[],
): Promise<ReadonlyMap<ExpiryMention, DueDocument>> {
  const documents = new Map<ExpiryMention, DueDocument>();
  const left = entries.flatMap((entry) => entry.mentions ?? []);
  const readSome = async (): Promise<void> => {
    while (left.length > 0) {
      const some = left.splice(-readAtOnce);
      const values = await level.getMany(some.map(({ key }) => key));
      for (const [index, mention] of some.entries()) {
        const document = dueDocument(mention, values[index]);
        if (document !== undefined) documents.set(mention, document);
      }
    }
  };
  await Promise.all(Array.from({ length: readers }, readSome));
  return documents;
}

function dueDocument({ key, revision }: ExpiryMention, value: Buffer | undefined): DueDocument | undefined {
  const { shape, id } = parseDocumentKey(key);
  let found: DueState | undefined;
  try {
    if (value !== undefined) found = stateOf(decodeDocument(key, value));
  } catch {
    return undefined;
  }
  // The mention lives in a larger value that would stay in memory with it.
  return { key: Buffer.from(key), name: documentName(shape, id), shape, id, revision, found };
}

function dueEntry({ key, mentions = [] }: ReadEntry, documents: ReadonlyMap<ExpiryMention, DueDocument>): DueEntry {
  const readable: DueDocument[] = [];
  for (const mention of mentions) {
    const document = documents.get(mention);
    if (document !== undefined) readable.push(document);
  }
  // An entry mentions at least one document, so that a damaged one, too, is not whole.
  return { key, documents: readable, isWhole: readable.length > 0 && readable.length === mentions.length };
}

/** The state alone, for whoever would otherwise keep the whole document in memory. */
function stateOf({ revision, updatedAt, expiresAt }: StoredDocument): DueState {
  return { revision, updatedAt, expiresAt };
}
