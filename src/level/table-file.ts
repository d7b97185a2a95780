import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { decompressSnappy } from "./snappy.js";

/**
 * The checksums of LevelDB's table files, which classic-level does not look at. Our own checksum tells whether an entry
 * that is read is what was written; but a flipped bit in a key can put an entry out of order, and LevelDB then passes it
 * over in silence. Only the checksum of its block tells of that.
 *
 * A table is a sequence of blocks, each with its compression (one byte) and a masked CRC-32C behind it; the index block
 * says where they are and which keys end them; a filter, which another index leads to, tells which keys are not there;
 * the last 48 bytes say where the two indexes are.
 */
const footerBytes = 48;
const trailerBytes = 5;
const magic = 0xdb4775248b80fb57n;
const internalBytes = 8;
/** No block of ours is larger: it is cut at the first entry beyond 4 KiB, and an entry has at most a log group. */
const blockBytesMax = 256 * 1024 * 1024;

/** A part of a table that is not what was written. */
export interface DamagedBlock {
  /** The name of the file. */
  readonly file: string;
  readonly bytes: number;
  /** A damaged filter loses nothing, but makes single reads overlook entries that are there. */
  readonly holds: "entries" | "filter";
  /** Its keys lie behind this one; undefined: from the first of all. */
  readonly after: Buffer | undefined;
  /** Its keys go no further than this one; undefined: to the last of all. */
  readonly upTo: Buffer | undefined;
}

/** The damaged blocks in the table files of a folder. A table whose index is damaged is one of them as a whole. */
export async function damagedBlocks(folder: string): Promise<DamagedBlock[]> {
  const found: DamagedBlock[] = [];
  for (const file of (await tableFiles(folder)).toSorted()) found.push(...(await damagedBlocksOf(folder, file)));
  return found;
}

/** The names of the table files in a folder. */
export async function tableFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => /^\d+\.(ldb|sst)$/.test(name));
}

async function damagedBlocksOf(folder: string, file: string): Promise<DamagedBlock[]> {
  const handle = await open(join(folder, file), "r");
  try {
    const { size } = await handle.stat();
    const footer = await readFooter(handle, size);
    const index = footer === undefined ? undefined : await readIndex(handle, size, footer.index);
    if (footer === undefined || index === undefined) {
      return [{ file, bytes: size, holds: "entries", after: undefined, upTo: undefined }];
    }
    const found: DamagedBlock[] = [];
    let after: Buffer | undefined;
    for (const { lastKey, block } of index) {
      if ((await readBlock(handle, size, block)) === undefined) {
        found.push({ file, bytes: block.bytes, holds: "entries", after, upTo: lastKey });
      }
      after = lastKey;
    }
    const bytes = await damagedFilterBytes(handle, size, footer.filters);
    if (bytes > 0) found.push({ file, bytes, holds: "filter", after: undefined, upTo: undefined });
    return found;
  } finally {
    await handle.close();
  }
}

/** Where a block is, its trailer not counted. */
interface BlockPlace {
  readonly offset: number;
  readonly bytes: number;
}

interface IndexEntry {
  /** As it is stored. For a block of entries no key in it is greater, and those of the next block are. */
  readonly key: Buffer;
  readonly block: BlockPlace;
}

async function readFooter(
  handle: FileHandle,
  size: number,
): Promise<{ filters: BlockPlace; index: BlockPlace } | undefined> {
  if (size < footerBytes) return undefined;
  const footer = Buffer.alloc(footerBytes);
  await handle.read(footer, 0, footerBytes, size - footerBytes);
  if (footer.readBigUInt64LE(footerBytes - 8) !== magic) return undefined;
  const handles = new Reading(footer.subarray(0, footerBytes - 8));
  const [filters, index] = [handles.place(), handles.place()];
  return handles.failed ? undefined : { filters, index };
}

/** The blocks of entries with their last keys. */
async function readIndex(
  handle: FileHandle,
  size: number,
  place: BlockPlace,
): Promise<{ lastKey: Buffer; block: BlockPlace }[] | undefined> {
  const contents = await readBlock(handle, size, place);
  const entries = contents === undefined ? undefined : parseIndex(contents);
  if (entries === undefined || entries.some(({ key }) => key.length < internalBytes)) return undefined;
  return entries.map(({ key, block }) => ({ lastKey: key.subarray(0, key.length - internalBytes), block }));
}

/** How many bytes of the filters are damaged. */
async function damagedFilterBytes(handle: FileHandle, size: number, place: BlockPlace): Promise<number> {
  const contents = await readBlock(handle, size, place);
  const entries = contents === undefined ? undefined : parseIndex(contents);
  if (entries === undefined) return place.bytes;
  let bytes = 0;
  for (const { block } of entries) if ((await readBlock(handle, size, block)) === undefined) bytes += block.bytes;
  return bytes;
}

function parseIndex(contents: Buffer): IndexEntry[] | undefined {
  if (contents.length < 4) return undefined;
  const restarts = contents.readUInt32LE(contents.length - 4);
  const end = contents.length - 4 - restarts * 4;
  if (end < 0) return undefined;
  const reading = new Reading(contents.subarray(0, end));
  const entries: IndexEntry[] = [];
  let key: Buffer = Buffer.alloc(0);
  while (!reading.atEnd) {
    const [shared, own, valueBytes] = [reading.varint(), reading.varint(), reading.varint()];
    key = Buffer.concat([key.subarray(0, shared), reading.take(own)]);
    const place = new Reading(reading.take(valueBytes));
    const block = place.place();
    if (reading.failed || place.failed) return undefined;
    entries.push({ key, block });
  }
  return entries;
}

/** The contents of a block; undefined when it is not what was written. */
async function readBlock(handle: FileHandle, size: number, { offset, bytes }: BlockPlace): Promise<Buffer | undefined> {
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

/** Bytes read from front to back; it goes on with nothing once they do not suffice. */
class Reading {
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

/** CRC-32C, which Node's zlib has not. */
function crc32c(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (crcTable[(crc ^ byte) & 0xff] ?? 0);
  return (crc ^ 0xffffffff) >>> 0;
}

/** LevelDB stores checksums turned and shifted, since it takes checksums of data that holds checksums. */
function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
