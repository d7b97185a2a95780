import type { AnchoredClock, Clock } from "../base/clock.js";
import { earlierDeadline, type StagedChange } from "./commit.js";
import { isExpired, lifetimeOf } from "./document-codec.js";
import type { Group } from "./group.js";
import type { GroupCommit } from "./group-commit.js";
import { everyExpiryEntry, parseExpiryKey } from "./keys.js";
import type { Level, LevelOperation } from "./level.js";
import type { Reader } from "./reader.js";
import { type DueDocument, type DueState, readSweepStep, type SweepStep } from "./sweep-step.js";

/** Milliseconds of a rest, however long the step before it took. */
const restMsMax = 100;

/** What a step takes off the disk. */
interface Removal {
  readonly changes: readonly StagedChange[];
  /** Entries of the expiry index whose documents are dealt with. */
  readonly dropped: readonly Buffer[];
}

/**
 * Takes expired documents off the disk. Nothing depends on it for being right: a document is absent from its deadline
 * on, swept or not. The sweeper only gives back the space and tells watchers of the expiry, at the latest about a tenth
 * of a second after the deadline while it keeps up.
 *
 * It walks the expiry index from where it stopped (walking from the front again would wade through the tombstones of
 * all it has deleted), in steps of a bounded number of documents that go through the same staging as every write. While
 * one step is on its way to the disk the next one is read. Sweeping can wait, writers cannot: beside them, a step is
 * followed by a rest as long as it took.
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
  /** The documents whose writes became durable since the step under way began; undefined: none is. */
  #writtenMeanwhile: Set<string> | undefined;
  /** When the next entry is due; Infinity: the index is empty. */
  #nextDue = Number.POSITIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;
  #timerDue = Number.POSITIVE_INFINITY;
  #sweeping: Promise<number> | undefined;
  /** Calls of `sweep` that have not been answered. */
  #awaited = 0;
  #endRest: () => void = () => {};
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

  /** Takes note of a group that has just become durable, with the entries of the index in it. */
  noteDurable(group: Group, index: readonly LevelOperation[]): void {
    if (this.#writtenMeanwhile !== undefined) {
      for (const name of group.changes.keys()) this.#writtenMeanwhile.add(name);
    }
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

  /** Sweeps until nothing is due any more, without a rest; resolves with the number of documents that went. */
  sweep(): Promise<number> {
    this.#awaited += 1;
    this.#endRest();
    return this.#pass().finally(() => {
      this.#awaited -= 1;
    });
  }

  #pass(): Promise<number> {
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
    this.#endRest();
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
      this.#pass().catch(() => {
        this.#nextDue = Number.POSITIVE_INFINITY;
      });
    });
  }

  async #sweepAll(): Promise<number> {
    let swept = 0;
    let written: Promise<void> = Promise.resolve();
    try {
      let done = false;
      while (!done && !this.#closed) {
        this.#arrived = undefined;
        this.#writtenMeanwhile = new Set();
        const begun = this.#timers.monotonicNow();
        const revision = this.#groups.assignedRevision;
        const step = await readSweepStep(this.#level, this.#position, this.#clock.now());
        done = step.last;
        // One step at a time waits for the disk.
        await written;
        const tookMs = this.#timers.monotonicNow() - begun;
        const othersWrite = this.#groups.assignedRevision !== revision;
        const removal = this.#judge(step);
        swept += removal.changes.length;
        written = this.#stage(removal);
        // Whoever awaits it hears of a failure; until then it is nobody's unhandled rejection.
        written.catch(() => {});
        this.#advance(step.end);
        if (othersWrite && !done && this.#awaited === 0) await this.#rest(tookMs);
      }
      await written;
    } catch (error) {
      // What did not go is still there: no later sweep may take it for done.
      this.#position = everyExpiryEntry().gte;
      throw error;
    } finally {
      this.#writtenMeanwhile = undefined;
    }
    if (!this.#closed) await this.#findNextDue();
    return swept;
  }

  /** Leaves the processor to those who write: half of the time, as long as somebody does. */
  async #rest(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#timers.setTimer(Math.min(ms, restMsMax), resolve);
      this.#endRest = () => {
        cancel();
        resolve();
      };
    });
  }

  /** Finds out what a step rightly calls expired. */
  #judge({ entries }: SweepStep): Removal {
    const now = this.#clock.now();
    const changes: StagedChange[] = [];
    const dropped: Buffer[] = [];
    for (const { key: entry, documents, isWhole } of entries) {
      const before = changes.length;
      for (const due of documents) {
        const { key, name, shape, id } = due;
        const staged = this.#groups.staged(name);
        const state = staged === undefined ? this.#stateOnDisk(due) : staged.document;
        if (state === undefined || state.revision !== due.revision || !isExpired(state, now)) continue;
        const replacedDeadline = earlierDeadline(staged?.replacedDeadline ?? 0, state.expiresAt);
        const previous = lifetimeOf(state);
        changes.push({ type: "expire", key, name, shape, id, document: undefined, previous, replacedDeadline });
      }
      // An entry of its own goes with its document, as with every write.
      const goesByItself = changes.length > before && parseExpiryKey(entry).document !== undefined;
      if (isWhole && !goesByItself) dropped.push(entry);
    }
    return { changes, dropped };
  }

  /** As it was read with the step, unless a write has overtaken that. */
  #stateOnDisk({ key, name, found }: DueDocument): DueState | undefined {
    return this.#writtenMeanwhile?.has(name) === true ? this.#reader.readStored(key) : found;
  }

  /** Puts what goes into one commit. Resolves when that is durable. */
  async #stage({ changes, dropped }: Removal): Promise<void> {
    if (dropped.length === 0 && changes.length === 0) return;
    await new Promise<void>((resolve, reject) => {
      const dependent = { durable: () => resolve(), failed: reject };
      // Both in one group: staging a commit may close it at once.
      this.#groups.dropExpiryEntries(dropped, dependent);
      if (changes.length > 0) this.#groups.stage(this.#groups.nextRevision, changes, { durable() {}, failed() {} });
    });
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
