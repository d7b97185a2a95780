import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type BlockPlace, blockBytesAt, parseEntries, Reading, readBlock, trailerBytes } from "./table-blocks.js";

/**
 * The checksums of LevelDB's table files, which classic-level does not look at. Our own checksum tells whether an entry
 * that is read is what was written; but a flipped bit in a key can put an entry out of order, and LevelDB then passes it
 * over in silence. Only the checksum of its block tells of that.
 *
 * A table is a sequence of blocks, each with its compression (one byte) and a masked CRC-32C behind it; the index block
 * says where they are and which keys end them; a filter, which another index leads to, tells which keys are not there;
 * the last 48 bytes say where the two indexes are.
 */
export const footerBytes = 48;
export const tableMagic = 0xdb4775248b80fb57n;
const internalBytes = 8;

/** A part of a table that is not what was written. */
export interface DamagedBlock {
  /** The name of the file. */
  readonly file: string;
  readonly bytes: number;
  /**
   * What is damaged with a filter or an index loses nothing by itself: a filter makes single reads overlook entries that are
   * there, and without its index LevelDB finds none of a table's, though they can be found by their checksums.
   */
  readonly holds: "entries" | "filter" | "index";
  /** Its keys lie behind this one; undefined: from the first of all. */
  readonly after: Buffer | undefined;
  /** Its keys go no further than this one; undefined: to the last of all. */
  readonly upTo: Buffer | undefined;
}

/** What a table has, whole and damaged. */
export interface TableSurvey {
  /** The blocks of entries that are whole, in order, each under a key that is none before its last. */
  readonly whole: readonly { readonly lastKey: Buffer; readonly block: BlockPlace }[];
  readonly damaged: readonly DamagedBlock[];
}

/** The damaged blocks in the table files of a folder. */
export async function damagedBlocks(folder: string): Promise<DamagedBlock[]> {
  const found: DamagedBlock[] = [];
  for (const file of (await tableFiles(folder)).toSorted()) {
    const handle = await open(join(folder, file), "r");
    try {
      found.push(...(await surveyTable(handle, file)).damaged);
    } finally {
      await handle.close();
    }
  }
  return found;
}

/** The names of the table files in a folder. */
export async function tableFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => /^\d+\.(ldb|sst)$/.test(name));
}

/** Looks at every block of a table. */
export async function surveyTable(handle: FileHandle, file: string): Promise<TableSurvey> {
  const { size } = await handle.stat();
  const footer = await readFooter(handle, size);
  const index = footer === undefined ? undefined : await readIndex(handle, size, footer.index);
  if (footer === undefined || index === undefined) return await surveyWithoutIndex(handle, file, size);
  const whole: { lastKey: Buffer; block: BlockPlace }[] = [];
  const damaged: DamagedBlock[] = [];
  let after: Buffer | undefined;
  for (const { lastKey, block } of index) {
    const upTo = properKey(lastKey);
    const contents = await readBlock(handle, size, block);
    if (contents === undefined || parseEntries(contents) === undefined) {
      damaged.push({ file, bytes: block.bytes, holds: "entries", after, upTo });
    } else whole.push({ lastKey, block });
    after = upTo;
  }
  const bytes = await damagedFilterBytes(handle, size, footer.filters);
  if (bytes > 0) damaged.push({ file, bytes, holds: "filter", after: undefined, upTo: undefined });
  return { whole, damaged };
}

/**
 * Finds the blocks of entries by their checksums, one behind the other. What comes behind the last of them, a filter or an
 * index, is a block too, and holds no entries: when one is met, nothing is missing.
 */
async function surveyWithoutIndex(handle: FileHandle, file: string, size: number): Promise<TableSurvey> {
  const whole: { lastKey: Buffer; block: BlockPlace }[] = [];
  const table = Buffer.alloc(size);
  await handle.read(table, 0, size, 0);
  let offset = 0;
  for (;;) {
    const bytes = blockBytesAt(table, offset);
    if (bytes === undefined) break;
    const block = { offset, bytes };
    const contents = await readBlock(handle, size, block);
    const lastKey = contents === undefined ? undefined : lastInternalKey(contents, whole.at(-1)?.lastKey);
    if (lastKey === undefined) {
      // Without one block of entries nothing says that this was a table of ours.
      if (whole.length === 0) break;
      return { whole, damaged: [{ file, bytes: size - offset, holds: "index", after: undefined, upTo: undefined }] };
    }
    whole.push({ lastKey, block });
    offset += bytes + trailerBytes;
  }
  const last = whole.at(-1)?.lastKey;
  const after = last === undefined ? undefined : properKey(last);
  return { whole, damaged: [{ file, bytes: size - offset, holds: "entries", after, upTo: undefined }] };
}

/** The last key of a block of entries, as it is stored; undefined when it is none, or not behind `before`. */
function lastInternalKey(contents: Buffer, before: Buffer | undefined): Buffer | undefined {
  const entries = parseEntries(contents);
  if (entries === undefined || entries.length === 0) return undefined;
  for (const { key } of entries) {
    // Behind the key proper stand a number and the kind of the entry: 1 for a value, 0 for a removal.
    if (key.length < internalBytes || (key[key.length - internalBytes] ?? 2) > 1) return undefined;
  }
  const [first, last] = [entries[0]?.key, entries.at(-1)?.key];
  if (first === undefined || last === undefined) return undefined;
  const isBehind = before === undefined || Buffer.compare(properKey(first), properKey(before)) >= 0;
  return isBehind ? last : undefined;
}

/** A key without the number and the kind that LevelDB keeps behind it. */
export function properKey(key: Buffer): Buffer {
  return key.subarray(0, key.length - internalBytes);
}

async function readFooter(
  handle: FileHandle,
  size: number,
): Promise<{ filters: BlockPlace; index: BlockPlace } | undefined> {
  if (size < footerBytes) return undefined;
  const footer = Buffer.alloc(footerBytes);
  await handle.read(footer, 0, footerBytes, size - footerBytes);
  if (footer.readBigUInt64LE(footerBytes - 8) !== tableMagic) return undefined;
  const handles = new Reading(footer.subarray(0, footerBytes - 8));
  const [filters, index] = [handles.place(), handles.place()];
  return handles.failed ? undefined : { filters, index };
}

/** The blocks of entries with keys that end them, as they are stored. */
async function readIndex(
  handle: FileHandle,
  size: number,
  place: BlockPlace,
): Promise<{ lastKey: Buffer; block: BlockPlace }[] | undefined> {
  const entries = parseIndex(await readBlock(handle, size, place));
  return entries?.every(({ lastKey }) => lastKey.length >= internalBytes) === true ? entries : undefined;
}

/** How many bytes of the filters are damaged. */
async function damagedFilterBytes(handle: FileHandle, size: number, place: BlockPlace): Promise<number> {
  const entries = parseIndex(await readBlock(handle, size, place));
  if (entries === undefined) return place.bytes;
  let bytes = 0;
  for (const { block } of entries) if ((await readBlock(handle, size, block)) === undefined) bytes += block.bytes;
  return bytes;
}

function parseIndex(contents: Buffer | undefined): { lastKey: Buffer; block: BlockPlace }[] | undefined {
  const entries = contents === undefined ? undefined : parseEntries(contents);
  const places = entries?.map(({ key, value }) => {
    const reading = new Reading(value);
    return { lastKey: key, block: reading.place(), failed: reading.failed };
  });
  return places?.some(({ failed }) => failed) === false
    ? places.map(({ lastKey, block }) => ({ lastKey, block }))
    : undefined;
}
