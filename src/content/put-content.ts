import { OnceKvError } from "../base/errors.js";
import type { AnyShapes, Document, DocumentStore } from "../documents/contract.js";
import { checkShape } from "../documents/names.js";
import { PreconditionFailedError } from "../documents/precondition-failed.js";
import { readMembers } from "../documents/request-members.js";
import { checkTtl } from "../documents/time-to-live.js";
import { type Addressed, addressContent } from "./content-id.js";
import { damaged, verified } from "./get-content.js";

/** How content is kept. */
export interface PutContentOptions {
  /**
   * Seconds for which the content must be kept, at least; null or absent: for ever. Content that is there already for longer
   * stays for longer: whoever wrote it first may count on it.
   */
  readonly ttl?: number | null | undefined;
}

/** What keeping content came to. */
export interface PutContentResult {
  /** `sha256-` or `json-sha256-` and 64 digits: for `getContent`. */
  readonly id: string;
  /** Whether the content was there already. */
  readonly was_replay: boolean;
  /** When it was written first: ISO 8601, UTC, by the store's clock. */
  readonly original_written_at: string;
  /** null: never. */
  readonly expires_at: string | null;
}

const members: ReadonlySet<string> = new Set(["ttl"]);

/**
 * Keeps content under the hash of itself: written a second time, by anybody, it is the same document. No other key and no
 * table is needed for the write to happen once.
 *
 * @param content JSON, or bytes as a `Uint8Array`
 * @throws InvalidRequestError; TooLargeError when a document cannot hold it; `store_damaged` when what is there under its
 * id is something else; what the store throws
 */
export async function putContent<Shapes = AnyShapes>(
  store: DocumentStore<Shapes>,
  shape: string,
  content: unknown,
  options: PutContentOptions = {},
): Promise<PutContentResult> {
  // Content has its own shape: how the others are typed does not matter here.
  const untyped = store as unknown as DocumentStore;
  readMembers(options, "", "the options", members);
  const ttl = options.ttl ?? null;
  const ttlMs = checkTtl(ttl, "ttl", store.limits);
  const target = { shape: checkShape(shape, "shape"), ...addressContent(content, store.limits) };
  for (;;) {
    const created = await create(untyped, target, ttl);
    if (created !== undefined) return toResult(created, false);
    const found = await keepFor(untyped, target, ttl, ttlMs);
    if (found !== undefined) return toResult(found, true);
    // It was there, and has gone since.
  }
}

type Target = Addressed & { readonly shape: string };

/** undefined: something is there. */
async function create(
  store: DocumentStore,
  { shape, id, fields }: Target,
  ttl: number | null,
): Promise<Document | undefined> {
  try {
    const write = { shape, id, set: fields, ttl, if_match: { exists: false }, return: "document" } as const;
    const { document } = await store.put(write);
    return document ?? (await store.getDocument(shape, id));
  } catch (error) {
    if (error instanceof PreconditionFailedError) return undefined;
    throw error;
  }
}

/**
 * Sees to it that content which is there stays for long enough.
 *
 * @returns undefined: it has gone
 */
async function keepFor(
  store: DocumentStore,
  { shape, id }: Target,
  ttl: number | null,
  ttlMs: number | null,
): Promise<Document | undefined> {
  for (;;) {
    const document = await store.getDocument(shape, id);
    if (document === undefined) return undefined;
    if (verified(document) === undefined) throw damaged(shape, id);
    if (lastsFor(document, ttlMs)) return document;
    try {
      // On the revision that was read: somebody who wants it for longer may come first.
      const write = { shape, id, ttl, if_match: { revision: document.revision }, return: "document" } as const;
      const { document: prolonged } = await store.patch(write);
      if (prolonged) return prolonged;
    } catch (error) {
      if (error instanceof PreconditionFailedError) continue;
      if (error instanceof OnceKvError && error.code === "not_found") return undefined;
      throw error;
    }
  }
}

function lastsFor({ expires_at, as_of }: Document, ttlMs: number | null): boolean {
  if (expires_at === null) return true;
  return ttlMs !== null && Date.parse(expires_at) - Date.parse(as_of) >= ttlMs;
}

function toResult({ id, created_at, expires_at }: Document, wasReplay: boolean): PutContentResult {
  return { id, was_replay: wasReplay, original_written_at: created_at, expires_at };
}
