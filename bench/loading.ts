import type { DocumentStore, Fields } from "../src/documents/contract.js";
import { WrongResultError } from "./checks.js";

/** Batches under way at a time: while one group is written to disk, the next one is made ready. */
const batchesInFlight = 4;

/** A document to be loaded. */
export interface LoadedDocument {
  readonly id: string;
  readonly fields: Fields;
  /** Seconds to live; for ever when absent. */
  readonly ttl?: number;
}

/** Which documents to load: those with the numbers from `from` up to but not including `to`. */
export interface Loading {
  readonly shape: string;
  readonly from: number;
  readonly to: number;
  document(number: number): LoadedDocument;
}

/**
 * Fills a store as fast as its contract allows: batches as large as it takes, several at a time. All documents must be
 * new.
 */
export async function loadDocuments(store: DocumentStore, { shape, from, to, document }: Loading): Promise<void> {
  const size = store.limits.batchOperationsMax;
  let next = from;
  const load = async (): Promise<void> => {
    while (next < to) {
      const begin = next;
      next = Math.min(to, begin + size);
      const documents = Array.from({ length: next - begin }, (_, index) => document(begin + index));
      const { results } = await store.batch(
        documents.map(({ id, fields: set, ttl = null }) => ({ op: "put", shape, id, set, ttl })),
      );
      if (results.length !== documents.length || !results.every(({ created }) => created)) {
        throw new WrongResultError("a document that was to be loaded was there already");
      }
    }
  };
  await Promise.all(Array.from({ length: batchesInFlight }, load));
}
