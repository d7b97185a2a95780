import { InvalidRequestError, OnceKvError } from "../../../src/base/errors.js";
import type { DocumentStore } from "../../../src/documents/contract.js";
import { type BodyStore, encode, keepBody, loadBody } from "./body.js";
import { type Head, readHead, readHeads, type Wanted } from "./heads.js";
import { type CheckpointSaverOptions, resolveSaverOptions } from "./options.js";
import { withPendingSends } from "./pending-sends.js";
import { allKinds, type CheckpointPlace, idOf, needed, prefixOf, readConfig } from "./place.js";
import type {
  SavedCheckpoint,
  SavedListOptions,
  SavedMetadata,
  SavedTuple,
  SaverBase,
  SaverBaseClass,
  SaverConfig,
} from "./types.js";
import { keepWrites, loadWrites } from "./writes.js";

/** UTF-16 units of a checkpoint that stand in its own document. */
const inlineUnits = 96 * 1024;

/** Versions of channels are whole numbers, as the base class makes them. */
export interface NumberedVersions {
  getNextVersion(current: number | undefined): number;
}

/**
 * A checkpoint saver that keeps the threads of a graph in a document store, embedded or over HTTP.
 *
 * Every checkpoint is complete in itself, and there whole or not at all, however large it is. Several processes may work on
 * one thread. Nothing of the framework is loaded here, so that its base class is given: `BaseCheckpointSaver` of
 * `@langchain/langgraph-checkpoint` or `@langchain/langgraph`.
 *
 * @throws InvalidRequestError when an option is wrong
 */
export function checkpointSaver<S extends SaverBase>(
  base: SaverBaseClass<S>,
  store: DocumentStore,
  options: CheckpointSaverOptions = {},
): S & NumberedVersions {
  const { shape, ttl, partTtl, serde: ownSerde } = resolveSaverOptions(options, store.limits);
  const bodies: BodyStore = { store, shape, partTtl };

  class OnceKvSaver extends (base as unknown as new (serde: unknown) => SaverBase) {
    async getTuple(config: SaverConfig): Promise<SavedTuple | undefined> {
      const { threadId, namespace = "", checkpointId } = readConfig(config);
      if (threadId === undefined) return undefined;
      const place = { threadId, namespace };
      return this.#whole(() => readHead(store, shape, place, checkpointId));
    }

    async *list(config: SaverConfig, listOptions: SavedListOptions = {}): AsyncGenerator<SavedTuple> {
      const { limit = Number.POSITIVE_INFINITY, before, filter = {} } = listOptions;
      const wanted: Wanted = { ...readConfig(config), before: before && readConfig(before).checkpointId };
      let left = limit;
      if (left <= 0) return;
      for await (const head of readHeads(store, shape, wanted)) {
        const place = placeOf(head);
        if (!(await this.#fits(head, filter))) continue;
        const tuple = await this.#whole((first) => (first ? head : readHead(store, shape, place, place.checkpointId)));
        if (tuple === undefined) continue;
        yield tuple;
        left -= 1;
        if (left <= 0) return;
      }
    }

    async put(
      config: SaverConfig,
      checkpoint: SavedCheckpoint,
      metadata: SavedMetadata,
      newVersions: { readonly [channel: string]: number | string },
    ): Promise<SaverConfig> {
      const { threadId: given, namespace = "", checkpointId: parentId } = readConfig(config);
      const threadId = needed(given, "thread_id");
      refuseDeltas(metadata, ttl);
      const place: CheckpointPlace = { threadId, namespace, checkpointId: checkpoint.id };
      // What has a parent has all its values; the first checkpoint of a thread has those that were written by then.
      const values = Object.entries(checkpoint.channel_values).filter(
        ([channel]) => parentId !== undefined || Object.hasOwn(newVersions, channel),
      );
      const saved = { ...checkpoint, channel_values: Object.fromEntries(values) };
      const kept = await keepBody(bodies, place, await encode(saved, this.serde), inlineUnits);
      const head: Head = {
        thread_id: threadId,
        checkpoint_ns: namespace,
        checkpoint_id: checkpoint.id,
        parent_id: parentId ?? null,
        checkpoint: kept,
        metadata: await keepBody(bodies, place, await encode(metadata, this.serde), inlineUnits),
      };
      await store.put({ shape, id: idOf("checkpoint", place), set: head, ttl });
      return configOf(place);
    }

    async putWrites(
      config: SaverConfig,
      writes: readonly (readonly [string, unknown])[],
      taskId: string,
      taskPath = "",
    ): Promise<void> {
      const { threadId, namespace = "", checkpointId } = readConfig(config);
      const place: CheckpointPlace = {
        threadId: needed(threadId, "thread_id"),
        namespace,
        checkpointId: needed(checkpointId, "checkpoint_id"),
      };
      await keepWrites(bodies, this.serde, place, { id: taskId, path: taskPath, ttl }, writes);
    }

    /** Oldest first, so that one that is broken off leaves the thread where it is, and is done again. */
    async deleteThread(thread: string): Promise<void> {
      const threadId = needed(readConfig({ configurable: { thread_id: thread } }).threadId, "thread_id");
      for (const kind of allKinds) {
        const prefix = prefixOf(kind, threadId);
        for (let after: string | null | undefined; after !== null; ) {
          const page: Awaited<ReturnType<DocumentStore["list"]>> = await store.list(shape, {
            prefix,
            limit: Math.min(store.limits.listDocumentsMax, store.limits.batchOperationsMax),
            ...(after === undefined ? {} : { after }),
          });
          const deletes = page.documents.map(({ id }) => ({ op: "delete", shape, id }) as const);
          if (deletes.length > 0) await store.batch(deletes);
          after = page.next;
        }
      }
    }

    /** Reads all of a checkpoint. One that was deleted or written anew on the way is read anew. */
    async #whole(read: (first: boolean) => Promise<Head | undefined> | Head): Promise<SavedTuple | undefined> {
      let last: string | undefined;
      for (let first = true; ; first = false) {
        const head = await read(first);
        if (head === undefined) return undefined;
        const tuple = await this.#tupleOf(head);
        if (tuple !== undefined) return tuple;
        const seen = JSON.stringify(head);
        if (seen === last)
          throw new OnceKvError("store_damaged", `parts of checkpoint ${head.checkpoint_id} are missing`);
        last = seen;
      }
    }

    /** undefined: a part of it is not there any more */
    async #tupleOf(head: Head): Promise<SavedTuple | undefined> {
      const place = placeOf(head);
      const { parent_id: parentId } = head;
      const checkpoint = await loadBody(bodies, place, head.checkpoint, this.serde);
      const metadata = await loadBody(bodies, place, head.metadata, this.serde);
      const pendingWrites = await loadWrites(bodies, this.serde, place);
      if (checkpoint === undefined || metadata === undefined || pendingWrites === undefined) return undefined;
      const saved = checkpoint.value as SavedCheckpoint;
      const parent = parentId === null ? undefined : { ...place, checkpointId: parentId };
      const tuple = {
        config: configOf(place),
        checkpoint: saved,
        metadata: metadata.value as SavedMetadata,
        ...(parent === undefined ? {} : { parentConfig: configOf(parent) }),
        pendingWrites,
      };
      if (saved.v >= 4 || parent === undefined) return tuple;
      const ofParent = await loadWrites(bodies, this.serde, parent);
      return { ...tuple, checkpoint: withPendingSends(saved, ofParent ?? []) };
    }

    async #fits(head: Head, filter: { readonly [name: string]: unknown }): Promise<boolean> {
      const entries = Object.entries(filter);
      if (entries.length === 0) return true;
      const metadata = await loadBody(bodies, placeOf(head), head.metadata, this.serde);
      const { value } = metadata ?? { value: {} };
      return entries.every(([name, expected]) => Object(value)[name] === expected);
    }
  }

  const saver: unknown = new OnceKvSaver(ownSerde);
  return saver as S & NumberedVersions;
}

/**
 * A channel that keeps no more than its changes is put together from those of all checkpoints before: when the oldest ones
 * expire, its beginning is gone, and nobody is told.
 *
 * @throws InvalidRequestError
 */
function refuseDeltas(metadata: SavedMetadata, ttl: number | null): void {
  if (ttl === null || Object.keys(Object(metadata["counters_since_delta_snapshot"])).length === 0) return;
  throw new InvalidRequestError(
    "ttl",
    "must be null for a graph with channels that are kept as changes (DeltaChannel, MessagesDeltaValue): they lose what expires",
  );
}

function placeOf({ thread_id, checkpoint_ns, checkpoint_id }: Head): CheckpointPlace {
  return { threadId: thread_id, namespace: checkpoint_ns, checkpointId: checkpoint_id };
}

function configOf({ threadId, namespace, checkpointId }: CheckpointPlace): SaverConfig {
  return { configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpointId } };
}
