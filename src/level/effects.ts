import { invariant } from "../base/errors.js";
import type { BatchResult, WriteResult } from "../documents/contract.js";
import { decodeDocument, type StoredDocument, toDocument, toIso } from "./document-codec.js";
import type { PreparedWrite } from "./prepared-write.js";
import type { NotedResult } from "./write-ids.js";

/** What one operation did, before it is put into words. */
export interface Effect {
  readonly expiresAt: number;
  readonly created: boolean;
  /** The document to give back; null: there is none; undefined: none was asked for. */
  readonly document: StoredDocument | null | undefined;
}

/** Puts what the operations did into words; `now` is when the answer is made. */
export function answerOf(
  prepared: readonly PreparedWrite[],
  revision: number,
  effects: readonly Effect[],
  now: number,
): BatchResult {
  const results = effects.map(({ expiresAt, created, document }, index): WriteResult => {
    const result = { revision, expires_at: expiresAt === 0 ? null : toIso(expiresAt), created };
    if (document === undefined) return result;
    const { write } = prepared[index] as PreparedWrite;
    return { ...result, document: document === null ? null : toDocument(write.shape, write.id, document, now) };
  });
  return { revision, results };
}

/** What is remembered of an effect under its write id. */
export function toNoted({ expiresAt, created, document }: Effect): NotedResult {
  if (document === undefined) return [expiresAt, created];
  return [expiresAt, created, document === null ? null : document.value];
}

/** The effect that a note remembers. */
export function fromNoted([expiresAt, created, value]: NotedResult, key: Buffer | undefined): Effect {
  if (value === undefined || value === null) return { expiresAt, created, document: value };
  invariant(key !== undefined, "a note has as many results as its request has operations");
  return { expiresAt, created, document: decodeDocument(key, value) };
}
