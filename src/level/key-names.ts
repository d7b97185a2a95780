import { isShape } from "../documents/names.js";
import { numberOfKey, parseDocumentKey, parseExpiryKey } from "./keys.js";

const tags = { document: 0x64, log: 0x6c, fact: 0x6d, writeIds: 0x77, expiry: 0x78 } as const;

/** What kind of entry a key is of; undefined: of none that this version writes. */
export function kindOfKey(key: Buffer): keyof typeof tags | undefined {
  switch (key[0]) {
    case tags.document:
      return documentOfKey(key) === undefined ? undefined : "document";
    case tags.log:
      return key.length === 9 ? "log" : undefined;
    case tags.fact:
      return key.length > 1 ? "fact" : undefined;
    case tags.writeIds:
      return key.length === 9 ? "writeIds" : undefined;
    case tags.expiry:
      return key.length > 10 ? "expiry" : undefined;
    default:
      return undefined;
  }
}

/** The shape and id in a key that may be damaged; undefined when no document can have that key. */
export function documentOfKey(key: Buffer): { shape: string; id: string } | undefined {
  const end = key.indexOf(0);
  if (key[0] !== tags.document || end < 2 || end === key.length - 1) return undefined;
  const { shape, id } = parseDocumentKey(key);
  return isShape(shape) && Buffer.from(id, "utf8").equals(key.subarray(end + 1)) ? { shape, id } : undefined;
}

/** A key in words, for people. */
export function describeKey(key: Buffer): string {
  switch (kindOfKey(key)) {
    case "document": {
      const { shape, id } = parseDocumentKey(key);
      return `document ${shape}/${JSON.stringify(id)}`;
    }
    case "log":
      return `log entry of revision ${numberOfKey(key)}`;
    case "fact":
      return `the store's own entry ${JSON.stringify(key.toString("latin1", 1))}`;
    case "writeIds":
      return `entry ${numberOfKey(key)} of the write ids`;
    case "expiry": {
      const { instant, document } = parseExpiryKey(key);
      const at = instant <= 8.64e15 ? new Date(instant).toISOString() : `${instant}`;
      return document === undefined
        ? `shared entry of the expiry index at ${at}`
        : `entry of the expiry index at ${at} for ${describeKey(document)}`;
    }
    default:
      return `key 0x${key.subarray(0, 40).toString("hex")}`;
  }
}
