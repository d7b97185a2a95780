/**
 * Every bound of the product, each with its reason. A request over a bound is answered with 400 or 413 that names the
 * bound; nothing is cut, dropped or rounded to fit.
 */
export interface Limits {
  /** Bytes of a document's id in UTF-8. LevelDB repeats keys in its blocks and logs; a kilobyte holds any real name. */
  readonly idBytesMax: number;
  /** Bytes of a document's fields in their stored form. Larger values belong into a file or an object store. */
  readonly fieldsBytesMax: number;
  /** Levels of nesting in a document's fields. Enough for any data, and a bound on every recursive walk. */
  readonly depthMax: number;
  /** Shortest time to live in seconds: one tick of the store's millisecond clock. */
  readonly ttlSecondsMin: number;
  /** Longest time to live in seconds: ten years. Longer is "for ever", which is the absence of a ttl. */
  readonly ttlSecondsMax: number;
  /** Operations in one batch: a batch is decided in one turn of the event loop and must not hold it for long. */
  readonly batchOperationsMax: number;
  /** Bytes of all fields in one batch. */
  readonly batchBytesMax: number;
  /** Documents on one page of `list`. */
  readonly listDocumentsMax: number;
  /** Bytes of the documents on one page of `list`; a page ends early there, it is not an error. */
  readonly listBytesMax: number;
  /** Entries that one page of `list` looks at, expired ones included; a page ends early there. */
  readonly listExaminedMax: number;
  /** Keys in one `getMany`. */
  readonly getManyKeysMax: number;
  /** Bytes of the documents of one `getMany`, which cannot end early as a page of `list` can. */
  readonly getManyBytesMax: number;
  /** Longest `waitFor` in seconds. Proxies and people give up before that; a longer wait is several waits. */
  readonly waitSecondsMax: number;
  /** Characters of a write id, the same bound as other services put on an `Idempotency-Key`. */
  readonly writeIdLengthMax: number;
  /** Bytes of current documents that one failed condition may carry back; beyond that they are left out and marked. */
  readonly currentBytesMax: number;
}

/** The bounds of the embedded engine. Other engines may have lower ones: read `store.limits`. */
export const defaultLimits: Limits = Object.freeze({
  idBytesMax: 1024,
  fieldsBytesMax: 1024 * 1024,
  depthMax: 64,
  ttlSecondsMin: 0.001,
  ttlSecondsMax: 315_360_000,
  batchOperationsMax: 1000,
  batchBytesMax: 8 * 1024 * 1024,
  listDocumentsMax: 1000,
  listBytesMax: 4 * 1024 * 1024,
  listExaminedMax: 10_000,
  getManyKeysMax: 1000,
  getManyBytesMax: 16 * 1024 * 1024,
  waitSecondsMax: 300,
  writeIdLengthMax: 255,
  currentBytesMax: 1024 * 1024,
});

/** Bounds inside the embedded engine, which no caller negotiates. */
export interface EngineLimits {
  /** Bytes accepted but not yet on disk. Beyond that a write is refused with 503: memory stays bounded when the disk is slow. */
  readonly stagedBytesMax: number;
  /** Bytes of the stored documents that one batch meets: they are in memory together while it is judged. */
  readonly batchReadBytesMax: number;
  /** A group of writes that share one sync is closed at this size, so that its callers do not wait for a very large one. */
  readonly groupBytesMax: number;
  /** The same, by the number of commits. */
  readonly groupCommitsMax: number;
  /** Write ids are remembered for this long: clients stop retrying after 30 s, and queues in front of them within minutes. */
  readonly writeIdAgeMsMax: number;
  /** And at most so many, the newest: the index of them is held in memory. */
  readonly writeIdCountMax: number;
  /** Documents that one step of the sweeper looks at: a step holds the event loop, and claims must not wait for it. */
  readonly sweepDocumentsMax: number;
  /** Commits buffered for one watcher; a slower one continues from the log on disk. */
  readonly watchBufferCommitsMax: number;
  /** Bytes buffered for one watcher. */
  readonly watchBufferBytesMax: number;
  /** Bytes of the log that a watcher takes at once when it catches up; a larger group comes alone. */
  readonly historyReadBytesMax: number;
}

/** The bounds inside the embedded engine. */
export const engineLimits: EngineLimits = Object.freeze({
  stagedBytesMax: 64 * 1024 * 1024,
  batchReadBytesMax: 64 * 1024 * 1024,
  groupBytesMax: 4 * 1024 * 1024,
  groupCommitsMax: 4096,
  writeIdAgeMsMax: 10 * 60 * 1000,
  writeIdCountMax: 1_000_000,
  sweepDocumentsMax: 128,
  watchBufferCommitsMax: 1024,
  watchBufferBytesMax: 4 * 1024 * 1024,
  historyReadBytesMax: 1024 * 1024,
});

/** The revision jumps by at least this much when a part of the past may be lost, so that no old revision matches again. */
export const revisionStride: number = 2 ** 24;
