import type { Limits } from "../base/limits.js";

/** What a document's fields may hold: JSON, with finite numbers and integers within +-(2^53 - 1). */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue };

/** The content of a document. */
export type Fields = { [name: string]: JsonValue };

/** The shapes of a store that was not typed: any name, any fields. */
export type AnyShapes = { [shape: string]: Fields };

/** The shape names of a typed store. */
export type ShapeName<Shapes> = keyof Shapes & string;

/** A document as it was at `as_of`. */
export interface Document<F = Fields> {
  /** The collection it belongs to: `^[a-z0-9][a-z0-9._-]{0,63}$`. */
  readonly shape: string;
  /** Its name there: 1 to 1,024 bytes of well-formed UTF-8, any characters. */
  readonly id: string;
  readonly fields: F;
  /** The commit that last wrote it; one counter for the whole store that never goes back. */
  readonly revision: number;
  /** The commit that began this life of the document. */
  readonly created_revision: number;
  /** ISO 8601, UTC. */
  readonly created_at: string;
  /** ISO 8601, UTC. Every write moves it, a write of the ttl alone too. */
  readonly updated_at: string;
  /** From this instant the document is absent; null: never. ISO 8601, UTC. */
  readonly expires_at: string | null;
  /** The store's now when this answer was made: against it, `updated_at` and `expires_at` need no clock of the reader's. */
  readonly as_of: string;
}

/** What must hold for a write to happen. All members that are given must hold; an expired document is absent. */
export interface Condition {
  readonly exists?: boolean;
  /** The revision of the living document. */
  readonly revision?: number;
  /** Each named top-level field is there and equals this value, deeply. A missing field is not null. */
  readonly fields?: Fields;
}

/** What every write may ask for. */
export interface WriteOptions {
  /** The write happens only if this holds; else `PreconditionFailedError`. */
  readonly if_match?: Condition;
  /** `"document"` puts the document into the result: the new one, or for a delete the one that went. */
  readonly return?: "document";
}

/** Names a write, so that repeating it is safe: the same id with the same request gives the first answer again. */
export interface WriteIdentity {
  /** 1 to 255 characters. Remembered for 10 minutes or the newest 1,000,000 of them, whichever is less. */
  readonly write_id?: string;
}

/** Replaces a document's fields and its expiry, or creates it. */
export interface PutOperation<S extends string = string, F = Fields> extends WriteOptions {
  readonly shape: S;
  readonly id: string;
  readonly set: F;
  /** Seconds to live, 0.001 to 315,360,000, fractions allowed; null: for ever. Absent: the shape's default, else for ever. */
  readonly ttl?: number | null;
}

/** Changes a document that exists, by RFC 7396 merge patch; `not_found` when it does not. */
export interface PatchOperation<S extends string = string, F = Fields> extends WriteOptions {
  readonly shape: S;
  readonly id: string;
  /** null removes a member; objects merge; anything else replaces. Absent: only the ttl changes. */
  readonly merge?: MergePatch<F>;
  /** Seconds to live from now; null: for ever. Absent: the deadline stays. */
  readonly ttl?: number | null;
}

/** Removes a document. Removing what is absent is not an error. */
export interface DeleteOperation<S extends string = string> extends WriteOptions {
  readonly shape: S;
  readonly id: string;
}

/** Changes nothing; the batch happens only if the condition holds. */
export interface CheckOperation<S extends string = string> {
  readonly shape: S;
  readonly id: string;
  readonly if_match: Condition;
}

/** A merge patch of `F`: any member may be left out, or null to remove it; objects merge, arrays and the rest replace. */
export type MergePatch<F> = { readonly [K in keyof F]?: MemberPatch<F[K]> | null };

/** What a merge patch may say of one member. */
export type MemberPatch<V> = V extends readonly unknown[] ? V : V extends object ? V | MergePatch<V> : V;

/** One operation of a batch. */
export type BatchOperation<Shapes = AnyShapes> = {
  [S in ShapeName<Shapes>]:
    | ({ readonly op: "put" } & PutOperation<S, Shapes[S]>)
    | ({ readonly op: "patch" } & PatchOperation<S, Shapes[S]>)
    | ({ readonly op: "delete" } & DeleteOperation<S>)
    | ({ readonly op: "check" } & CheckOperation<S>);
}[ShapeName<Shapes>];

/** What a write answers. */
export interface WriteResult<F = Fields> {
  /** The commit that holds the write. For a write that changed nothing: the store's current revision. */
  readonly revision: number;
  /** When the written document ends; null: never, or it was deleted. */
  readonly expires_at: string | null;
  /** Whether the write began a new life of the document. */
  readonly created: boolean;
  /** True when this is the stored answer to an earlier request with the same write id. */
  readonly replayed?: true;
  /** Present with `return: "document"`: the new document, or for a delete the one that went (null when there was none). */
  readonly document?: Document<F> | null;
}

/** What a batch answers: one result an operation, in order. */
export interface BatchResult {
  /** The one commit of the whole batch; the store's current revision when it changed nothing. */
  readonly revision: number;
  readonly results: readonly WriteResult[];
  readonly replayed?: true;
}

/** Names a document. */
export interface DocumentKey<S extends string = string> {
  readonly shape: S;
  readonly id: string;
}

export interface ListOptions {
  /** Only ids that begin with this. */
  readonly prefix?: string;
  /** Only ids beyond this one, in the direction of reading: the `next` of the page before. */
  readonly after?: string;
  /** Ends before this id, in the direction of reading. */
  readonly until?: string;
  /** From the last id to the first. */
  readonly reverse?: boolean;
  /** Documents on the page, 1 to 1,000; 100 when absent. A page may be shorter; only `next: null` ends the list. */
  readonly limit?: number;
}

export interface ListPage<F = Fields> {
  readonly documents: readonly Document<F>[];
  /** Give it as `after` for the next page; null: there is none. */
  readonly next: string | null;
  /** The snapshot that the page shows. Watching from the first page's revision misses nothing. */
  readonly revision: number;
}

export interface Change<F = Fields> {
  readonly type: "put" | "delete" | "expire";
  readonly shape: string;
  readonly id: string;
  /** The document as this commit left it; null when it is gone. */
  readonly document: Document<F> | null;
}

/** One commit, whole. A commit without changes is a bookmark: nothing that is watched has changed up to `revision`. */
export interface Commit<F = Fields> {
  readonly revision: number;
  readonly changes: readonly Change<F>[];
}

export interface WatchOptions<S extends string = string> {
  readonly shape?: S;
  /** Only this document; needs `shape`. */
  readonly id?: string;
  /** Only ids that begin with this; needs `shape`. */
  readonly prefix?: string;
  /** Commits after this revision; absent: from now on. */
  readonly since?: number;
  readonly signal?: AbortSignal;
}

export interface WaitOptions {
  /** The revision that the caller knows; 0: absent. Absent: its state at the call. */
  readonly after?: number;
  /** Seconds, 0 to 300; 30 when absent. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

export interface WaitResult<F = Fields> {
  /** False: the time is over and the document is still as the caller knew it. */
  readonly changed: boolean;
  /** null: absent. */
  readonly document: Document<F> | null;
}

/**
 * A store of documents by shape and id. The embedded store, the HTTP client and every other engine implement it and pass
 * one conformance suite (`oncekv/testing`); they differ in speed and in `limits`.
 *
 * Every method rejects with an `OnceKvError`: `invalid_request` and `too_large` for arguments that cannot be carried
 * out, `store_closed` after `close`, `unavailable` when a remote store cannot be reached. Writes may also reject with
 * `precondition_failed`, `overloaded`, `store_failed`, `write_id_conflict` and `outcome_unknown`.
 *
 * @typeParam Shapes the fields of each shape, as `{ note: Note; "tool-call": ToolCall }`
 */
export interface DocumentStore<Shapes = AnyShapes> {
  /** The fields of a document; undefined when it is absent. */
  get<S extends ShapeName<Shapes>>(shape: S, id: string): Promise<Shapes[S] | undefined>;
  /** The document with its revision, times and expiry; undefined when it is absent. */
  getDocument<S extends ShapeName<Shapes>>(shape: S, id: string): Promise<Document<Shapes[S]> | undefined>;
  /** Several documents in one snapshot, in the order of the keys; undefined for each that is absent. */
  getMany<S extends ShapeName<Shapes>>(keys: readonly DocumentKey<S>[]): Promise<(Document<Shapes[S]> | undefined)[]>;
  /** Replaces a document, or creates it. Resolves when the write is durable. */
  put<S extends ShapeName<Shapes>>(write: PutOperation<S, Shapes[S]> & WriteIdentity): Promise<WriteResult<Shapes[S]>>;
  /** Changes a document; `not_found` when it is absent and no condition was given. Resolves when the write is durable. */
  patch<S extends ShapeName<Shapes>>(
    write: PatchOperation<S, Shapes[S]> & WriteIdentity,
  ): Promise<WriteResult<Shapes[S]>>;
  /** Removes a document, if it is there. Resolves when the write is durable. */
  delete<S extends ShapeName<Shapes>>(write: DeleteOperation<S> & WriteIdentity): Promise<WriteResult<Shapes[S]>>;
  /** All operations in one commit, or none: each document at most once, conditions see the state before the batch. */
  batch(operations: readonly BatchOperation<Shapes>[], options?: WriteIdentity): Promise<BatchResult>;
  /** One page of a shape's documents in the order of their ids' UTF-8 bytes, from one snapshot. */
  list<S extends ShapeName<Shapes>>(shape: S, options?: ListOptions): Promise<ListPage<Shapes[S]>>;
  /** All documents of a shape, in order. */
  scan<S extends ShapeName<Shapes>>(
    shape: S,
    options?: { readonly prefix?: string },
  ): AsyncIterable<Document<Shapes[S]>>;
  /**
   * Commits as they become durable, whole, each once, in order, with bookmarks when idle. Starts at the call, also when
   * iteration begins later. Throws `revision_compacted` when `since` (or a slow reader's position) is older than the
   * history, `revision_unknown` when it is newer than the store, the signal's reason when it aborts.
   */
  watch<S extends ShapeName<Shapes>>(options?: WatchOptions<S>): AsyncIterable<Commit<Shapes[S]>>;
  /** Resolves as soon as the document's state differs from `after`; an expiry counts, at its instant. */
  waitFor<S extends ShapeName<Shapes>>(shape: S, id: string, options?: WaitOptions): Promise<WaitResult<Shapes[S]>>;
  /** The bounds of this store. */
  readonly limits: Limits;
  /** Finishes what was begun, then releases everything. A second call waits for the first. */
  close(): Promise<void>;
}
