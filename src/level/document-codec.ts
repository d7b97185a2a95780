import { Packr } from "msgpackr";
import type { Document, Fields } from "../documents/contract.js";
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

/** The fields in their stored form. */
export function encodeFields(fields: Fields): Buffer {
  return packr.pack(fields);
}

/** Puts a stored value together from encoded fields and what the commit adds. */
export function encodeDocument(
  key: Buffer,
  fields: Buffer,
  about: Omit<StoredDocument, "value">,
): StoredDocument & { readonly value: Buffer } {
  const value = Buffer.allocUnsafe(headerBytes + fields.length);
  value[sealBytes] = layout;
  value.writeDoubleBE(about.revision, 5);
  value.writeDoubleBE(about.createdRevision, 13);
  value.writeDoubleBE(about.createdAt, 21);
  value.writeDoubleBE(about.updatedAt, 29);
  value.writeDoubleBE(about.expiresAt, 37);
  fields.copy(value, headerBytes);
  seal(key, value);
  return {
    revision: about.revision,
    createdRevision: about.createdRevision,
    createdAt: about.createdAt,
    updatedAt: about.updatedAt,
    expiresAt: about.expiresAt,
    value,
  };
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

/** The encoded fields, for a write that keeps them. */
export function encodedFieldsOf(document: StoredDocument): Buffer {
  return document.value.subarray(headerBytes);
}

/** Bytes that count against the limit on fields. */
export function fieldsBytes(document: StoredDocument): number {
  return document.value.length - headerBytes;
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
export function lifetimeOf({ updatedAt, expiresAt }: StoredDocument): Lifetime {
  return { updatedAt, expiresAt };
}

/** Whether the document is absent at `now`. */
export function isExpired(document: StoredDocument, now: number): boolean {
  return document.expiresAt !== 0 && document.expiresAt <= now;
}

/** ISO 8601 in UTC, with milliseconds. */
export function toIso(instant: number): string {
  return new Date(instant).toISOString();
}

function describe(key: Buffer): string {
  const { shape, id } = parseDocumentKey(key);
  return `document ${shape}/${JSON.stringify(id)}`;
}
