import { createHash } from "node:crypto";
import { InvalidRequestError, TooLargeError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import { writeCanonicalJson } from "../documents/canonical-json.js";
import type { Fields, JsonValue } from "../documents/contract.js";
import { checkFields } from "../documents/json-value.js";

/*
 * What content is called, and how it lies in a document:
 *
 *     sha256-9f86d0...          bytes; the hash is theirs
 *     json-sha256-4f53cd...     JSON; the hash is of its RFC 8785 text
 *
 * The two kinds never meet, also when the bytes are the text of the JSON.
 */

/** Content as it is read: JSON or bytes. */
export type Content =
  | { readonly kind: "json"; readonly value: JsonValue }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array };

/** Content with its id, and the fields of its document. */
export interface Addressed {
  readonly id: string;
  readonly fields: Fields;
}

const formatNow = 1;

/**
 * The id and the document of content that somebody wants to keep. Bytes are what is a `Uint8Array`, a `Buffer` too;
 * everything else must be JSON.
 *
 * @throws InvalidRequestError, TooLargeError
 */
export function addressContent(content: unknown, limits: Limits): Addressed {
  if (content instanceof Uint8Array) return addressBytes(content, limits);
  if (content === undefined) throw new InvalidRequestError("content", "must be JSON or a Uint8Array, not undefined");
  const { content: value = null } = checkFields({ content }, "", limits);
  return { id: jsonId(value), fields: { format: formatNow, kind: "json", value } };
}

/** Whether a text could be the id of content. */
export function isContentId(id: unknown): id is string {
  return typeof id === "string" && /^(?:json-)?sha256-[0-9a-f]{64}$/.test(id);
}

/** What the fields of a document hold, if they are the content of that id. */
export function readContent(id: string, fields: Fields): Content | undefined {
  const { format, kind, value, base64 } = fields;
  if (format !== formatNow) return undefined;
  if (kind === "json" && value !== undefined) return jsonId(value) === id ? { kind, value } : undefined;
  if (kind !== "bytes" || typeof base64 !== "string") return undefined;
  const bytes = new Uint8Array(Buffer.from(base64, "base64"));
  return bytesId(bytes) === id ? { kind, bytes } : undefined;
}

function addressBytes(given: Uint8Array, limits: Limits): Addressed {
  // In a document bytes are base64 text, four characters for three of them; the other fields take a little more.
  const bytesMax = Math.floor(limits.fieldsBytesMax / 4) * 3;
  if (given.byteLength > bytesMax) {
    throw new TooLargeError("content", `has ${given.byteLength} bytes; a document holds at most ${bytesMax} of them`);
  }
  const base64 = Buffer.from(given.buffer, given.byteOffset, given.byteLength).toString("base64");
  return { id: bytesId(given), fields: { format: formatNow, kind: "bytes", base64 } };
}

function bytesId(bytes: Uint8Array): string {
  return `sha256-${createHash("sha256").update(bytes).digest("hex")}`;
}

/** The id of JSON. */
export function jsonId(value: JsonValue): string {
  return `json-sha256-${createHash("sha256").update(writeCanonicalJson(value), "utf8").digest("hex")}`;
}
