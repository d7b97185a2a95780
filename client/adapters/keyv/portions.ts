import { OnceKvError, TooLargeError } from "../../../src/base/errors.js";
import type { Limits } from "../../../src/base/limits.js";
import type { Document, DocumentStore } from "../../../src/documents/contract.js";
import { PreconditionFailedError } from "../../../src/documents/precondition-failed.js";
import { type Entry, storedBytesMax } from "./entry.js";

/*
 * Keyv sets no bounds to how many keys one call names, a store does. Here calls become as few requests as the bounds allow.
 */

/** The documents of the ids, in their order, whatever their number and size. */
export async function readAll(
  store: DocumentStore,
  shape: string,
  ids: readonly string[],
): Promise<(Document | undefined)[]> {
  const documents: (Document | undefined)[] = [];
  for (const portion of portionsOf(ids, store.limits.getManyKeysMax)) {
    documents.push(...(await readPortion(store, shape, portion)));
  }
  return documents;
}

async function readPortion(
  store: DocumentStore,
  shape: string,
  ids: readonly string[],
): Promise<(Document | undefined)[]> {
  try {
    return await store.getMany(ids.map((id) => ({ shape, id })));
  } catch (error) {
    if (!isTooLarge(error) || ids.length === 1) throw error;
    const [first, second] = halvesOf(ids);
    return [...(await readPortion(store, shape, first)), ...(await readPortion(store, shape, second))];
  }
}

/**
 * Removes the documents of the ids, each portion in one commit.
 *
 * @returns whether at least one of them was there
 */
export async function deleteAll(store: DocumentStore, shape: string, ids: readonly string[]): Promise<boolean> {
  let deleted = false;
  // A batch may name a document once.
  for (const portion of portionsOf([...new Set(ids)], store.limits.batchOperationsMax)) {
    if (await deletePortion(store, shape, portion)) deleted = true;
  }
  return deleted;
}

async function deletePortion(store: DocumentStore, shape: string, ids: readonly string[]): Promise<boolean> {
  const condition = { exists: true };
  for (let left = ids; left.length > 0; ) {
    try {
      await store.batch(left.map((id) => ({ op: "delete", shape, id, if_match: condition })));
      return true;
    } catch (error) {
      if (error instanceof PreconditionFailedError && error.failures.length > 0) {
        // Only so is it known which were there, without reading their values.
        const absent = new Set(error.failures.map(({ index }) => index));
        left = left.filter((_, index) => !absent.has(index));
      } else if (isTooLarge(error) && left.length > 1) {
        // The documents that one commit touches are in memory together, and that is bounded too.
        const [first, second] = halvesOf(left);
        const deletedFirst = await deletePortion(store, shape, first);
        return (await deletePortion(store, shape, second)) || deletedFirst;
      } else throw error;
    }
  }
  return false;
}

/**
 * Writes entries: in one commit if it can hold them, else in several.
 *
 * @throws TooLargeError before anything is written. When one commit can hold them the store measures them; else an entry is
 * refused when it might be over the limit, since the commits before its own could not be taken back.
 */
export async function writeAll(store: DocumentStore, shape: string, entries: readonly Entry[]): Promise<void> {
  const commits = commitsOf(entries, store.limits);
  for (const commit of commits) {
    await store.batch(commit.map((entry) => ({ op: "put", shape, ...entry })));
  }
}

/** @throws TooLargeError */
function commitsOf(entries: readonly Entry[], limits: Limits): Entry[][] {
  const commits: Entry[][] = [];
  let commit: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = storedBytesMax(entry.set);
    if (commit.length > 0 && (commit.length === limits.batchOperationsMax || bytes + size > limits.batchBytesMax)) {
      commits.push(commit);
      commit = [];
      bytes = 0;
    }
    commit.push(entry);
    bytes += size;
  }
  if (commit.length > 0) commits.push(commit);
  if (commits.length > 1) for (const entry of entries) checkSize(entry, limits);
  return commits;
}

function checkSize({ id, set }: Entry, limits: Limits): void {
  const bytes = storedBytesMax(set);
  if (bytes <= limits.fieldsBytesMax) return;
  const problem = `may take ${bytes} bytes; the limit of a document is ${limits.fieldsBytesMax}`;
  throw new TooLargeError("entries", `that of ${JSON.stringify(id)} ${problem}`);
}

function portionsOf<Item>(items: readonly Item[], size: number): Item[][] {
  const portions: Item[][] = [];
  for (let start = 0; start < items.length; start += size) portions.push(items.slice(start, start + size));
  return portions;
}

function halvesOf<Item>(items: readonly Item[]): [Item[], Item[]] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
}

function isTooLarge(error: unknown): boolean {
  return error instanceof OnceKvError && error.code === "too_large";
}
