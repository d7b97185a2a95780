import type { Clock } from "../base/clock.js";
import type { DeclaredShapes } from "./declared-shapes.js";
import type { HistoryOptions } from "./history.js";

/** What every embedded store may be given, on disk or in memory. */
export interface MemoryStoreOptions {
  /** The system's clocks when absent. */
  readonly clock?: Clock;
  /** Schemas and default times to live, by shape. */
  readonly shapes?: DeclaredShapes;
  /** How much of the past is kept for `watch` to resume from. */
  readonly history?: HistoryOptions;
  /** Seconds after which an idle watcher is told how far it has come; 15 when absent. */
  readonly bookmarkSeconds?: number;
  /** false: expired documents stay on disk until `sweep` is called; they are absent all the same. */
  readonly sweep?: boolean;
}

/** Numbers about a store, for people and for metrics. */
export interface StoreStats {
  readonly revision: number;
  /** `watch` can resume from any revision that is not older than this. */
  readonly oldest_revision: number;
  readonly durability: "durable" | "buffered";
  /** Whether a write has failed, so that nothing is written until the store is opened again. */
  readonly failed: boolean;
  readonly staged_bytes: number;
  readonly locks: number;
  readonly watchers: number;
  readonly waiters: number;
  readonly write_ids: number;
}
