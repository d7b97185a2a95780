import type { Document, DocumentStore, Fields } from "../../../src/documents/contract.js";
import type { Body } from "./body.js";
import { type CheckpointPlace, endOf, idOf, type Place, prefixOf } from "./place.js";

/*
 * The documents of checkpoints, each of which is complete in itself: nothing that expires or is deleted takes a part of
 * another one along.
 */

/** A checkpoint's document. */
export interface Head extends Fields {
  thread_id: string;
  checkpoint_ns: string;
  checkpoint_id: string;
  /** null: it has none. */
  parent_id: string | null;
  checkpoint: Body;
  metadata: Body;
}

/** Documents on a page: what is asked for is mostly the newest. */
const pageSize = 20;

/** The document of one checkpoint, or of the newest one of a namespace; undefined: there is none. */
export async function readHead(
  store: DocumentStore,
  shape: string,
  place: Place,
  checkpointId: string | undefined,
): Promise<Head | undefined> {
  if (checkpointId !== undefined)
    return headOf(await store.getDocument(shape, idOf("checkpoint", { ...place, checkpointId })));
  const prefix = prefixOf("checkpoint", place.threadId, place.namespace);
  const { documents } = await store.list(shape, { prefix, reverse: true, limit: 1 });
  return headOf(documents[0]);
}

/** What is looked for in a list. */
export interface Wanted {
  /** undefined: all of them. */
  readonly threadId: string | undefined;
  readonly namespace: string | undefined;
  /** Only the checkpoint with this id. */
  readonly checkpointId: string | undefined;
  /** Only those before this one. */
  readonly before: string | undefined;
}

/** Checkpoints, the newest first, over all namespaces that are wanted together. */
export async function* readHeads(store: DocumentStore, shape: string, wanted: Wanted): AsyncGenerator<Head> {
  const rows: Row[] = [];
  for await (const place of placesOf(store, shape, wanted)) {
    const row = headsOf(store, shape, place, wanted)[Symbol.asyncIterator]();
    await advance(rows, row);
  }
  for (let row = rows.shift(); row !== undefined; row = rows.shift()) {
    yield row.next;
    await advance(rows, row.source);
  }
}

/** The checkpoints of one namespace, and the newest one of them that was not read yet. */
interface Row {
  readonly next: Head;
  readonly source: AsyncIterator<Head>;
}

/** Puts a row in its place: the newest is the first. */
async function advance(rows: Row[], source: AsyncIterator<Head>): Promise<void> {
  const { value: next, done } = await source.next();
  if (done === true) return;
  const place = rows.findIndex((row) => row.next.checkpoint_id < next.checkpoint_id);
  rows.splice(place === -1 ? rows.length : place, 0, { next, source });
}

async function* headsOf(
  store: DocumentStore,
  shape: string,
  place: Place,
  { checkpointId, before }: Wanted,
): AsyncGenerator<Head> {
  if (checkpointId !== undefined) {
    const head = await readHead(store, shape, place, checkpointId);
    if (head !== undefined && (before === undefined || checkpointId < before)) yield head;
    return;
  }
  const prefix = prefixOf("checkpoint", place.threadId, place.namespace);
  let after: string | null | undefined = before === undefined ? undefined : beforeId(place, before);
  while (after !== null) {
    const options = { prefix, reverse: true, limit: pageSize, ...(after === undefined ? {} : { after }) };
    const page: Awaited<ReturnType<DocumentStore["list"]>> = await store.list(shape, options);
    for (const document of page.documents) {
      const head = headOf(document);
      if (head !== undefined) yield head;
    }
    after = page.next;
  }
}

function beforeId(place: Place, before: string): string {
  const bound: CheckpointPlace = { ...place, checkpointId: before };
  return idOf("checkpoint", bound);
}

/** The namespaces that are wanted, found by leaping from one to the next without reading what is in them. */
async function* placesOf(store: DocumentStore, shape: string, { threadId, namespace }: Wanted): AsyncGenerator<Place> {
  if (threadId !== undefined && namespace !== undefined) {
    yield { threadId, namespace };
    return;
  }
  const prefix = threadId === undefined ? prefixOf("checkpoint") : prefixOf("checkpoint", threadId);
  let after: string | undefined;
  for (;;) {
    const { documents, next } = await store.list(shape, {
      prefix,
      limit: 1,
      ...(after === undefined ? {} : { after }),
    });
    const head = headOf(documents[0]);
    if (head !== undefined) {
      const place = { threadId: head.thread_id, namespace: head.checkpoint_ns };
      if (namespace === undefined || namespace === place.namespace) yield place;
      after = endOf(prefixOf("checkpoint", place.threadId, place.namespace));
    } else if (next === null) return;
    else after = next;
  }
}

function headOf(document: Document | undefined): Head | undefined {
  return document === undefined ? undefined : (document.fields as Head);
}
