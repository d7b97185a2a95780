import type { AnchoredClock } from "../base/clock.js";
import { OnceKvError } from "../base/errors.js";
import type { LoggedCommit } from "./commit.js";
import { everyLogEntry, logKey, numberOfKey } from "./keys.js";
import { type Level, writeBatch } from "./level.js";
import { decodeLogCommits, type LogHeader, previousOf } from "./log-entry.js";
import { damaged } from "./sealed.js";

/** How much of the past a store keeps for `watch` to resume from; whichever bound is met first. */
export interface HistoryOptions {
  /** Seconds; 3,600 when absent. */
  readonly maxAgeSeconds?: number;
  /** Bytes of log entries; 256 MiB when absent. */
  readonly maxBytes?: number;
}

/** A place in the log up to which it may be cut. */
interface Mark {
  readonly last: number;
  readonly time: number;
  readonly totalBytes: number;
}

/** Entries that leave the log with one group of commits: few enough that the group does not wait for them. */
const cutEntriesMax = 256;

/** The log, as the past: reading it from a revision on, and cutting off what is older than its bounds. */
export class History {
  readonly #level: Level;
  readonly #clock: AnchoredClock;
  readonly #maxAgeMs: number;
  readonly #maxBytes: number;
  /** Places where the log may be cut, oldest first, about a sixty-fourth of a bound apart. */
  readonly #marks: Mark[] = [];
  #floor: number;
  #newest: Mark;
  /** The newest entry that has been given to a group to take off the disk. */
  #cutKey: Buffer = everyLogEntry().gte;
  /** The next entries to go, oldest first. */
  #cut: readonly Buffer[] = [];
  #readingCut: Promise<void> | undefined;

  /** @param state the revision after which every change is kept, and the newest entry */
  constructor(
    level: Level,
    clock: AnchoredClock,
    options: HistoryOptions,
    state: { readonly floor: number; readonly newest: Mark },
  ) {
    this.#level = level;
    this.#clock = clock;
    this.#maxAgeMs = (options.maxAgeSeconds ?? 3600) * 1000;
    this.#maxBytes = options.maxBytes ?? 256 * 1024 * 1024;
    this.#floor = state.floor;
    this.#newest = state.newest;
    if (state.newest.last > state.floor) this.#marks.push(state.newest);
  }

  /** History holds every change after this revision. */
  get floor(): number {
    return this.#floor;
  }

  /** Throws `revision_compacted` when a reader that has seen `revision` has missed changes that are gone. */
  checkReaches(revision: number): void {
    if (revision >= this.#floor) return;
    throw new OnceKvError(
      "revision_compacted",
      `changes up to revision ${this.#floor} are no longer kept, and revision ${revision} lies before; ` +
        "list the documents again and watch from the list's revision",
    );
  }

  /** Commits after `since` and up to `until`: those of the next groups, until they have about `bytesMax` bytes. */
  async read(since: number, until: number, bytesMax: number): Promise<LoggedCommit[]> {
    this.checkReaches(since);
    const commits: LoggedCommit[] = [];
    let bytes = 0;
    // By bytes and not by entries, and no further ahead: a group may hold batches of several megabytes.
    const range = { gt: logKey(since), lte: logKey(until), highWaterMarkBytes: bytesMax };
    let seen = since;
    for await (const [key, value] of this.#level.iterator(range)) {
      commits.push(...decodeLogCommits(key, value, since));
      // A damaged table can hide an entry; whoever watches must not pass it by.
      const previous = previousOf(value);
      if (previous > seen) {
        this.checkReaches(since);
        throw damaged(`the log has a gap between revisions ${seen} and ${previous + 1}`);
      }
      seen = numberOfKey(key);
      bytes += value.length;
      if (bytes >= bytesMax) break;
    }
    // The log may have been cut while it was read.
    this.checkReaches(since);
    return commits;
  }

  /** Takes note of a group that became durable, and cuts the log where it is over a bound. */
  noteDurable(header: LogHeader): void {
    this.#newest = header;
    const mark = this.#marks.at(-1);
    if (
      mark === undefined ||
      header.totalBytes - mark.totalBytes > this.#maxBytes / 64 ||
      header.time - mark.time > this.#maxAgeMs / 64
    ) {
      this.#marks.push({ last: header.last, time: header.time, totalBytes: header.totalBytes });
    }
    this.#trim();
  }

  /**
   * The oldest entries on disk that are no longer kept, for the group that is about to be written: it takes them off the
   * disk, from the front, so that a crash half way leaves a log without a gap.
   */
  takeCut(): readonly Buffer[] {
    const cut = this.#cut;
    this.#cut = [];
    this.#cutKey = cut.at(-1) ?? this.#cutKey;
    return cut;
  }

  /** Cuts the log where it is over a bound. The newest entry always stays: it carries the counter and the clock. */
  #trim(): void {
    const now = this.#clock.now();
    let cut: Mark | undefined;
    for (const mark of this.#marks) {
      const tooOld = mark.time + this.#maxAgeMs <= now;
      const tooLarge = this.#newest.totalBytes - mark.totalBytes > this.#maxBytes;
      if ((!tooOld && !tooLarge) || mark.last >= this.#newest.last) break;
      cut = mark;
    }
    if (cut !== undefined) {
      while (this.#marks[0] !== undefined && this.#marks[0].last <= cut.last) this.#marks.shift();
      this.#floor = cut.last;
    }
    this.#readCut();
  }

  /** Reads which entries go next, off the event loop; the next group takes them. */
  #readCut(): void {
    if (this.#readingCut !== undefined || this.#cut.length > 0) return;
    const range = { gt: this.#cutKey, lte: logKey(this.#floor), limit: cutEntriesMax };
    if (Buffer.compare(range.gt, range.lte) >= 0) return;
    this.#readingCut = this.#level
      .keys<Buffer>(range)
      .all()
      .then(
        (keys) => {
          this.#cut = keys;
          if (keys.length === 0) this.#cutKey = range.lte;
        },
        () => {}, // They are looked for again after the next group.
      )
      .finally(() => {
        this.#readingCut = undefined;
      });
  }

  /** Waits for a read that is under way. */
  async close(): Promise<void> {
    await this.#readingCut;
  }

  /** Takes off the disk what is still to be cut, when no group will come any more to take it along. */
  async finishCut(): Promise<void> {
    for (;;) {
      this.#readCut();
      await this.#readingCut;
      const cut = this.takeCut();
      if (cut.length === 0) return;
      const operations = cut.map((key) => ({ type: "del" as const, key }));
      await writeBatch(this.#level, operations, { sync: true });
    }
  }
}
