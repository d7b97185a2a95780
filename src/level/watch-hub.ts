import { onAbort } from "../base/abort-signal.js";
import type { AnchoredClock, Clock } from "../base/clock.js";
import { OnceKvError, StoreClosedError } from "../base/errors.js";
import { engineLimits } from "../base/limits.js";
import type { Change, Commit } from "../documents/contract.js";
import type { CheckedWatch } from "../documents/requests-read.js";
import type { LoggedChange, LoggedCommit, StagedCommit } from "./commit.js";
import { toLogged } from "./commit.js";
import { decodeDocument, toDocument } from "./document-codec.js";
import type { GroupCommit } from "./group-commit.js";
import type { History } from "./history.js";
import { fromLevel } from "./level-errors.js";

interface HubOptions {
  readonly timers: Clock;
  readonly clock: AnchoredClock;
  readonly history: History;
  readonly groups: GroupCommit;
  /** Seconds without a yield after which a watcher is told how far it has come. */
  readonly bookmarkSeconds: number;
}

/**
 * Tells watchers of commits. A watcher that keeps up gets them from memory; one that falls behind its bounded buffer
 * loses the buffer and continues from the log on disk, and when the log no longer reaches back to where it stands it
 * ends with `revision_compacted`. So a slow watcher costs a bounded amount of memory, slows no writer, and is never
 * silently thinned.
 */
export class WatchHub {
  readonly #options: HubOptions;
  readonly #watchers = new Set<Watcher>();

  constructor(options: HubOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#watchers.size;
  }

  /** Begins a watch; it stands in the hub until it is returned, aborted or closed. */
  watch(request: CheckedWatch): Watcher {
    const watcher = new Watcher(request, this.#options, (ended) => this.#watchers.delete(ended));
    if (!watcher.hasEnded) this.#watchers.add(watcher);
    return watcher;
  }

  /** Tells all watchers of commits that have just become durable. */
  publish(commits: readonly StagedCommit[]): void {
    if (this.#watchers.size === 0) return;
    const logged = commits.map(toLogged);
    for (const watcher of this.#watchers) watcher.offer(logged);
  }

  /** Ends all watchers with `store_closed`. */
  close(): void {
    for (const watcher of [...this.#watchers]) watcher.end(new StoreClosedError());
  }
}

/** One watch: an iterator over commits. */
export class Watcher implements AsyncIterableIterator<Commit> {
  readonly #request: CheckedWatch;
  readonly #options: HubOptions;
  readonly #leave: (watcher: Watcher) => void;
  /** All commits up to here have been looked at. */
  #position: number;
  /** The position that the consumer knows. */
  #told: number;
  #buffer: LoggedCommit[] = [];
  #bufferBytes = 0;
  /** Whether the buffer holds everything after the position; otherwise the log must be read. */
  #live: boolean;
  #ended: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #stopListening: () => void = () => {};

  constructor(request: CheckedWatch, options: HubOptions, leave: (watcher: Watcher) => void) {
    this.#request = request;
    this.#options = options;
    this.#leave = leave;
    const { groups, history } = options;
    const since = request.since ?? groups.durableRevision;
    this.#position = since;
    this.#told = since;
    this.#live = since >= groups.durableRevision;
    this.#stopListening = onAbort(request.signal, () => this.end(request.signal?.reason));
    if (this.hasEnded) return;
    if (since > groups.assignedRevision) {
      this.end(
        new OnceKvError(
          "revision_unknown",
          `since is ${since}, but the newest revision of this store is ${groups.durableRevision}`,
          { path: "since" },
        ),
      );
    } else {
      try {
        history.checkReaches(since);
      } catch (error) {
        this.end(error);
      }
    }
  }

  /** Whether nothing more will come. */
  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Calls take their turns, so that two of them never get the same commit. */
  next(): Promise<IteratorResult<Commit, undefined>> {
    const result = this.#turn.then(() => this.#next());
    this.#turn = result.catch(() => {});
    return result;
  }

  /** Ends the watch; a `next` that waits resolves as done. */
  return(): Promise<IteratorResult<Commit, undefined>> {
    this.end(undefined);
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends the watch: with an error that the next `next` throws, or quietly when it is undefined. */
  end(error: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = { error };
    this.#buffer = [];
    this.#stopListening();
    this.#leave(this);
    this.#wake?.();
  }

  /** Takes commits that have just become durable. */
  offer(commits: readonly LoggedCommit[]): void {
    if (this.#ended !== undefined) return;
    if (this.#live) {
      for (const commit of commits) {
        if (!this.#buffered(commit)) break;
      }
    }
    // Commits that are not for this watcher leave it asleep, and its bookmark timer running.
    if (this.#buffer.length > 0 || !this.#live) this.#wake?.();
  }

  /** False when the buffer was full and has been given up. */
  #buffered(commit: LoggedCommit): boolean {
    if (commit.revision <= this.#position) return true;
    const filtered = this.#filter(commit);
    if (filtered === undefined) {
      if (this.#buffer.length === 0) this.#position = commit.revision;
      return true;
    }
    this.#buffer.push(filtered);
    for (const change of filtered.changes) this.#bufferBytes += 128 + (change.value?.length ?? 0);
    if (
      this.#buffer.length <= engineLimits.watchBufferCommitsMax &&
      this.#bufferBytes <= engineLimits.watchBufferBytesMax
    ) {
      return true;
    }
    this.#buffer = [];
    this.#bufferBytes = 0;
    this.#live = false;
    return false;
  }

  async #next(): Promise<IteratorResult<Commit, undefined>> {
    let bookmarkDue = false;
    for (;;) {
      if (this.#ended !== undefined) {
        const { error } = this.#ended;
        if (error === undefined) return { done: true, value: undefined };
        this.#ended = { error: undefined };
        throw error;
      }
      const commit = this.#buffer.shift();
      if (commit !== undefined) {
        if (this.#buffer.length === 0) this.#bufferBytes = 0;
        this.#position = commit.revision;
        this.#told = commit.revision;
        return { done: false, value: this.#present(commit) };
      }
      if (!this.#live) {
        await this.#readHistory();
        continue;
      }
      if (bookmarkDue && this.#position > this.#told) {
        this.#told = this.#position;
        return { done: false, value: { revision: this.#position, changes: [] } };
      }
      bookmarkDue = await this.#wait();
    }
  }

  /** Fills the buffer from the log; the watcher is live again once it has caught up. */
  async #readHistory(): Promise<void> {
    const { groups, history } = this.#options;
    const until = groups.durableRevision;
    if (this.#position >= until) {
      this.#live = true;
      return;
    }
    try {
      const commits = await history.read(this.#position, until, engineLimits.historyReadBytesMax);
      if (this.#ended !== undefined) return;
      // An empty answer: nothing lies between the position and `until` but a jump of the counter.
      this.#position = Math.max(this.#position, commits.length === 0 ? until : this.#position);
      for (const commit of commits) {
        const filtered = this.#filter(commit);
        if (filtered !== undefined) this.#buffer.push(filtered);
        else if (this.#buffer.length === 0) this.#position = commit.revision;
      }
    } catch (error) {
      this.end(fromLevel(error));
    }
  }

  /** Waits for something to happen; true when it is time for a bookmark. */
  #wait(): Promise<boolean> {
    return new Promise((resolve) => {
      // Somebody awaits this, so it keeps the process alive, as a wait does.
      const cancel = this.#options.timers.setTimer(this.#options.bookmarkSeconds * 1000, () => done(true), {
        keepAlive: true,
      });
      const done = (bookmark: boolean): void => {
        cancel();
        this.#wake = undefined;
        resolve(bookmark);
      };
      this.#wake = () => done(false);
    });
  }

  /** What of a commit this watcher asked for; undefined when nothing. */
  #filter(commit: LoggedCommit): LoggedCommit | undefined {
    const { shape } = this.#request;
    if (shape === undefined) return commit;
    const changes = commit.changes.filter((change) => this.#matches(change));
    return changes.length === 0 ? undefined : { revision: commit.revision, changes };
  }

  #matches(change: LoggedChange): boolean {
    const { shape, id, prefix } = this.#request;
    if (change.shape !== shape) return false;
    if (id !== undefined) return change.id === id;
    return prefix === undefined || change.id.startsWith(prefix);
  }

  /** The commit as the consumer sees it, decoded for it alone. */
  #present(commit: LoggedCommit): Commit {
    const now = this.#options.clock.now();
    return {
      revision: commit.revision,
      changes: commit.changes.map(({ type, shape, id, key, value }): Change => {
        const document = value === undefined ? null : toDocument(shape, id, decodeDocument(key, value), now);
        return { type, shape, id, document };
      }),
    };
  }
}
