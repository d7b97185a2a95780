import { InvalidRequestError } from "../../../src/base/errors.js";
import type { Limits } from "../../../src/base/limits.js";
import type { Fields, JsonValue } from "../../../src/documents/contract.js";
import { checkFields } from "../../../src/documents/json-value.js";
import { pathTo, shown } from "../../../src/documents/request-members.js";
import { kindOf } from "../../../src/documents/value-kind.js";
import { entryId, keyFields } from "./entry-id.js";

/*
 * An entry is a document `{ value }`. Keyv gives a text, which it made of `{ value, expires }`; without serialisation it
 * gives that object itself. Both are kept as they are.
 */

/** A document that is to be written. */
export interface Entry {
  readonly id: string;
  readonly set: Fields;
  /** Seconds; null: for ever; absent: what the store says of the shape. */
  readonly ttl?: number | null;
}

/**
 * Judges what is to be set.
 *
 * @param ttl milliseconds
 * @param path names the entry in errors: "entries[3]"; "" when it is the only one
 * @throws InvalidRequestError for a key that is no string, a value that is not JSON, a ttl that is no number
 */
export function toEntry(key: unknown, value: unknown, ttl: unknown, path: string, limits: Limits): Entry {
  const text = checkKey(key, pathTo(path, "key"));
  const id = entryId(text, limits);
  // A member that is undefined is dropped: reading it gives undefined again.
  const set = { ...keyFields(text, id), ...checkFields({ value }, path, limits) };
  const seconds = ttlSeconds(ttl, pathTo(path, "ttl"), limits);
  return seconds === undefined ? { id, set } : { id, set, ttl: seconds };
}

/** @throws InvalidRequestError */
export function checkKey(key: unknown, path: string): string {
  if (typeof key !== "string") throw new InvalidRequestError(path, `must be a string, not ${kindOf(key)}`);
  return key;
}

/**
 * The store's ttl for one of Keyv's. Keyv takes none and 0 for "no end". What ends at once or has ended lives for the
 * shortest time there is; what outlives the longest has no end in the store, and Keyv's own `expires` still holds.
 *
 * @param ttl milliseconds
 */
function ttlSeconds(ttl: unknown, path: string, limits: Limits): number | null | undefined {
  if (ttl === undefined || ttl === null || ttl === 0) return undefined;
  if (typeof ttl !== "number" || Number.isNaN(ttl)) {
    throw new InvalidRequestError(path, `must be a number of milliseconds, not ${shown(ttl)}`);
  }
  const seconds = Math.ceil(ttl) / 1000;
  if (seconds > limits.ttlSecondsMax) return null;
  return Math.max(limits.ttlSecondsMin, seconds);
}

/**
 * How many bytes the store may count for a value, at most: texts to the byte, numbers as if each were the longest. It knows
 * the exact size only when it has the value.
 */
export function storedBytesMax(value: JsonValue): number {
  if (typeof value === "string") return 5 + Buffer.byteLength(value);
  if (typeof value !== "object" || value === null) return 9;
  if (Array.isArray(value)) return value.reduce<number>((sum, element) => sum + storedBytesMax(element), 5);
  return Object.entries(value).reduce((sum, [name, member]) => sum + storedBytesMax(name) + storedBytesMax(member), 5);
}
