import { decodeDocument, fieldsOf, type StoredDocument } from "./document-codec.js";
import { decodeExpiryEntry } from "./expiry-index.js";
import type { FolderFiller } from "./fill-folder.js";
import { describeKey, documentOfKey, kindOfKey } from "./key-names.js";
import { logKey, metaKey, parseExpiryKey } from "./keys.js";
import type { Level } from "./level.js";
import { decodeLogCommits } from "./log-entry.js";
import { LoggedStates, nameOf, type RevisionRange } from "./logged-states.js";
import { dataFormat, decodeMeta } from "./meta.js";
import { readAround } from "./read-around.js";
import type { LostDocument, LostStretch } from "./repair.js";
import type { DamagedBlock } from "./table-file.js";
import { decodeNotes } from "./write-ids.js";

const progressEvery = 10_000;

/**
 * Reads what a damaged database still holds, and says what it does not. First a survey of everything that tells about
 * documents, then the documents themselves, each compared with what the log says of it.
 */
export class Salvage {
  readonly problems: string[] = [];
  readonly lost: LostDocument[] = [];
  fromLog = 0;
  leftOut = 0;
  damagedBytes = 0;
  newestRevision = 0;
  newestTime = 0;
  /** Something was lost of which nobody can say what. */
  isBeyondCounting = false;
  missingRevisions: readonly RevisionRange[] = [];

  readonly #level: Level;
  readonly #onProgress: ((entries: number) => void) | undefined;
  readonly #logged = new LoggedStates();
  /** Documents with an entry of their own in the expiry index: it goes when its document goes, so that it tells of one. */
  readonly #indexed = new Map<string, number>();
  readonly #damaged = new Set<string>();
  readonly #given = new Set<string>();
  #isDamaged = false;
  #intact = 0;
  readonly #reported = new Set<string>();
  #format: number = dataFormat;
  #base = 0;
  #newestSeen = 0;
  #entries = 0;

  constructor(level: Level, onProgress: ((entries: number) => void) | undefined) {
    this.#level = level;
    this.#onProgress = onProgress;
  }

  /** Whether nothing in it is of this program, or it is of a newer version, which may mean something else by its entries. */
  get isForeign(): boolean {
    return this.#intact === 0 || this.#format > dataFormat;
  }

  /** @param isDamaged whether it is known already that something is damaged */
  async survey(isDamaged: boolean): Promise<void> {
    this.#isDamaged = isDamaged;
    await this.#everything((key, value) => this.#surveyEntry(key, value));
    this.missingRevisions = this.#logged.missing(this.#base, this.#newestSeen);
    this.newestRevision = Math.max(this.#base, this.#newestSeen);
  }

  /** Writes every document that is there, then those of which something else tells. */
  async fill(filler: FolderFiller): Promise<void> {
    await this.#everything(async (key, value) => {
      if (kindOfKey(key) !== "document" || this.#given.has(nameOf(key))) return;
      const document = intactDocument(key, value);
      if (document !== undefined) await this.#give(filler, key, document);
    });
    for (const [key, { type }] of this.#logged.all()) {
      if (type !== "put" || this.#given.has(nameOf(key))) continue;
      await this.#give(filler, key, undefined);
    }
    for (const name of this.#damaged) {
      const key = Buffer.from(name, "latin1");
      if (this.#given.has(name)) continue;
      const logged = this.#logged.get(key);
      // Gone by the log, unless it came again in what the log lacks.
      if (logged === undefined || logged.type === "put" || this.#mayHaveChanged(logged.revision)) {
        this.#lose(key, "damaged");
      }
    }
    for (const [name, revision] of this.#indexed) {
      const key = Buffer.from(name, "latin1");
      if (this.#given.has(name) || this.#damaged.has(name)) continue;
      if ((this.#logged.get(key)?.revision ?? 0) <= revision) this.#lose(key, "missing");
    }
  }

  /** Where documents may be lost of which nothing else tells. */
  stretches(blocks: readonly DamagedBlock[]): LostStretch[] {
    return blocks.flatMap(({ holds, after, upTo, bytes }) => {
      // Keys of documents come first of all.
      const isBehind = after !== undefined && kindOfKey(after) !== "document" && Buffer.compare(after, firstOther) >= 0;
      if (holds !== "entries" || isBehind) return [];
      return [{ after: documentName(after), up_to: documentName(upTo), bytes }];
    });
  }

  /** In both directions once anything is damaged, since damage can hide entries from one of them. */
  async #everything(visit: (key: Buffer, value: Buffer) => Promise<void> | void): Promise<void> {
    const count = (key: Buffer, value: Buffer): Promise<void> | void => {
      this.#entries += 1;
      if (this.#entries % progressEvery === 0) this.#onProgress?.(this.#entries);
      return visit(key, value);
    };
    if (!(await readAround(this.#level, { reverse: false }, count))) this.#isDamaged = true;
    if (this.#isDamaged) await readAround(this.#level, { reverse: true }, count);
  }

  /** Facts are met on the way, not asked for: a damaged filter would hide them. */
  #readFact(key: Buffer, value: Buffer): void {
    if (key.equals(metaKey("format"))) this.#format = decodeMeta("format", key, value);
    else if (key.equals(metaKey("base_revision"))) this.#base = decodeMeta("base_revision", key, value);
    else if (key.equals(metaKey("clock"))) this.#see(0, decodeMeta("clock", key, value));
    else if (key.equals(metaKey("damage"))) {
      this.#report(key, value, `an earlier open has found: ${decodeMeta("damage", key, value)}`);
      this.isBeyondCounting = true;
    }
  }

  /** Takes note of a damaged entry, once, however often it is met. */
  #report(key: Buffer, value: Buffer, problem: string): void {
    this.#isDamaged = true;
    if (this.#reported.has(nameOf(key))) return;
    this.#reported.add(nameOf(key));
    this.damagedBytes += key.length + value.length;
    this.problems.push(`${describeKey(key)}: ${problem}`);
  }

  #surveyEntry(key: Buffer, value: Buffer): void {
    const kind = kindOfKey(key);
    try {
      switch (kind) {
        case "document": {
          const document = decodeDocument(key, value);
          fieldsOf(document);
          this.#see(document.revision, document.updatedAt);
          break;
        }
        case "log": {
          const header = this.#logged.note(key, value);
          this.#see(header.last, header.time);
          break;
        }
        case "expiry": {
          const mentions = decodeExpiryEntry(key, value);
          for (const mention of mentions) this.#see(mention.revision, 0);
          const { document } = parseExpiryKey(key);
          if (document !== undefined) this.#indexed.set(nameOf(document), mentions[0]?.revision ?? 0);
          break;
        }
        case "writeIds": {
          const { time, notes } = decodeNotes(key, value);
          for (const { revision } of notes) this.#see(revision, time);
          break;
        }
        case "fact":
          this.#readFact(key, value);
          return;
        default:
          this.isBeyondCounting = true;
          this.#report(key, value, "is the key of nothing: the entry that it was is lost");
          return;
      }
      this.#intact += 1;
    } catch {
      if (kind === "document") this.#damaged.add(nameOf(key));
      this.#report(key, value, "is not what was written");
    }
  }

  #see(revision: number, time: number): void {
    this.#newestSeen = Math.max(this.#newestSeen, revision);
    this.newestTime = Math.max(this.newestTime, time);
  }

  /** Gives a document as its own entry has it, or as the log has it if that is newer. */
  async #give(filler: FolderFiller, key: Buffer, own: StoredDocument | undefined): Promise<void> {
    const logged = this.#logged.get(key);
    if (own !== undefined && (logged === undefined || logged.revision <= own.revision)) {
      // A delete of the same revision cannot be: one commit changes a document once.
      this.#given.add(nameOf(key));
      return filler.add(key, own);
    }
    if (logged?.type !== "put") {
      this.#given.add(nameOf(key));
      this.leftOut += 1;
      return;
    }
    const document = await this.#fromLog(key, logged.entry, logged.revision);
    const best = document ?? own;
    if (best === undefined) return this.#lose(key, "missing");
    this.#given.add(nameOf(key));
    if (document !== undefined) this.fromLog += 1;
    if (document === undefined || this.#mayHaveChanged(logged.revision)) this.#lose(key, "doubtful");
    await filler.add(key, best);
  }

  #mayHaveChanged(since: number): boolean {
    return this.missingRevisions.some(({ to }) => to > since);
  }

  async #fromLog(key: Buffer, entry: number, revision: number): Promise<StoredDocument | undefined> {
    const at = logKey(entry);
    try {
      const [found] = await this.#level.iterator<Buffer, Buffer>({ gte: at, lte: at }).all();
      if (found === undefined) return undefined;
      const [, value] = found;
      const commit = decodeLogCommits(at, value, revision - 1).find((one) => one.revision === revision);
      const change = commit?.changes.find((one) => one.key.equals(key));
      return change?.value === undefined ? undefined : intactDocument(key, Buffer.from(change.value));
    } catch {
      return undefined;
    }
  }

  #lose(key: Buffer, reason: LostDocument["reason"]): void {
    const document = documentOfKey(key);
    if (document !== undefined) this.lost.push({ ...document, reason });
  }
}

const firstOther = Buffer.from("e");

function documentName(key: Buffer | undefined): string | null {
  const document = key === undefined ? undefined : documentOfKey(key);
  return document === undefined ? null : `${document.shape}/${JSON.stringify(document.id)}`;
}

function intactDocument(key: Buffer, value: Buffer): StoredDocument | undefined {
  try {
    const document = decodeDocument(key, value);
    fieldsOf(document);
    return document;
  } catch {
    return undefined;
  }
}
