import type { FileHandle } from "node:fs/promises";
import { decompressSnappy } from "./snappy.js";

/*
 * The blocks of LevelDB's table files, as bytes. A block of entries holds each key as what it shares with the one before and
 * what is its own; behind the entries stand the places at which a key is written out in full, and their number.
 */

/** Behind each block: its compression (one byte) and a masked CRC-32C. */
export const trailerBytes = 5;

/** No block of ours is larger: it is cut at the first entry beyond 4 KiB, and an entry has at most a log group. */
const blockBytesMax = 256 * 1024 * 1024;

/** Where a block is, its trailer not counted. */
export interface BlockPlace {
  readonly offset: number;
  readonly bytes: number;
}

export interface BlockEntry {
  readonly key: Buffer;
  readonly value: Buffer;
}

/** The contents of a block; undefined when it is not what was written. */
export async function readBlock(
  handle: FileHandle,
  size: number,
  { offset, bytes }: BlockPlace,
): Promise<Buffer | undefined> {
  if (bytes > blockBytesMax || offset + bytes + trailerBytes > size) return undefined;
  const block = Buffer.allocUnsafe(bytes + trailerBytes);
  await handle.read(block, 0, block.length, offset);
  if (masked(crc32c(block.subarray(0, bytes + 1))) !== block.readUInt32LE(bytes + 1)) return undefined;
  const contents = block.subarray(0, bytes);
  switch (block[bytes]) {
    case 0:
      return contents;
    case 1:
      return decompressSnappy(contents);
    default:
      return undefined;
  }
}

/** The entries of a block; undefined when they are no entries. */
export function parseEntries(contents: Buffer): BlockEntry[] | undefined {
  if (contents.length < 4) return undefined;
  const restarts = contents.readUInt32LE(contents.length - 4);
  const end = contents.length - 4 - restarts * 4;
  if (end < 0) return undefined;
  const reading = new Reading(contents.subarray(0, end));
  const entries: BlockEntry[] = [];
  let key: Buffer = Buffer.alloc(0);
  while (!reading.atEnd) {
    const [shared, own, valueBytes] = [reading.varint(), reading.varint(), reading.varint()];
    if (shared > key.length) return undefined;
    key = Buffer.concat([key.subarray(0, shared), reading.take(own)]);
    const value = reading.take(valueBytes);
    if (reading.failed) return undefined;
    entries.push({ key, value });
  }
  return entries;
}

/** Keys between two that are written out in full. */
const restartInterval = 16;

/** A block with these entries, in their order, uncompressed, with its trailer. */
export function blockOf(entries: readonly BlockEntry[]): Buffer {
  const parts: Buffer[] = [];
  const restarts: number[] = [];
  let length = 0;
  let before: Buffer = Buffer.alloc(0);
  for (const [index, { key, value }] of entries.entries()) {
    const isRestart = index % restartInterval === 0;
    if (isRestart) restarts.push(length);
    const shared = isRestart ? 0 : sharedBytes(before, key);
    const own = key.subarray(shared);
    const entry = Buffer.concat([varint(shared), varint(own.length), varint(value.length), own, value]);
    parts.push(entry);
    length += entry.length;
    before = key;
  }
  // A block without entries has one place all the same.
  const places = restarts.length === 0 ? [0] : restarts;
  const tail = Buffer.alloc(places.length * 4 + 4);
  for (const [index, place] of places.entries()) tail.writeUInt32LE(place, index * 4);
  tail.writeUInt32LE(places.length, places.length * 4);
  const contents = Buffer.concat([...parts, tail, Buffer.from([0])]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(masked(crc32c(contents)));
  return Buffer.concat([contents, checksum]);
}

/** A place as an index holds it. */
export function placeBytes({ offset, bytes }: BlockPlace): Buffer {
  return Buffer.concat([varint(offset), varint(bytes)]);
}

function sharedBytes(one: Buffer, other: Buffer): number {
  let shared = 0;
  while (shared < one.length && shared < other.length && one[shared] === other[shared]) shared += 1;
  return shared;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, rest]);
}

/**
 * Finds the end of the block that begins at a place, by its checksum alone: for a table whose index is lost.
 *
 * @returns its bytes without the trailer; undefined: no block begins there that is whole
 */
export function blockBytesAt(table: Buffer, offset: number): number | undefined {
  let crc = 0xffffffff;
  const last = Math.min(table.length - 4, offset + blockBytesMax);
  for (let at = offset; at < last; at++) {
    const byte = table[at] ?? 0;
    crc = crcStep(crc, byte);
    // This byte says how the block is compressed, if it ends here.
    if (byte > 1 || at - offset < 8) continue;
    if (masked((crc ^ 0xffffffff) >>> 0) === table.readUInt32LE(at + 1)) return at - offset;
  }
  return undefined;
}

/** Bytes read from front to back; it goes on with nothing once they do not suffice. */
export class Reading {
  readonly #bytes: Buffer;
  #at = 0;
  failed = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get atEnd(): boolean {
    return this.failed || this.#at >= this.#bytes.length;
  }

  varint(): number {
    let value = 0;
    for (let factor = 1; factor < 2 ** 50; factor *= 128) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    this.failed = true;
    return 0;
  }

  place(): BlockPlace {
    return { offset: this.varint(), bytes: this.varint() };
  }

  take(count: number): Buffer {
    if (this.#at + count > this.#bytes.length) {
      this.failed = true;
      return Buffer.alloc(0);
    }
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }
}

const crcTable: Uint32Array = new Uint32Array(256).map((_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value >>> 0;
});

function crcStep(crc: number, byte: number): number {
  return (crc >>> 8) ^ (crcTable[(crc ^ byte) & 0xff] ?? 0);
}

/** CRC-32C, which Node's zlib has not. */
function crc32c(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = crcStep(crc, byte);
  return (crc ^ 0xffffffff) >>> 0;
}

/** LevelDB stores checksums turned and shifted, since it takes checksums of data that holds checksums. */
function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
