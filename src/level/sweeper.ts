import type { AnchoredClock, Clock } from "../base/clock.js";
import { engineLimits } from "../base/limits.js";
import { earlierDeadline, type StagedChange } from "./commit.js";
import { isExpired, lifetimeOf, type StoredDocument } from "./document-codec.js";
import { decodeExpiryEntry, type ExpiryMention } from "./expiry-index.js";
import type { GroupCommit } from "./group-commit.js";
import { documentName, everyExpiryEntry, expiryRange, parseDocumentKey, parseExpiryKey } from "./keys.js";
import type { Level, LevelOperation } from "./level.js";
import type { Reader } from "./reader.js";

/** What one step of the sweeper has read. */
interface Step {
  /** The entries whose documents are dealt with, to be dropped. */
  readonly entries: readonly Buffer[];
  readonly mentions: readonly ExpiryMention[];
  /** The last key that was read; undefined: nothing is due. */
  readonly end: Buffer | undefined;
  /** Whether nothing more is due. */
  readonly last: boolean;
}

/**
 * Takes expired documents off the disk. Nothing depends on it for being right: a document is absent from its deadline
 * on, swept or not. The sweeper only gives back the space and tells watchers of the expiry, at the latest about a tenth
 * of a second after the deadline while it keeps up.
 *
 * It walks the expiry index from where it stopped (walking from the front again would wade through the tombstones of
 * all it has deleted), in steps of a bounded number of documents that go through the same staging as every write.
 */
export class Sweeper {
  readonly #level: Level;
  readonly #timers: Clock;
  readonly #clock: AnchoredClock;
  readonly #reader: Reader;
  readonly #groups: GroupCommit;
  /** Entries before this key are done with. */
  #position: Buffer = everyExpiryEntry().gte;
  /** The first entry that became durable since the step under way began; the step has not seen it. */
  #arrived: Buffer | undefined;
  /** When the next entry is due; Infinity: the index is empty. */
  #nextDue = Number.POSITIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;
  #timerDue = Number.POSITIVE_INFINITY;
  #sweeping: Promise<number> | undefined;
  #closed = false;
  readonly #automatic: boolean;

  /** @param automatic false: nothing is swept but by calls of `sweep` */
  constructor(
    level: Level,
    timers: Clock,
    clock: AnchoredClock,
    reader: Reader,
    groups: GroupCommit,
    automatic: boolean,
  ) {
    this.#level = level;
    this.#timers = timers;
    this.#clock = clock;
    this.#reader = reader;
    this.#groups = groups;
    this.#automatic = automatic;
  }

  /** Whether any deadline lies ahead or behind. */
  get hasDeadlines(): boolean {
    return this.#nextDue !== Number.POSITIVE_INFINITY;
  }

  /** Looks up when the first entry is due. */
  async start(): Promise<void> {
    await this.#findNextDue();
    this.#arm();
  }

  /** Takes note of index entries that have just become durable. */
  noteDurable(index: readonly LevelOperation[]): void {
    for (const { type, key } of index) {
      if (type !== "put") continue;
      const { instant } = parseExpiryKey(key);
      if (instant < this.#nextDue) this.#nextDue = instant;
      // A step may have passed this place between the staging of the document and now, or be about to.
      if (Buffer.compare(key, this.#position) < 0) this.#position = key;
      if (this.#arrived === undefined || Buffer.compare(key, this.#arrived) < 0) this.#arrived = key;
    }
    this.#arm();
  }

  /** Sweeps until nothing is due any more; resolves with the number of documents that went. */
  sweep(): Promise<number> {
    // A sweep under way may have asked for the time before now, so this call has a pass of its own behind it.
    const before = this.#sweeping ?? Promise.resolve(0);
    const pass = before
      .catch(() => 0)
      .then(() => this.#sweepAll())
      .finally(() => {
        if (this.#sweeping !== pass) return;
        this.#sweeping = undefined;
        this.#arm();
      });
    this.#sweeping = pass;
    return pass;
  }

  /** Stops; a step under way is finished. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer?.();
    await this.#sweeping?.catch(() => {});
  }

  #arm(): void {
    if (!this.#automatic || this.#closed || this.#sweeping !== undefined || this.#nextDue >= this.#timerDue) return;
    this.#cancelTimer?.();
    this.#timerDue = this.#nextDue;
    this.#cancelTimer = this.#timers.setTimer(this.#nextDue - this.#clock.now(), () => {
      this.#timerDue = Number.POSITIVE_INFINITY;
      this.#cancelTimer = undefined;
      // A failed step leaves its entries in the index, and the store refuses writes from then on.
      this.sweep().catch(() => {
        this.#nextDue = Number.POSITIVE_INFINITY;
      });
    });
  }

  async #sweepAll(): Promise<number> {
    let swept = 0;
    let done = false;
    while (!done && !this.#closed) {
      const step = await this.#readStep();
      done = step.last;
      if (step.end !== undefined) swept += await this.#sweepStep(step);
    }
    if (!this.#closed) await this.#findNextDue();
    return swept;
  }

  /** The next entries that are due, with at most about `sweepDocumentsMax` documents. */
  async #readStep(): Promise<Step> {
    const entries: Buffer[] = [];
    const mentions: ExpiryMention[] = [];
    let end: Buffer | undefined;
    let count = 0;
    this.#arrived = undefined;
    const range = { gte: this.#position, lt: expiryRange(this.#clock.now()).lt };
    if (Buffer.compare(range.gte, range.lt) >= 0) return { entries, mentions, end, last: true };
    const iterator = this.#level.iterator<Buffer, Buffer>({ ...range, limit: engineLimits.sweepDocumentsMax });
    for await (const [key, value] of iterator) {
      end = key;
      count += 1;
      try {
        mentions.push(...decodeExpiryEntry(key, value));
        entries.push(key);
      } catch {
        // A damaged entry stays for `verify` to find; what comes behind it is swept all the same.
      }
      if (mentions.length >= engineLimits.sweepDocumentsMax) return { entries, mentions, end, last: false };
    }
    return { entries, mentions, end, last: count < engineLimits.sweepDocumentsMax };
  }

  /** Deletes what the mentions rightly call expired, in one commit, and drops the entries. */
  async #sweepStep({ entries, mentions, end }: Step): Promise<number> {
    const now = this.#clock.now();
    const changes: StagedChange[] = [];
    for (const { key, revision } of mentions) {
      const { shape, id } = parseDocumentKey(key);
      const name = documentName(shape, id);
      const staged = this.#groups.staged(name);
      const document: StoredDocument | undefined =
        staged === undefined ? this.#reader.readStored(key) : staged.document;
      if (document === undefined || document.revision !== revision || !isExpired(document, now)) continue;
      // The mention lives in a larger value that would stay in memory with it.
      changes.push({
        type: "expire",
        key: Buffer.from(key),
        name,
        shape,
        id,
        document: undefined,
        previous: lifetimeOf(document),
        replacedDeadline: earlierDeadline(staged?.replacedDeadline ?? 0, document.expiresAt),
      });
    }
    if (entries.length > 0) {
      await new Promise<void>((resolve, reject) => {
        const dependent = { durable: () => resolve(), failed: reject };
        // Both in one group: staging a commit may close it at once.
        this.#groups.dropExpiryEntries(entries, dependent);
        if (changes.length > 0) this.#groups.stage(this.#groups.nextRevision, changes, { durable() {}, failed() {} });
      });
    }
    this.#advance(end);
    return changes.length;
  }

  /** Moves behind the entries of a step, once they are gone, but not past one that came meanwhile. */
  #advance(end: Buffer | undefined): void {
    if (end === undefined) return;
    const behind = Buffer.concat([end, Buffer.from([0])]);
    const arrived = this.#arrived;
    this.#position = arrived !== undefined && Buffer.compare(arrived, behind) < 0 ? arrived : behind;
  }

  async #findNextDue(): Promise<void> {
    const range = { gte: this.#position, lt: everyExpiryEntry().lt, limit: 1 };
    this.#nextDue = Number.POSITIVE_INFINITY;
    let due = Number.POSITIVE_INFINITY;
    for await (const key of this.#level.keys<Buffer>(range)) due = parseExpiryKey(key).instant;
    // A commit may have brought an earlier one while the index was read.
    this.#nextDue = Math.min(this.#nextDue, due);
  }
}
