import type { AnchoredClock } from "../base/clock.js";
import type { OnceKvError } from "../base/errors.js";
import { engineLimits } from "../base/limits.js";
import type { StagedChange, StagedCommit } from "./commit.js";
import type { StoredDocument } from "./document-codec.js";
import type { WriteNote } from "./write-ids.js";

/** Somebody who is answered when a group is durable, or has failed. */
export interface Dependent {
  /** @param clock tells the store's now, for an answer that names it */
  durable(clock: AnchoredClock): void;
  failed(error: OnceKvError): void;
}

/** Commits that go to disk together. */
export class Group {
  readonly commits: StagedCommit[] = [];
  /** The notes of its write ids, by the id's hash. */
  readonly notes: Map<string, WriteNote> = new Map();
  /** Entries of the expiry index that the sweeper is done with. */
  readonly sweptEntries: Buffer[] = [];
  /** Whether the store's now is to be persisted, although nothing else may be. */
  marksClock = false;
  readonly dependents: Dependent[] = [];
  /** Writes that were refused because of a state in this group. They are told first. */
  readonly refused: Dependent[] = [];
  /**
   * The documents' newest changes in this group, by name. Each group has a map of its own that goes as a whole: one map
   * for all, with entries coming and going, rebuilds itself all the time and keeps the garbage collector busy.
   */
  readonly changes: Map<string, StagedChange> = new Map();
  bytes = 0;

  /** Everybody who is told how it ended, in order: who lost before who won, so that the next turn is not the winner's again. */
  *everyDependent(): Generator<Dependent> {
    yield* this.refused;
    yield* this.dependents;
  }

  get isEmpty(): boolean {
    return this.commits.length === 0 && this.notes.size === 0 && this.sweptEntries.length === 0 && !this.marksClock;
  }

  get isFull(): boolean {
    const { groupCommitsMax, groupBytesMax } = engineLimits;
    return this.commits.length >= groupCommitsMax || this.notes.size >= groupCommitsMax || this.bytes >= groupBytesMax;
  }
}

/** The newest state of a document that is not on disk yet. */
export interface StagedState {
  /** undefined: the document is being removed. */
  readonly document: StoredDocument | undefined;
  /** What will make it durable. */
  readonly group: Group;
  /** As of the change that made it. */
  readonly replacedDeadline: number;
}
