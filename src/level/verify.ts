import { crc32 } from "node:zlib";
import { decodeDocument, fieldsOf, type StoredDocument } from "./document-codec.js";
import { decodeExpiryEntry, hasOwnEntry, ownKeyOf } from "./expiry-index.js";
import { describeKey } from "./key-names.js";
import {
  everyDocument,
  everyExpiryEntry,
  everyLogEntry,
  everyMeta,
  everyWriteIdEntry,
  parseExpiryKey,
  unusedRanges,
} from "./keys.js";
import type { Level, LevelSnapshot } from "./level.js";
import { decodeLogCommits, type LogHeader } from "./log-entry.js";
import { LoggedStates, nameOf } from "./logged-states.js";
import { decodeMeta } from "./meta.js";
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

/** Problems that a report spells out. */
export const problemsShown = 100;
const progressEvery = 10_000;

/**
 * Checks everything that is stored against itself, in one snapshot: every document, expiry entry, log entry and note of
 * a write id is what was written; every deadline is in the expiry index; every entry of a document's own belongs to it;
 * the log has no gap and its revisions grow; each document is as the log, as far as it reaches, has left it.
 */
export async function verify(level: Level, onProgress?: (entries: number) => void): Promise<VerifyReport> {
  const snapshot = level.snapshot();
  try {
    const check = new Check(level, snapshot, onProgress);
    await check.facts();
    const log = await check.log();
    const expiryEntries = await check.expiryIndex();
    const documents = await check.documents(log.newestRevision);
    check.missingDocuments();
    const writeIdEntries = await check.writeIds();
    await check.strangers();
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

  readonly #logged = new LoggedStates();
  readonly #seen = new Set<string>();
  #base = 0;

  readonly #level: Level;
  readonly #snapshot: LevelSnapshot;
  readonly #onProgress: ((entries: number) => void) | undefined;

  constructor(level: Level, snapshot: LevelSnapshot, onProgress: ((entries: number) => void) | undefined) {
    this.#level = level;
    this.#snapshot = snapshot;
    this.#onProgress = onProgress;
  }

  async log(): Promise<{ entries: number; newestRevision: number }> {
    const base = this.#base;
    let older: LogHeader | undefined;
    const entries = await this.#walk("the log", everyLogEntry(), (key, value) => {
      const header = this.#logged.note(key, value);
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
      // Damaged or not, it is not missing.
      this.#seen.add(nameOf(key));
      const document = decodeDocument(key, value);
      fieldsOf(document);
      if (document.revision > newestRevision) {
        this.#problem(`${describeKey(key)} has revision ${document.revision}, the log ends at ${newestRevision}`);
      }
      this.#compareWithLog(key, document);
      if (document.expiresAt !== 0 && !this.#isIndexed(key, document)) {
        this.#problem(`${describeKey(key)} has a deadline that the expiry index lacks`);
      }
    });
  }

  /** Without its facts a folder is not taken for a store; without the counter's jump revisions would come again. */
  async facts(): Promise<void> {
    const found = new Set<string>();
    await this.#walk("the store's own entries", everyMeta(), (key, value) => {
      const name = key.toString("latin1", 1);
      found.add(name);
      // Any name will do: what is decoded is the same for all.
      const fact = decodeMeta("base_revision", key, value);
      if (name === "base_revision") this.#base = fact;
    });
    for (const name of ["format", "session", "clock"]) {
      if (!found.has(name)) this.#problem(`the store's own entry ${name} is missing`);
    }
  }

  /** Documents that were written, by the log, and are not there. */
  missingDocuments(): void {
    for (const [key, { type, revision }] of this.#logged.all()) {
      if (type !== "put" || revision <= this.#base || this.#seen.has(nameOf(key)) || this.#isThere(key)) continue;
      this.#problem(`${describeKey(key)} is missing: the log has it at revision ${revision}`);
    }
  }

  /** Whether a document is found by itself: a walk over all of them may have been cut short. */
  #isThere(key: Buffer): boolean {
    try {
      return this.#get(key) !== undefined;
    } catch {
      // It cannot be read, which the walk has told.
      return true;
    }
  }

  /** Entries that no version up to this one writes. */
  async strangers(): Promise<void> {
    for (const range of unusedRanges()) {
      await this.#walk("the rest", range, (key) => this.#problem(`${describeKey(key)} is the key of nothing`));
    }
  }

  #compareWithLog(key: Buffer, { revision }: StoredDocument): void {
    const logged = this.#logged.get(key);
    if (logged === undefined || logged.revision <= this.#base) return;
    if (logged.type === "put" && revision < logged.revision) {
      this.#problem(`${describeKey(key)} is at revision ${revision}, the log has it at ${logged.revision}`);
    } else if (logged.type !== "put" && revision <= logged.revision) {
      this.#problem(`${describeKey(key)} is there, and the log says that it went at revision ${logged.revision}`);
    }
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
          this.#problem(`the expiry index has an entry for ${describeKey(mention.key)} that is not its own`);
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
          this.#problem(placed(key, (error as Error).message));
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

/** The message of an entry's fault with the place of the entry, and without the advice to do what is being done. */
function placed(key: Buffer, message: string): string {
  const fault = message.replace(/\. Run `oncekv verify`.*$/s, "");
  const place = describeKey(key);
  return fault.startsWith(place) ? fault : `${place}: ${fault}`;
}

function fingerprint(revision: number, key: Buffer): number {
  return (revision % 2 ** 21) * 2 ** 32 + crc32(key);
}
