import type { AnchoredClock } from "../base/clock.js";
import { TooLargeError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import type { Document, DocumentKey, ListPage } from "../documents/contract.js";
import type { CheckedList } from "../documents/requests-read.js";
import { decodeDocument, isExpired, type StoredDocument, toDocument } from "./document-codec.js";
import type { Group } from "./group.js";
import type { GroupCommit } from "./group-commit.js";
import { documentKey, documentName, documentRange, everyLogEntry, numberOfKey, parseDocumentKey } from "./keys.js";
import type { Level, LevelSnapshot } from "./level.js";

/** What a read of one document finds. */
export interface LiveDocument {
  /** undefined: absent. */
  readonly document: StoredDocument | undefined;
  /** The store's now when it was read, in milliseconds since 1970. */
  readonly now: number;
}

/**
 * Reads see durable states only: LevelDB shows a batch no earlier than it has synced it. There is one case in which what
 * is on disk does not suffice: a document that has expired on disk while a write to it is staged may have been renewed
 * in time. It must not look absent now and alive a moment later, so the read waits for that write.
 */
export class Reader {
  readonly #level: Level;
  readonly #clock: AnchoredClock;
  readonly #limits: Limits;
  #groups: GroupCommit | undefined;

  constructor(level: Level, clock: AnchoredClock, limits: Limits) {
    this.#level = level;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Connects the reader with the writes that are staged. */
  attach(groups: GroupCommit): void {
    this.#groups = groups;
  }

  /** What is on disk under a document's key, expired or not. Synchronous: it takes one to two microseconds. */
  readStored(key: Buffer): StoredDocument | undefined {
    const value = this.#level.getSync(key);
    return value === undefined ? undefined : decodeDocument(key, value);
  }

  /** The document as it lives now: at once, unless it must wait for a staged write. */
  readLive(shape: string, id: string): LiveDocument | Promise<LiveDocument> {
    const now = this.#clock.now();
    const document = this.readStored(documentKey(shape, id));
    if (document === undefined || !isExpired(document, now)) return { document, now };
    const group = this.#groups?.staged(documentName(shape, id))?.group;
    if (this.#groups === undefined || group === undefined) return { document: undefined, now };
    return this.#groups.whenDurable(group).then(() => this.readLive(shape, id));
  }

  /** Several documents in one snapshot. */
  async getMany(keys: readonly DocumentKey[]): Promise<(Document | undefined)[]> {
    for (;;) {
      const now = this.#clock.now();
      const snapshot = this.#level.snapshot();
      try {
        let doubtful: Group | undefined;
        let bytes = 0;
        const documents = keys.map(({ shape, id }) => {
          const key = documentKey(shape, id);
          const value = this.#level.getSync<Buffer, Buffer>(key, { snapshot });
          if (value === undefined) return undefined;
          const document = decodeDocument(key, value);
          bytes += value.length;
          if (bytes > this.#limits.getManyBytesMax) {
            throw new TooLargeError(
              "keys",
              `the documents take more than ${this.#limits.getManyBytesMax} bytes together; ask for fewer at once`,
            );
          }
          if (!isExpired(document, now)) return toDocument(shape, id, document, now);
          doubtful = this.#groups?.staged(documentName(shape, id))?.group ?? doubtful;
          return undefined;
        });
        if (doubtful === undefined) return documents;
        await this.#groups?.whenDurable(doubtful);
      } finally {
        await snapshot.close();
      }
    }
  }

  /** One page of a shape's documents. */
  async list(request: CheckedList): Promise<ListPage> {
    const { snapshot, now, durableRevision } = await this.#snapshot(request.shape);
    try {
      const revision = await this.revisionOf(snapshot, durableRevision);
      return { ...(await this.#page(request, snapshot, now)), revision };
    } finally {
      await snapshot.close();
    }
  }

  /** All documents of a shape as they were when the iteration began, in one snapshot. */
  async *scan(shape: string, prefix: string): AsyncGenerator<Document> {
    const { snapshot, now } = await this.#snapshot(shape);
    try {
      let next: string | null | undefined;
      while (next !== null) {
        const limit = this.#limits.listDocumentsMax;
        const request = { shape, prefix, after: next, until: undefined, reverse: false, limit };
        const page: Omit<ListPage, "revision"> = await this.#page(request, snapshot, now);
        yield* page.documents;
        next = page.next;
      }
    } finally {
      await snapshot.close();
    }
  }

  /** A snapshot in which no document of the shape looks expired that was renewed in time. */
  async #snapshot(shape: string): Promise<{ snapshot: LevelSnapshot; now: number; durableRevision: number }> {
    for (;;) {
      const now = this.#clock.now();
      const group = this.#groups?.groupInDoubt(shape, now);
      if (group === undefined) {
        return { snapshot: this.#level.snapshot(), now, durableRevision: this.#groups?.durableRevision ?? 0 };
      }
      await this.#groups?.whenDurable(group);
    }
  }

  /**
   * The newest commit that a snapshot shows: the log is written in the same batch as the documents.
   * @param durableRevision the newest durable commit when the snapshot was taken, which counts while the log is empty
   */
  async revisionOf(snapshot: LevelSnapshot, durableRevision: number): Promise<number> {
    const options = { ...everyLogEntry(), reverse: true, limit: 1, snapshot };
    for await (const key of this.#level.keys<Buffer>(options)) return numberOfKey(key);
    return durableRevision;
  }

  async #page(request: CheckedList, snapshot: LevelSnapshot, now: number): Promise<Omit<ListPage, "revision">> {
    const { shape, prefix, reverse, limit } = request;
    const { start, end } = documentRange(shape, prefix);
    let from = start;
    let to = end;
    // `after` and `until` bound the reading in its direction; forward, the id behind `after` is `after` and a NUL.
    if (request.after !== undefined) {
      const key = documentKey(shape, request.after);
      if (reverse) to = smaller(to, key);
      else from = larger(from, Buffer.concat([key, Buffer.from([0])]));
    }
    if (request.until !== undefined) {
      const key = documentKey(shape, request.until);
      if (reverse) from = larger(from, Buffer.concat([key, Buffer.from([0])]));
      else to = smaller(to, key);
    }
    const documents: Document[] = [];
    let bytes = 0;
    let examined = 0;
    let last: string | undefined;
    const iterator = this.#level.iterator<Buffer, Buffer>({ gte: from, lt: to, reverse, snapshot });
    try {
      for (;;) {
        const entries = await iterator.nextv(Math.min(limit - documents.length + 1, 256));
        if (entries.length === 0) return { documents, next: null };
        for (const [key, value] of entries) {
          if (
            documents.length >= limit ||
            examined >= this.#limits.listExaminedMax ||
            (bytes > 0 && bytes + value.length > this.#limits.listBytesMax)
          ) {
            return { documents, next: last ?? null };
          }
          examined += 1;
          const { id } = parseDocumentKey(key);
          last = id;
          const document = decodeDocument(key, value);
          if (isExpired(document, now)) continue;
          bytes += value.length;
          documents.push(toDocument(shape, id, document, now));
        }
      }
    } finally {
      await iterator.close();
    }
  }
}

function smaller(one: Buffer, other: Buffer): Buffer {
  return Buffer.compare(one, other) < 0 ? one : other;
}

function larger(one: Buffer, other: Buffer): Buffer {
  return Buffer.compare(one, other) > 0 ? one : other;
}
