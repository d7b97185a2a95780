import { createHash } from "node:crypto";
import type { Limits } from "../../../src/base/limits.js";
import type { Fields } from "../../../src/documents/contract.js";
import { isWellFormed } from "../../../src/documents/well-formed.js";

/*
 * Keys of Keyv are any strings of JavaScript, ids of documents are not. A key that can be an id is one, so that people find
 * it; every other one goes under the hash of itself, and its document says which key it is:
 *
 *     keyv:user-7                 the key itself
 *     sha256:2c26b46b68ffc6...    a key that is empty, too long, not well-formed, or begins like these
 */

const hashedPrefix = "sha256:";

/** The id of a key's document. Two keys never have the same one. */
export function entryId(key: string, limits: Limits): string {
  if (key !== "" && !key.startsWith(hashedPrefix) && mayBeIdPart(key, limits)) return key;
  return `${hashedPrefix}${createHash("sha256").update(keyText(key)).digest("hex")}`;
}

/** What the document must hold besides the value, so that its key can be read from it. */
export function keyFields(key: string, id: string): Fields {
  return id === key ? {} : { key: keyText(key) };
}

/** The key of a document; undefined when the document is none of this adapter's. */
export function entryKey(id: string, fields: Fields): string | undefined {
  if (!id.startsWith(hashedPrefix)) return id;
  const text = fields["key"];
  if (typeof text !== "string") return undefined;
  try {
    const key: unknown = JSON.parse(text);
    return typeof key === "string" ? key : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Prefixes of ids under which lie, each once, all keys that begin with `keyPrefix`, and some others: a hash does not show
 * how its key begins.
 */
export function idPrefixes(keyPrefix: string, limits: Limits): string[] {
  if (hashedPrefix.startsWith(keyPrefix)) return [keyPrefix];
  if (keyPrefix.startsWith(hashedPrefix) || !mayBeIdPart(keyPrefix, limits)) return [hashedPrefix];
  return [keyPrefix, hashedPrefix];
}

function mayBeIdPart(text: string, limits: Limits): boolean {
  return text.length <= limits.idBytesMax && isWellFormed(text) && Buffer.byteLength(text) <= limits.idBytesMax;
}

/** As JSON a lone surrogate is an escape, and stays what it is: in UTF-8 all of them would be the same. */
function keyText(key: string): string {
  return JSON.stringify(key);
}
