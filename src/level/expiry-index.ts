import type { StagedChange } from "./commit.js";
import type { Lifetime } from "./document-codec.js";
import { ownExpiryKey, parseExpiryKey, readUint64, sharedExpiryKey, writeUint64 } from "./keys.js";
import type { LevelOperation } from "./level.js";
import { checkSeal, seal, sealBytes } from "./sealed.js";

/**
 * The expiry index, in the order of time: what the sweeper walks, so that its work grows with what is due and not with
 * what lives.
 *
 * A deadline more than an hour ahead has an entry of its own, which goes when its document is written again. Nearer
 * deadlines (claims, leases) come and go too fast for that: the documents of one group share an entry for each tenth of
 * a second, and when a document is written again its old mention stays behind, stale. The sweeper therefore trusts no
 * mention: it deletes only a document that still has the revision that was indexed and has expired.
 */
const ownEntryFromMs = 60 * 60 * 1000;

/** Deadlines in one shared entry lie within this many milliseconds; the sweeper comes at their end. */
const sharedSpanMs = 100;

/** Documents in one shared entry, so that a step of the sweeper stays short. */
const sharedDocumentsMax = 256;

/** One document that the index mentions. */
export interface ExpiryMention {
  readonly deadline: number;
  readonly revision: number;
  readonly key: Buffer;
}

/** Whether this state of a document has an index entry of its own. */
export function hasOwnEntry(document: Lifetime): boolean {
  return document.expiresAt !== 0 && document.expiresAt - document.updatedAt > ownEntryFromMs;
}

/** When the sweeper comes for a deadline in a shared entry. */
function sharedInstant(deadline: number): number {
  return Math.ceil(deadline / sharedSpanMs) * sharedSpanMs;
}

/** The key of the entry that belongs to this state of a document. */
export function ownKeyOf(key: Buffer, document: Lifetime): Buffer {
  return ownExpiryKey(document.expiresAt, key);
}

/** A commit, as far as the index looks at it. */
export interface IndexedCommit {
  readonly changes: readonly Pick<StagedChange, "key" | "document" | "previous">[];
}

/** What a group of commits changes in the index. */
export function indexOperations(commits: readonly IndexedCommit[], lastRevision: number): LevelOperation[] {
  const operations: LevelOperation[] = [];
  let shared: Map<number, ExpiryMention[]> | undefined;
  for (const commit of commits) {
    for (const { key, document, previous } of commit.changes) {
      if (previous !== undefined && hasOwnEntry(previous)) {
        operations.push({ type: "del", key: ownKeyOf(key, previous) });
      }
      if (document === undefined || document.expiresAt === 0) continue;
      if (hasOwnEntry(document)) {
        const entry = ownKeyOf(key, document);
        const value = Buffer.allocUnsafe(sealBytes + 8);
        writeUint64(value, document.revision, sealBytes);
        operations.push({ type: "put", key: entry, value: seal(entry, value) });
      } else {
        shared ??= new Map();
        const instant = sharedInstant(document.expiresAt);
        const mentions = shared.get(instant);
        const mention = { deadline: document.expiresAt, revision: document.revision, key };
        if (mentions === undefined) shared.set(instant, [mention]);
        else mentions.push(mention);
      }
    }
  }
  if (shared !== undefined) {
    for (const [instant, mentions] of shared) {
      for (let from = 0, part = 0; from < mentions.length; from += sharedDocumentsMax, part++) {
        const entry = sharedExpiryKey(instant, lastRevision, part);
        operations.push({
          type: "put",
          key: entry,
          value: encodeMentions(entry, mentions.slice(from, from + sharedDocumentsMax)),
        });
      }
    }
  }
  return operations;
}

/** The documents that an entry mentions; `store_damaged` when the entry is not what was written. */
export function decodeExpiryEntry(entry: Buffer, value: Buffer): ExpiryMention[] {
  checkSeal(entry, value, () => "an entry of the expiry index");
  const { instant, document } = parseExpiryKey(entry);
  if (document !== undefined) {
    return [{ deadline: instant, revision: readUint64(value, sealBytes), key: document }];
  }
  const mentions: ExpiryMention[] = [];
  let offset = sealBytes;
  while (offset < value.length) {
    const keyEnd = offset + 18 + value.readUInt16BE(offset + 16);
    mentions.push({
      deadline: readUint64(value, offset),
      revision: readUint64(value, offset + 8),
      key: value.subarray(offset + 18, keyEnd),
    });
    offset = keyEnd;
  }
  return mentions;
}

function encodeMentions(entry: Buffer, mentions: readonly ExpiryMention[]): Buffer {
  let size = sealBytes;
  for (const { key } of mentions) size += 18 + key.length;
  const value = Buffer.allocUnsafe(size);
  let offset = sealBytes;
  for (const { deadline, revision, key } of mentions) {
    writeUint64(value, deadline, offset);
    writeUint64(value, revision, offset + 8);
    value.writeUInt16BE(key.length, offset + 16);
    offset += 18 + key.copy(value, offset + 18);
  }
  return seal(entry, value);
}
