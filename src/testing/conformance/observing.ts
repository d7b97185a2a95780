import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import type { Commit, Document, DocumentStore, ListOptions } from "../../documents/contract.js";
import { soon } from "./case.js";

/**
 * Does something again and again until the work is done, at least once. A fault of either ends both, and other tasks of
 * the process get their turn in between, as they would among real requests.
 */
export async function during(work: Promise<unknown>, look: () => Promise<void>): Promise<void> {
  let running = true;
  const ended = work.finally(() => {
    running = false;
  });
  // Awaited below; until then a fault of the work must not count as unhandled.
  ended.catch(() => undefined);
  do {
    await look();
    await setImmediate();
  } while (running);
  await ended;
}

/** The document, which must be there. */
export async function present(store: DocumentStore, shape: string, id: string): Promise<Document> {
  const document = await store.getDocument(shape, id);
  assert.ok(document !== undefined, `${shape}/${JSON.stringify(id)} must be there`);
  return document;
}

/** A document without the instant of the answer, to compare answers that were made at different times. */
export function timeless(document: Document | null | undefined): Omit<Document, "as_of"> | null {
  if (document === null || document === undefined) return null;
  const { as_of: _, ...rest } = document;
  return rest;
}

/** The newest revision of the store, as a reader learns it. */
export async function revisionOf(store: DocumentStore, shape: string): Promise<number> {
  return (await store.list(shape, { limit: 1 })).revision;
}

/** The ids of all pages, by following the cursor to its end. */
export async function listedIds(store: DocumentStore, shape: string, options: ListOptions = {}): Promise<string[]> {
  const ids: string[] = [];
  let after = options.after;
  for (let page = 0; page < 10_000; page++) {
    const { documents, next } = await store.list(shape, { ...options, ...(after === undefined ? {} : { after }) });
    ids.push(...documents.map((document) => document.id));
    if (next === null) return ids;
    after = next;
  }
  assert.fail("the list does not end");
}

/** The ids of a scan. */
export async function scannedIds(store: DocumentStore, shape: string, prefix?: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const document of store.scan(shape, prefix === undefined ? {} : { prefix })) ids.push(document.id);
  return ids;
}

/** Reads commits that carry changes, one after the other; bookmarks are skipped. */
export class CommitReader {
  readonly #iterator: AsyncIterator<Commit>;

  constructor(commits: AsyncIterable<Commit>) {
    this.#iterator = commits[Symbol.asyncIterator]();
  }

  /** The next commit with changes; waits for it. */
  async next(): Promise<Commit> {
    for (;;) {
      const { value, done } = await soon(this.#iterator.next(), "the next commit");
      assert.ok(done !== true, "the watch ended");
      if (value.changes.length > 0) return value;
    }
  }

  async take(count: number): Promise<Commit[]> {
    const commits: Commit[] = [];
    while (commits.length < count) commits.push(await this.next());
    return commits;
  }

  /** Ends the watch, as leaving a `for await` loop does. */
  async end(): Promise<void> {
    await this.#iterator.return?.();
  }
}

/** Reads `count` commits with changes, then ends the watch. */
export async function takeCommits(commits: AsyncIterable<Commit>, count: number): Promise<Commit[]> {
  const reader = new CommitReader(commits);
  try {
    return await reader.take(count);
  } finally {
    await reader.end();
  }
}

/** Iterates until the end or an error, for those that must fail. */
export async function drain(items: () => AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items()) {
    // Only the end matters.
  }
}

/** What the changes of some commits say, in short: `type id`. */
export function summary(commits: readonly Commit[]): string[] {
  return commits.flatMap((commit) => commit.changes.map((change) => `${change.type} ${change.id}`));
}
