import { Packr, RESERVE_START_SPACE } from "msgpackr";
import type { Document, Fields } from "../documents/contract.js";
import { toIso } from "./iso-time.js";
import { parseDocumentKey } from "./keys.js";
import { checkSeal, damaged, seal, sealBytes } from "./sealed.js";

/**
 * A stored document: checksum, layout version, five numbers, then the fields in MessagePack. The numbers have fixed
 * places, so that a condition on the revision, or the judgement whether a document has expired, decodes no fields.
 *
 *   0  checksum    4  layout    5  revision    13  created_revision
 *   21 created_at  29 updated_at  37 expires_at (0: never)  45 fields
 *
 * MessagePack is written without shared structures: a value says what it is without help from any other entry. Objects
 * whose member is called `toJSON` or `constructor` are data, not hooks; `__proto__`, which msgpackr would rename, is
 * refused before it comes here (src/documents/json-value.ts).
 */
const layout = 1;
const headerBytes = 45;

const packr = new Packr({ useRecords: false, mapsAsObjects: true, variableMapSize: true, useToJSON: false });

/** When a state of a document was written, and when it ends. */
export interface Lifetime {
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
  /** Milliseconds since 1970; 0: never. */
  readonly expiresAt: number;
}

/** A document as it is stored. */
export interface StoredDocument extends Lifetime {
  readonly revision: number;
  readonly createdRevision: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** The whole stored value. */
  readonly value: Buffer;
}

/** A stored value whose fields are there and whose head is still to be filled in; it belongs to one write. */
export interface Draft {
  readonly value: Buffer;
}

/**
 * Drafts share the encoder's memory with their neighbours while that is a small piece of memory. A large document makes it
 * grow, and the pieces after it are as large: there a small document, kept for long, would keep megabytes.
 */
const sharedBytesMax = 16 * 1024;

/** The fields in their stored form, behind room for the head: nothing is copied when the head is known. */
export function draftOf(fields: Fields): Draft {
  const value = packr.pack(fields, RESERVE_START_SPACE + headerBytes);
  return { value: value.buffer.byteLength > sharedBytesMax ? Buffer.from(value) : value };
}

/** A draft with the fields of a stored document, for a write that keeps them. */
export function draftLike(document: StoredDocument): Draft {
  return { value: Buffer.from(document.value) };
}

/** Fills in the head of a draft: `document.value` is the draft's, the rest is what the head says. */
export function completeDraft(key: Buffer, document: StoredDocument): void {
  const { value } = document;
  value[sealBytes] = layout;
  value.writeDoubleBE(document.revision, 5);
  value.writeDoubleBE(document.createdRevision, 13);
  value.writeDoubleBE(document.createdAt, 21);
  value.writeDoubleBE(document.updatedAt, 29);
  value.writeDoubleBE(document.expiresAt, 37);
  seal(key, value);
}

/** Reads a stored value; `store_damaged` when it is not what was written under this key. */
export function decodeDocument(key: Buffer, value: Buffer): StoredDocument {
  checkSeal(key, value, () => describe(key));
  if (value.length < headerBytes || value[sealBytes] !== layout) {
    throw damaged(`${describe(key)} has an unknown layout`);
  }
  return {
    revision: value.readDoubleBE(5),
    createdRevision: value.readDoubleBE(13),
    createdAt: value.readDoubleBE(21),
    updatedAt: value.readDoubleBE(29),
    expiresAt: value.readDoubleBE(37),
    value,
  };
}

/** The fields of a stored document, decoded anew at each call: what a caller does to them changes nothing here. */
export function fieldsOf(document: StoredDocument): Fields {
  return packr.unpack(document.value.subarray(headerBytes)) as Fields;
}

/** Bytes that count against the limit on fields. */
export function fieldsBytes({ value }: Draft): number {
  return value.length - headerBytes;
}

/** The document as callers see it. */
export function toDocument(shape: string, id: string, document: StoredDocument, now: number): Document {
  return {
    shape,
    id,
    fields: fieldsOf(document),
    revision: document.revision,
    created_revision: document.createdRevision,
    created_at: toIso(document.createdAt),
    updated_at: toIso(document.updatedAt),
    expires_at: document.expiresAt === 0 ? null : toIso(document.expiresAt),
    as_of: toIso(now),
  };
}

/** The lifetime alone, for whoever would otherwise keep the whole document in memory. */
export function lifetimeOf({ updatedAt, expiresAt }: Lifetime): Lifetime {
  return { updatedAt, expiresAt };
}

/** Whether the document is absent at `now`. */
export function isExpired(document: Pick<Lifetime, "expiresAt">, now: number): boolean {
  return document.expiresAt !== 0 && document.expiresAt <= now;
}

function describe(key: Buffer): string {
  const { shape, id } = parseDocumentKey(key);
  return `document ${shape}/${JSON.stringify(id)}`;
}
