import type { AnchoredClock } from "../base/clock.js";
import { invariant, OnceKvError, OutcomeUnknownError } from "../base/errors.js";
import { engineLimits } from "../base/limits.js";
import type { StagedChange, StagedCommit } from "./commit.js";
import { commitBytes } from "./commit.js";
import { indexOperations } from "./expiry-index.js";
import { type Dependent, Group, type StagedState } from "./group.js";
import { documentName, logKey } from "./keys.js";
import { type Level, type LevelOperation, writeBatch } from "./level.js";
import { encodeLogEntry, type LogHeader } from "./log-entry.js";
import { putMeta } from "./meta.js";
import { noteBytes, type WriteIds, type WriteNote } from "./write-ids.js";

/**
 * Group commit. Commits are staged in the order of their revisions and gather in a group; while one group is being
 * written and synced, the next one gathers. All commits of a group go to LevelDB in one batch with one sync, together
 * with the log entry, the expiry index and the write ids that belong to them, so that a crash leaves all of it or none.
 *
 *     staged -> gathering group -> one LevelDB batch, one sync -> told to watchers -> callers answered
 *
 * A staged state is what the next write to the same document is judged by, but no reader sees it before it is durable,
 * and no answer that rests on it is given before.
 *
 * Whatever is written while the store is open goes through here, one batch at a time, housekeeping included. LevelDB
 * goes on after an append to its log that failed half way, on a full disk say, and what it writes behind the torn record
 * cannot be read again: no batch may follow one that failed, whatever was in it.
 */

export interface GroupCommitOptions {
  readonly level: Level;
  readonly clock: AnchoredClock;
  /** Whether each group is synced before it counts as written. */
  readonly sync: boolean;
  readonly writeIds: WriteIds;
  /** The newest revision on disk. */
  readonly revision: number;
  /** The running total of the log's size. */
  readonly logBytes: number;
  /** Gives the log's oldest entries that are no longer kept; they go with the group that is about to be written. */
  readonly takeCut: () => readonly Buffer[];
  /** Called for each group once it is durable, before its callers are answered. */
  readonly onDurable: (group: Group, log: LogHeader | undefined, index: readonly LevelOperation[]) => void;
}

/** So many lone commits may begin at once before the event loop gets a turn. */
const loneGroupsBetweenTurns = 64;

export class GroupCommit {
  readonly #level: Level;
  readonly #clock: AnchoredClock;
  readonly #sync: boolean;
  readonly #writeIds: WriteIds;
  readonly #takeCut: GroupCommitOptions["takeCut"];
  readonly #onDurable: GroupCommitOptions["onDurable"];
  /** Groups that are full and wait for their turn, oldest first. */
  readonly #full: Group[] = [];
  #gathering = new Group();
  #writing: Group | undefined;
  #scheduled = false;
  /** So many groups in a row have held one commit, and nothing came while they were written. */
  #loneGroups = 0;
  #assigned: number;
  #durable: number;
  #logBytes: number;
  #stagedBytes = 0;
  #failure: OnceKvError | undefined;
  #whenIdle: (() => void)[] = [];

  constructor(options: GroupCommitOptions) {
    this.#level = options.level;
    this.#clock = options.clock;
    this.#sync = options.sync;
    this.#writeIds = options.writeIds;
    this.#takeCut = options.takeCut;
    this.#onDurable = options.onDurable;
    this.#assigned = options.revision;
    this.#durable = options.revision;
    this.#logBytes = options.logBytes;
  }

  /** The newest durable commit. */
  get durableRevision(): number {
    return this.#durable;
  }

  /** The newest commit, staged ones included. */
  get assignedRevision(): number {
    return this.#assigned;
  }

  get stagedBytes(): number {
    return this.#stagedBytes;
  }

  /** Set once a batch has failed; from then on nothing is written. */
  get failure(): OnceKvError | undefined {
    return this.#failure;
  }

  /** The staged state of a document, if it has one. */
  staged(name: string): StagedState | undefined {
    // Nearly always at most two groups exist, the one that gathers and the one that is being written.
    const found = stagedIn(this.#gathering, name);
    if (found !== undefined || (this.#full.length === 0 && this.#writing === undefined)) return found;
    return this.#newestFirst((group) => stagedIn(group, name));
  }

  /** The note of a write that is staged under this write id, and the group that will make it durable. */
  stagedNote(id: string): { readonly note: WriteNote; readonly group: Group } | undefined {
    return this.#newestFirst((group) => {
      const note = group.notes.get(id);
      return note === undefined ? undefined : { note, group };
    });
  }

  #newestFirst<Found>(look: (group: Group) => Found | undefined): Found | undefined {
    let found = look(this.#gathering);
    for (let index = this.#full.length - 1; found === undefined && index >= 0; index--) {
      found = look(this.#full[index] as Group);
    }
    return found ?? (this.#writing === undefined ? undefined : look(this.#writing));
  }

  /** The newest group that holds or will hold a commit; undefined when nothing is staged. */
  get newestGroup(): Group | undefined {
    return this.#gathering.isEmpty ? (this.#full.at(-1) ?? this.#writing) : this.#gathering;
  }

  /**
   * The newest group in which a document of `shape` that has expired on disk may be getting a new life: a snapshot taken
   * now would show it as absent, although a renewal was accepted in time.
   */
  groupInDoubt(shape: string, now: number): Group | undefined {
    const prefix = documentName(shape, "");
    return this.#newestFirst((group) => {
      for (const [name, { replacedDeadline }] of group.changes) {
        if (replacedDeadline !== 0 && replacedDeadline <= now && name.startsWith(prefix)) return group;
      }
      return undefined;
    });
  }

  /** Throws when a write of this size cannot be taken now. */
  checkRoom(bytes: number): void {
    this.#checkAlive();
    if (this.#stagedBytes > 0 && this.#stagedBytes + bytes > engineLimits.stagedBytesMax) {
      throw new OnceKvError(
        "overloaded",
        `more than ${engineLimits.stagedBytesMax} bytes of writes wait for the disk; try again after a moment`,
        { retryAfter: 1 },
      );
    }
  }

  /** What is staged after a failure would never be written, and whoever waits for it would wait for ever. */
  #checkAlive(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** The revision that the next staged commit must have. */
  get nextRevision(): number {
    return this.#assigned + 1;
  }

  /** Stages a commit; `dependent` is answered when it is durable or lost. */
  stage(revision: number, changes: readonly StagedChange[], dependent: Dependent, note?: WriteNote): void {
    this.#checkAlive();
    invariant(revision === this.#assigned + 1, "commits are staged in the order of their revisions");
    this.#assigned = revision;
    const group = this.#gathering;
    this.#count(group, commitBytes(changes));
    group.commits.push({ revision, changes });
    group.dependents.push(dependent);
    if (note !== undefined) this.#addNote(group, note);
    for (const change of changes) group.changes.set(change.name, change);
    this.#closeIfFull();
    this.#schedule({ atOnce: true });
  }

  /** Has a write noted that changes nothing, with the next group. */
  stageNote(note: WriteNote, dependent: Dependent): void {
    this.#checkAlive();
    const group = this.#gathering;
    this.#addNote(group, note);
    group.dependents.push(dependent);
    this.#closeIfFull();
    this.#schedule();
  }

  /** Takes entries out of the expiry index, with the next group. */
  dropExpiryEntries(entries: readonly Buffer[], dependent: Dependent): void {
    this.#checkAlive();
    this.#gathering.sweptEntries.push(...entries);
    this.#gathering.dependents.push(dependent);
    this.#schedule();
  }

  /** Has the store's now persisted, with the next group. */
  markClock(): void {
    if (this.#failure !== undefined) return;
    this.#gathering.marksClock = true;
    this.#schedule();
  }

  /** Resolves when `group` is durable; rejects when its writes are lost. */
  whenDurable(group: Group): Promise<void> {
    return new Promise((resolve, reject) => {
      group.dependents.push({ durable: () => resolve(), failed: reject });
    });
  }

  /** Resolves when nothing is staged any more. */
  whenIdle(): Promise<void> {
    if (this.#writing === undefined && !this.#hasWork) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #addNote(group: Group, note: WriteNote): void {
    group.notes.set(note.id, note);
    this.#count(group, noteBytes(note));
  }

  #count(group: Group, bytes: number): void {
    group.bytes += bytes;
    this.#stagedBytes += bytes;
  }

  #closeIfFull(): void {
    if (!this.#gathering.isFull) return;
    this.#full.push(this.#gathering);
    this.#gathering = new Group();
  }

  /**
   * Begins in `setImmediate`: all requests that were read in this turn of the event loop, and all callers that were just
   * answered and write again, share the sync.
   *
   * A commit begins at once when the one before it was alone: most likely it is alone, too. And when many callers fight
   * for one document, so that one of them wins and the rest are refused, the winner's sync goes on while the event loop
   * is busy with the others. Now and then it waits for the next turn all the same: where a write takes no time, as in
   * memory, a caller in a tight loop would never let the event loop go on.
   */
  #schedule({ atOnce = false }: { readonly atOnce?: boolean } = {}): void {
    if (this.#writing !== undefined || this.#failure !== undefined) return;
    if (atOnce && this.#loneGroups % loneGroupsBetweenTurns !== 0) {
      void this.#writeNext();
      return;
    }
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#writing === undefined && this.#hasWork) void this.#writeNext();
    });
  }

  get #hasWork(): boolean {
    return this.#full.length > 0 || !this.#gathering.isEmpty;
  }

  async #writeNext(): Promise<void> {
    let group = this.#full.shift();
    if (group === undefined) {
      group = this.#gathering;
      this.#gathering = new Group();
    }
    this.#writing = group;
    const last = group.commits.at(-1)?.revision;
    const now = this.#clock.now();
    const notes = [...group.notes.values()];
    const noteNumber = this.#writeIds.nextNumber;
    try {
      const operations = documentOperations(group.commits);
      for (const key of group.sweptEntries) operations.push({ type: "del", key });
      let header: LogHeader | undefined;
      let index: LevelOperation[] = [];
      if (last !== undefined) {
        const key = logKey(last);
        const about = { previous: this.#durable, time: now, totalBytesBefore: this.#logBytes };
        const entry = encodeLogEntry(key, group.commits, about);
        header = entry.header;
        index = indexOperations(group.commits, last);
        operations.push({ type: "put", key, value: entry.value }, ...index);
        // Only with commits, which are synced: a deletion that is lost while a later one is kept would leave a gap.
        for (const cut of this.#takeCut()) operations.push({ type: "del", key: cut });
      } else if (group.marksClock) {
        operations.push(putMeta("clock", now));
      }
      operations.push(...this.#writeIds.operations(notes, noteNumber, now));
      // Dropping entries of the expiry index needs no sync: a stale mention is harmless.
      const needsSync = group.commits.length + notes.length > 0 || group.marksClock;
      await writeBatch(this.#level, operations, { sync: this.#sync && needsSync });
      this.#durable = last ?? this.#durable;
      this.#logBytes = header?.totalBytes ?? this.#logBytes;
      this.#stagedBytes -= group.bytes;
      this.#writing = undefined;
      if (notes.length > 0) {
        this.#writeIds.remember(
          noteNumber,
          now,
          notes.map((note) => note.id),
        );
      }
      this.#onDurable(group, header, index);
    } catch (error) {
      this.#fail(group, error);
      return;
    }
    this.#loneGroups = group.commits.length === 1 && !this.#hasWork ? this.#loneGroups + 1 : 0;
    for (const dependent of group.everyDependent()) dependent.durable(this.#clock);
    if (this.#hasWork) this.#schedule();
    else this.#becomeIdle();
  }

  /**
   * A failed batch may be on disk or not, and a failed sync is never tried again: the operating system may have thrown
   * the dirty pages away and would call the second try a success. So this is the end of writing until the store is
   * opened again and LevelDB says what survived.
   */
  #fail(group: Group, cause: unknown): void {
    this.#failure = new OnceKvError(
      "store_failed",
      "an earlier write to disk failed; nothing is written until the store is opened again",
      { cause },
    );
    this.#writing = undefined;
    const later = [...this.#full.splice(0), this.#gathering];
    this.#gathering = new Group();
    this.#stagedBytes = 0;
    const unknown = new OutcomeUnknownError("the disk failed during this write; it may have been applied or not", {
      cause,
    });
    for (const dependent of group.everyDependent()) dependent.failed(unknown);
    for (const one of later) {
      for (const dependent of one.everyDependent()) dependent.failed(this.#failure);
    }
    this.#becomeIdle();
  }

  #becomeIdle(): void {
    const waiting = this.#whenIdle;
    this.#whenIdle = [];
    for (const resolve of waiting) resolve();
  }
}

function stagedIn(group: Group, name: string): StagedState | undefined {
  const change = group.changes.get(name);
  if (change === undefined) return undefined;
  return { document: change.document, group, replacedDeadline: change.replacedDeadline };
}

/** What commits do to the documents themselves. */
function documentOperations(commits: readonly StagedCommit[]): LevelOperation[] {
  const operations: LevelOperation[] = [];
  for (const commit of commits) {
    for (const { key, document } of commit.changes) {
      if (document === undefined) operations.push({ type: "del", key });
      else operations.push({ type: "put", key, value: document.value });
    }
  }
  return operations;
}
