/*
 * The shapes of LangGraph's checkpoints, as far as a saver touches them. The framework's own types fit them.
 */

/** How values become bytes: the framework's serialiser. */
export interface Serializer {
  dumpsTyped(value: unknown): Promise<[string, Uint8Array]>;
  loadsTyped(type: string, data: Uint8Array | string): Promise<unknown>;
}

/** What is used of the framework's base class. */
export interface SaverBase {
  serde: Serializer;
}

/** The framework's base class of savers. */
export type SaverBaseClass<S extends SaverBase> = abstract new (serde?: never) => S;

export interface SaverConfig {
  readonly configurable?: { readonly [name: string]: unknown } | undefined;
}

/** A checkpoint; what else it has is kept as it is. */
export interface SavedCheckpoint {
  v: number;
  id: string;
  channel_values: { [channel: string]: unknown };
  channel_versions: { [channel: string]: number | string };
}

export type SavedMetadata = { readonly [name: string]: unknown };

/** The task, the channel, the value. */
export type PendingWrite = [string, string, unknown];

export interface SavedTuple {
  config: SaverConfig;
  checkpoint: SavedCheckpoint;
  metadata: SavedMetadata;
  parentConfig?: SaverConfig;
  pendingWrites: PendingWrite[];
}

export interface SavedListOptions {
  readonly limit?: number | undefined;
  readonly before?: SaverConfig | undefined;
  readonly filter?: { readonly [name: string]: unknown } | undefined;
}
