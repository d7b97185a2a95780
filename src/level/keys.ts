/**
 * The keyspace. One byte says what an entry is; all numbers are fixed-width and big-endian, so that byte order is number
 * order.
 *
 *   d shape 0x00 id                       a document (a shape has no 0x00, so the first one ends it: no two pairs meet)
 *   l revision                            a group of commits, by its last revision
 *   m name                                facts about the store
 *   w number                              the write ids of a group, in the order of the groups
 *   x instant 0x00 revision part          documents of one group that expire at or shortly before `instant`
 *   x instant 0x01 document-key           one document that expires at `instant`
 */
const documentTag = "d";
const logTag = 0x6c;
const metaTag = "m";
const writeIdTag = 0x77;
const expiryTag = 0x78;

/** The key of a document. */
export function documentKey(shape: string, id: string): Buffer {
  return Buffer.from(`${documentTag}${shape}\u0000${id}`, "utf8");
}

/** The name under which a document is locked and staged; as injective as its key. */
export function documentName(shape: string, id: string): string {
  return `${shape}\u0000${id}`;
}

/** The shape and id in a document's key. */
export function parseDocumentKey(key: Buffer): { shape: string; id: string } {
  const end = key.indexOf(0);
  return { shape: key.toString("latin1", 1, end), id: key.toString("utf8", end + 1) };
}

/** The keys of a shape's documents whose ids begin with `prefix`: from `start`, before `end`. */
export function documentRange(shape: string, prefix: string): { start: Buffer; end: Buffer } {
  const start = documentKey(shape, prefix);
  return { start, end: after(start) };
}

/** The keys of every document of every shape. */
export function everyDocument(): { gte: Buffer; lt: Buffer } {
  return tagRange(documentTag.charCodeAt(0));
}

/** The first key behind all keys that begin with `prefix`. */
function after(prefix: Buffer): Buffer {
  const bound = Buffer.from(prefix);
  for (let index = bound.length - 1; index >= 0; index--) {
    const byte = bound[index] ?? 0;
    if (byte < 0xff) {
      bound[index] = byte + 1;
      return bound.subarray(0, index + 1);
    }
  }
  // Every key begins with one of our tags, none of which is 0xff.
  return bound;
}

function tagRange(tag: number): { gte: Buffer; lt: Buffer } {
  return { gte: Buffer.from([tag]), lt: Buffer.from([tag + 1]) };
}

function tagAndNumber(tag: number, value: number, extraBytes = 0): Buffer {
  const key = Buffer.allocUnsafe(9 + extraBytes);
  key[0] = tag;
  writeUint64(key, value, 1);
  return key;
}

/** Writes a safe non-negative integer as eight big-endian bytes. */
export function writeUint64(target: Buffer, value: number, offset: number): void {
  const high = Math.floor(value / 0x1_0000_0000);
  target.writeUInt32BE(high, offset);
  target.writeUInt32BE(value - high * 0x1_0000_0000, offset + 4);
}

/** Reads what `writeUint64` wrote. */
export function readUint64(source: Buffer, offset: number): number {
  return source.readUInt32BE(offset) * 0x1_0000_0000 + source.readUInt32BE(offset + 4);
}

export function logKey(lastRevision: number): Buffer {
  return tagAndNumber(logTag, lastRevision);
}

export function everyLogEntry(): { gte: Buffer; lt: Buffer } {
  return tagRange(logTag);
}

/** The number in the key of a log entry (its last revision) or of a group of write ids. */
export function numberOfKey(key: Buffer): number {
  return readUint64(key, 1);
}

export function metaKey(name: string): Buffer {
  return Buffer.from(`${metaTag}${name}`, "utf8");
}

export function everyMeta(): { gte: Buffer; lt: Buffer } {
  return tagRange(metaTag.charCodeAt(0));
}

export function writeIdKey(number: number): Buffer {
  return tagAndNumber(writeIdTag, number);
}

export function everyWriteIdEntry(): { gte: Buffer; lt: Buffer } {
  return tagRange(writeIdTag);
}

/** The key of an expiry entry that a group's documents share. */
export function sharedExpiryKey(instant: number, lastRevision: number, part: number): Buffer {
  const key = tagAndNumber(expiryTag, instant, 11);
  key[9] = 0;
  writeUint64(key, lastRevision, 10);
  key.writeUInt16BE(part, 18);
  return key;
}

/** The key of an expiry entry that belongs to one document. */
export function ownExpiryKey(deadline: number, document: Buffer): Buffer {
  const key = tagAndNumber(expiryTag, deadline, 1 + document.length);
  key[9] = 1;
  document.copy(key, 10);
  return key;
}

/** Where no entry of any kind lies. */
export function unusedRanges(): { gte: Buffer; lt: Buffer }[] {
  const used = [documentTag.charCodeAt(0), logTag, metaTag.charCodeAt(0), writeIdTag, expiryTag];
  const bounds = [0, ...used.flatMap((tag) => [tag, tag + 1]), 0xff];
  const ranges: { gte: Buffer; lt: Buffer }[] = [];
  for (let index = 0; index < bounds.length; index += 2) {
    const [from = 0, to = 0] = bounds.slice(index, index + 2);
    // A key of the byte 0xff alone and whatever follows it lies behind every range.
    const lt = to === 0xff ? Buffer.alloc(64, 0xff) : Buffer.from([to]);
    if (from < to) ranges.push({ gte: from === 0 ? Buffer.alloc(0) : Buffer.from([from]), lt });
  }
  return ranges;
}

/** What an expiry entry's key says. */
export function parseExpiryKey(key: Buffer): { instant: number; document: Buffer | undefined } {
  return { instant: readUint64(key, 1), document: key[9] === 1 ? key.subarray(10) : undefined };
}

/** The expiry entries that are due at `now`: from the front, before `lt`. */
export function expiryRange(now: number): { gte: Buffer; lt: Buffer } {
  return { gte: tagRange(expiryTag).gte, lt: tagAndNumber(expiryTag, now + 1) };
}

export function everyExpiryEntry(): { gte: Buffer; lt: Buffer } {
  return tagRange(expiryTag);
}
