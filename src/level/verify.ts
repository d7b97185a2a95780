import { crc32 } from "node:zlib";
import { decodeDocument, fieldsOf, type StoredDocument } from "./document-codec.js";
import { decodeExpiryEntry, hasOwnEntry, ownKeyOf } from "./expiry-index.js";
import {
  everyDocument,
  everyExpiryEntry,
  everyLogEntry,
  everyWriteIdEntry,
  parseDocumentKey,
  parseExpiryKey,
} from "./keys.js";
import type { Level, LevelSnapshot } from "./level.js";
import { decodeLogCommits, decodeLogHeader, type LogHeader } from "./log-entry.js";
import { readMeta } from "./meta.js";
import { decodeNotes } from "./write-ids.js";

/** What a check of the whole database has found. */
export interface VerifyReport {
  readonly ok: boolean;
  /** Documents, expired ones that the sweeper has not met yet included. */
  readonly documents: number;
  readonly expiry_entries: number;
  readonly log_entries: number;
  readonly write_id_entries: number;
  /** The first hundred problems, each a sentence. */
  readonly problems: readonly string[];
  readonly problem_count: number;
}

const problemsShown = 100;
const progressEvery = 10_000;

/**
 * Checks everything that is stored against itself, in one snapshot: every document, expiry entry, log entry and note of
 * a write id is what was written; every deadline is in the expiry index; every entry of a document's own belongs to it;
 * the log has no gap and its revisions grow.
 */
export async function verify(level: Level, onProgress?: (entries: number) => void): Promise<VerifyReport> {
  const snapshot = level.snapshot();
  try {
    const check = new Check(level, snapshot, onProgress);
    const log = await check.log();
    const expiryEntries = await check.expiryIndex();
    const documents = await check.documents(log.newestRevision);
    const writeIdEntries = await check.writeIds();
    return {
      ok: check.count === 0,
      documents,
      expiry_entries: expiryEntries,
      log_entries: log.entries,
      write_id_entries: writeIdEntries,
      problems: check.problems,
      problem_count: check.count,
    };
  } finally {
    await snapshot.close();
  }
}

class Check {
  readonly problems: string[] = [];
  count = 0;
  #entries = 0;
  /** What the shared entries of the expiry index mention: 53 bits of revision and key each, to hold millions. */
  readonly #mentions = new Set<number>();

  readonly #level: Level;
  readonly #snapshot: LevelSnapshot;
  readonly #onProgress: ((entries: number) => void) | undefined;

  constructor(level: Level, snapshot: LevelSnapshot, onProgress: ((entries: number) => void) | undefined) {
    this.#level = level;
    this.#snapshot = snapshot;
    this.#onProgress = onProgress;
  }

  async log(): Promise<{ entries: number; newestRevision: number }> {
    const base = readMeta(this.#level, "base_revision") ?? 0;
    let older: LogHeader | undefined;
    const entries = await this.#walk("the log", everyLogEntry(), (key, value) => {
      const header = decodeLogHeader(key, value);
      // What a jump of the counter has left behind is no longer history, and goes bit by bit.
      if (older !== undefined && header.last > base && header.previous !== older.last && header.previous !== base) {
        this.#problem(`the log has a gap between revisions ${older.last} and ${header.first}`);
      }
      let revision = header.previous;
      for (const commit of decodeLogCommits(key, value, 0)) {
        if (commit.revision <= revision) this.#problem(`the log goes from revision ${revision} to ${commit.revision}`);
        revision = commit.revision;
      }
      if (revision !== header.last) this.#problem(`a log entry says ${header.last} and ends with ${revision}`);
      older = header;
    });
    return { entries, newestRevision: Math.max(base, older?.last ?? 0) };
  }

  documents(newestRevision: number): Promise<number> {
    return this.#walk("the documents", everyDocument(), (key, value) => {
      const document = decodeDocument(key, value);
      fieldsOf(document);
      if (document.revision > newestRevision) {
        this.#problem(`${describe(key)} has revision ${document.revision}, the log ends at ${newestRevision}`);
      }
      if (document.expiresAt !== 0 && !this.#isIndexed(key, document)) {
        this.#problem(`${describe(key)} has a deadline that the expiry index lacks`);
      }
    });
  }

  expiryIndex(): Promise<number> {
    return this.#walk("the expiry index", everyExpiryEntry(), (key, value) => {
      const mentions = decodeExpiryEntry(key, value);
      if (parseExpiryKey(key).document === undefined) {
        for (const mention of mentions) this.#mentions.add(fingerprint(mention.revision, mention.key));
        return;
      }
      for (const mention of mentions) {
        const stored = this.#get(mention.key);
        const document = stored === undefined ? undefined : decodeDocument(mention.key, stored);
        if (document?.revision !== mention.revision || document.expiresAt !== mention.deadline) {
          this.#problem(`the expiry index has an entry for ${describe(mention.key)} that is not its own`);
        }
      }
    });
  }

  writeIds(): Promise<number> {
    return this.#walk("the write ids", everyWriteIdEntry(), (key, value) => {
      decodeNotes(key, value);
    });
  }

  #isIndexed(key: Buffer, document: StoredDocument): boolean {
    if (hasOwnEntry(document)) return this.#get(ownKeyOf(key, document)) !== undefined;
    return this.#mentions.has(fingerprint(document.revision, key));
  }

  #get(key: Buffer): Buffer | undefined {
    return this.#level.getSync<Buffer, Buffer>(key, { snapshot: this.#snapshot });
  }

  /** Calls `check` for every entry of a range; an entry that throws is a problem, and so is one that cannot be read. */
  async #walk(
    what: string,
    range: { gte: Buffer; lt: Buffer },
    check: (key: Buffer, value: Buffer) => void,
  ): Promise<number> {
    let entries = 0;
    try {
      for await (const [key, value] of this.#level.iterator<Buffer, Buffer>({ ...range, snapshot: this.#snapshot })) {
        entries += 1;
        this.#entries += 1;
        if (this.#entries % progressEvery === 0) this.#onProgress?.(this.#entries);
        try {
          check(key, value);
        } catch (error) {
          this.#problem((error as Error).message);
        }
      }
    } catch (error) {
      this.#problem(`${what} cannot be read to the end: ${(error as Error).message}`);
    }
    return entries;
  }

  #problem(sentence: string): void {
    this.count += 1;
    if (this.problems.length < problemsShown) this.problems.push(sentence);
  }
}

function describe(key: Buffer): string {
  const { shape, id } = parseDocumentKey(key);
  return `document ${shape}/${JSON.stringify(id)}`;
}

function fingerprint(revision: number, key: Buffer): number {
  return (revision % 2 ** 21) * 2 ** 32 + crc32(key);
}
