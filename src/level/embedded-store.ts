import { AnchoredClock, type Clock, systemClock } from "../base/clock.js";
import { OnceKvError, StoreClosedError } from "../base/errors.js";
import { defaultLimits, type Limits } from "../base/limits.js";
import type {
  AnyShapes,
  BatchOperation,
  BatchResult,
  Commit,
  DeleteOperation,
  Document,
  DocumentKey,
  DocumentStore,
  ListOptions,
  ListPage,
  PatchOperation,
  PutOperation,
  ShapeName,
  WaitOptions,
  WaitResult,
  WatchOptions,
  WriteIdentity,
  WriteResult,
} from "../documents/contract.js";
import { checkId, checkShape } from "../documents/names.js";
import {
  batchWriteIdOf,
  type CheckedWrite,
  checkBatch,
  checkDelete,
  checkPatch,
  checkPut,
  writeIdOf,
} from "../documents/requests.js";
import { checkKeys, checkList, checkScan, checkWait, checkWatch } from "../documents/requests-read.js";
import { type BackupOptions, type BackupSummary, backup, backupTo } from "./backup.js";
import type { BackupSink } from "./backup-file.js";
import { ClockMark } from "./clock-mark.js";
import { ShapeRules } from "./declared-shapes.js";
import { fieldsOf, toDocument } from "./document-codec.js";
import { GroupCommit } from "./group-commit.js";
import { History } from "./history.js";
import { flushToTables, type Level, type LevelSnapshot } from "./level.js";
import { fromLevel } from "./level-errors.js";
import { type LiveDocument, Reader } from "./reader.js";
import { markClean, recover } from "./recover.js";
import type { MemoryStoreOptions, StoreStats } from "./store-options.js";
import { Sweeper } from "./sweeper.js";
import { type VerifyReport, verify } from "./verify.js";
import { Waiting } from "./waiting.js";
import { WatchHub } from "./watch-hub.js";
import { WriteIds } from "./write-ids.js";
import { WritePath } from "./write-path.js";

interface StartOptions extends MemoryStoreOptions {
  readonly where: string;
  readonly durability: "durable" | "buffered";
  readonly acceptLoss: boolean;
  readonly dropped: string | undefined;
}

function rethrowFromLevel(error: unknown): never {
  throw fromLevel(error);
}

/** So many reads may follow each other before the event loop gets a turn. */
const readsBetweenTurns = 256;

/**
 * The embedded store: the documents, conditions and expiry of `DocumentStore` over LevelDB. One process has it open at a
 * time; any number of callers in that process share it.
 */
export class EmbeddedStore<Shapes = AnyShapes> implements DocumentStore<Shapes> {
  readonly limits: Limits = defaultLimits;
  readonly #level: Level;
  readonly #clock: AnchoredClock;
  readonly #durability: "durable" | "buffered";
  readonly #reader: Reader;
  readonly #groups: GroupCommit;
  readonly #writeIds: WriteIds;
  readonly #writes: WritePath;
  readonly #history: History;
  readonly #hub: WatchHub;
  readonly #waiting: Waiting;
  readonly #sweeper: Sweeper;
  readonly #clockMark: ClockMark;
  /** Reads of several steps that are under way; the database is closed after them. */
  #pending = 0;
  #reads = 0;
  #whenSettled: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  /** Takes over an open database; `openStore` and `openMemoryStore` are the ways to call it. */
  static async start<Shapes = AnyShapes>(level: Level, options: StartOptions): Promise<EmbeddedStore<Shapes>> {
    const timers = options.clock ?? systemClock;
    const rules = new ShapeRules(options.shapes ?? {}, defaultLimits);
    const recovered = await recover(level, { ...options, clock: timers });
    const writeIds = new WriteIds(level);
    await writeIds.load();
    const store = new EmbeddedStore<Shapes>(level, options, timers, rules, recovered, writeIds);
    await store.#sweeper.start();
    store.#clockMark.start();
    return store;
  }

  private constructor(
    level: Level,
    options: StartOptions,
    timers: Clock,
    shapes: ShapeRules,
    recovered: Awaited<ReturnType<typeof recover>>,
    writeIds: WriteIds,
  ) {
    this.#level = level;
    this.#durability = options.durability;
    const clock = new AnchoredClock(timers, recovered.clockMark);
    this.#clock = clock;
    const reader = new Reader(level, clock, this.limits);
    this.#reader = reader;
    this.#history = new History(level, clock, options.history ?? {}, {
      floor: recovered.floor,
      newest: { last: recovered.revision, time: recovered.clockMark, totalBytes: recovered.logBytes },
    });
    this.#writeIds = writeIds;
    this.#waiting = new Waiting(reader, clock, timers);
    const groups = new GroupCommit({
      level,
      clock,
      sync: options.durability === "durable",
      writeIds,
      revision: recovered.revision,
      logBytes: recovered.logBytes,
      takeCut: () => this.#history.takeCut(),
      onDurable: (group, log, index) => {
        if (log !== undefined) {
          this.#clockMark.noteDurable(log.time);
          this.#history.noteDurable(log);
        }
        this.#hub.publish(group.commits);
        this.#waiting.notify(group.commits);
        this.#sweeper.noteDurable(group, index);
      },
    });
    this.#groups = groups;
    reader.attach(groups);
    this.#hub = new WatchHub({
      timers,
      clock,
      history: this.#history,
      groups,
      bookmarkSeconds: options.bookmarkSeconds ?? 15,
    });
    this.#writes = new WritePath({ clock, limits: this.limits, reader, groups, writeIds, shapes });
    this.#sweeper = new Sweeper(level, timers, clock, reader, groups, options.sweep ?? true);
    this.#clockMark = new ClockMark(timers, clock, groups, () => this.#sweeper.hasDeadlines);
  }

  /** The newest durable commit. */
  get revision(): number {
    return this.#groups.durableRevision;
  }

  /** The store's now, in milliseconds since 1970. */
  now(): number {
    return this.#clock.now();
  }

  // Most reads of one document end within the call: `await` costs a turn of the microtask queue even then.
  async get<S extends ShapeName<Shapes>>(shape: S, id: string): Promise<Shapes[S] | undefined> {
    const found = this.#live(shape, id);
    const { document } = found instanceof Promise ? await found : found;
    return document === undefined ? undefined : (fieldsOf(document) as Shapes[S]);
  }

  async getDocument<S extends ShapeName<Shapes>>(shape: S, id: string): Promise<Document<Shapes[S]> | undefined> {
    const found = this.#live(shape, id);
    const { document, now } = found instanceof Promise ? await found : found;
    return document === undefined ? undefined : (toDocument(shape, id, document, now) as Document<Shapes[S]>);
  }

  async getMany<S extends ShapeName<Shapes>>(
    keys: readonly DocumentKey<S>[],
  ): Promise<(Document<Shapes[S]> | undefined)[]> {
    const checked = checkKeys(keys, this.limits);
    return this.#read(async () => (await this.#reader.getMany(checked)) as (Document<Shapes[S]> | undefined)[]);
  }

  put<S extends ShapeName<Shapes>>(write: PutOperation<S, Shapes[S]> & WriteIdentity): Promise<WriteResult<Shapes[S]>> {
    return this.#write<S>(write, checkPut);
  }

  patch<S extends ShapeName<Shapes>>(
    write: PatchOperation<S, Shapes[S]> & WriteIdentity,
  ): Promise<WriteResult<Shapes[S]>> {
    return this.#write<S>(write, checkPatch);
  }

  delete<S extends ShapeName<Shapes>>(write: DeleteOperation<S> & WriteIdentity): Promise<WriteResult<Shapes[S]>> {
    return this.#write<S>(write, checkDelete);
  }

  batch(operations: readonly BatchOperation<Shapes>[], options: WriteIdentity = {}): Promise<BatchResult> {
    return new Promise((resolve, reject) => {
      const checked = checkBatch(operations, this.limits);
      const writeId = batchWriteIdOf(options, this.limits);
      this.#checkOpen();
      this.#writes.submitBatch(checked, writeId, { resolve, reject });
    });
  }

  async list<S extends ShapeName<Shapes>>(shape: S, options: ListOptions = {}): Promise<ListPage<Shapes[S]>> {
    const checked = checkList(shape, options, this.limits);
    return this.#read(async () => (await this.#reader.list(checked)) as ListPage<Shapes[S]>);
  }

  async *scan<S extends ShapeName<Shapes>>(
    shape: S,
    options: { readonly prefix?: string } = {},
  ): AsyncGenerator<Document<Shapes[S]>> {
    const { prefix } = checkScan(shape, options, this.limits);
    this.#checkOpen();
    try {
      for await (const document of this.#reader.scan(shape, prefix)) {
        yield document as Document<Shapes[S]>;
        this.#checkOpen();
      }
    } catch (error) {
      throw fromLevel(error);
    }
  }

  watch<S extends ShapeName<Shapes>>(options: WatchOptions<S> = {}): AsyncIterableIterator<Commit<Shapes[S]>> {
    const checked = checkWatch(options, this.limits);
    this.#checkOpen();
    return this.#hub.watch(checked) as AsyncIterableIterator<Commit<Shapes[S]>>;
  }

  async waitFor<S extends ShapeName<Shapes>>(
    shape: S,
    id: string,
    options: WaitOptions = {},
  ): Promise<WaitResult<Shapes[S]>> {
    const checked = checkWait(shape, id, options, this.limits);
    return this.#read(async () => (await this.#waiting.waitFor(checked)) as WaitResult<Shapes[S]>);
  }

  /** Numbers about the store as it is now. */
  stats(): StoreStats {
    return {
      revision: this.#groups.durableRevision,
      oldest_revision: this.#history.floor,
      durability: this.#durability,
      failed: this.#groups.failure !== undefined,
      staged_bytes: this.#groups.stagedBytes,
      locks: this.#writes.lockCount,
      watchers: this.#hub.size,
      waiters: this.#waiting.size,
      write_ids: this.#writeIds.count,
    };
  }

  /** Takes documents off the disk now that expired a tenth of a second ago or earlier; resolves with their number. */
  async sweep(): Promise<number> {
    return this.#read(() => this.#sweeper.sweep());
  }

  /** Writes all living documents, from one snapshot, into a new file, while the store is in use. */
  async backup(file: string, options: BackupOptions = {}): Promise<BackupSummary> {
    return this.#inSnapshot((snapshot, taken) => backup(this.#level, snapshot, taken, file, options));
  }

  /**
   * Writes the same bytes elsewhere, no faster than `sink` takes them. Hold on to nothing for long: until it is done the
   * snapshot keeps LevelDB from giving back what is overwritten meanwhile, and `close` waits.
   */
  async backupTo(sink: BackupSink, options: BackupOptions = {}): Promise<BackupSummary> {
    return this.#inSnapshot((snapshot, taken) => backupTo(this.#level, snapshot, taken, sink, options));
  }

  /** Checks everything that is stored against itself, in one snapshot. What is wrong is in the report, not thrown. */
  async verify(options: { readonly onProgress?: (entries: number) => void } = {}): Promise<VerifyReport> {
    return this.#read(() => verify(this.#level, options.onProgress));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#clockMark.stop();
    this.#hub.close();
    this.#waiting.close();
    await this.#sweeper.close();
    await this.#groups.whenIdle();
    if (this.#pending > 0) await new Promise<void>((resolve) => (this.#whenSettled = resolve));
    await this.#history.close();
    try {
      if (this.#groups.failure === undefined) {
        await this.#history.finishCut();
        if (this.#durability === "buffered") await flushToTables(this.#level);
        await markClean(this.#level, this.#durability, this.#clock.now());
      }
    } catch (error) {
      // Nothing that was acknowledged is lost by this: the next open takes the store for one that was not closed.
      throw new OnceKvError("store_failed", "the store could not be marked as closed", { cause: error });
    } finally {
      // Whatever happens, the folder is given back.
      await this.#level.close();
    }
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new StoreClosedError();
  }

  /** One promise a write and no async function around it: each of these costs as much as a check of the fields. */
  #write<S extends ShapeName<Shapes>>(
    write: WriteIdentity,
    check: (write: unknown, path: string, limits: Limits) => CheckedWrite,
  ): Promise<WriteResult<Shapes[S]>> {
    // What throws in here rejects the promise.
    return new Promise<WriteResult>((resolve, reject) => {
      const checked = check(write, "", this.limits);
      const writeId = writeIdOf(write, this.limits);
      this.#checkOpen();
      this.#writes.submit(checked, writeId, { resolve, reject });
    }) as Promise<WriteResult<Shapes[S]>>;
  }

  /**
   * Reads one document. Most such reads end within the turn of the event loop that they began in. A caller that polls in
   * a tight loop would never let the loop go on, and what it waits for would never come: now and then the loop gets a turn.
   */
  #live(shape: string, id: string): LiveDocument | Promise<LiveDocument> {
    checkShape(shape, "shape");
    checkId(id, "id", this.limits);
    this.#checkOpen();
    this.#reads += 1;
    if (this.#reads % readsBetweenTurns === 0) {
      return new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.#liveNow(shape, id));
    }
    return this.#liveNow(shape, id);
  }

  #liveNow(shape: string, id: string): LiveDocument | Promise<LiveDocument> {
    this.#checkOpen();
    try {
      const found = this.#reader.readLive(shape, id);
      return found instanceof Promise ? found.catch(rethrowFromLevel) : found;
    } catch (error) {
      return rethrowFromLevel(error);
    }
  }

  #inSnapshot<Result>(
    read: (snapshot: LevelSnapshot, taken: { revision: number; now: number }) => Promise<Result>,
  ): Promise<Result> {
    return this.#read(async () => {
      const now = this.#clock.now();
      const durableRevision = this.#groups.durableRevision;
      const snapshot = this.#level.snapshot();
      try {
        return await read(snapshot, { revision: await this.#reader.revisionOf(snapshot, durableRevision), now });
      } finally {
        await snapshot.close();
      }
    });
  }

  /** Runs a read of several steps; `close` waits for it. */
  async #read<Result>(read: () => Promise<Result>): Promise<Result> {
    this.#checkOpen();
    this.#pending += 1;
    try {
      return await read();
    } catch (error) {
      throw fromLevel(error);
    } finally {
      this.#pending -= 1;
      if (this.#pending === 0) this.#whenSettled?.();
    }
  }
}
