import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Reading } from "./table-blocks.js";

/*
 * LevelDB's list of its files (MANIFEST): a log of changes to it. LevelDB looks for the end of a table where this list says
 * that it is, whatever size the file has.
 */

const logBlockBytes = 32 * 1024;
const logHeaderBytes = 7;

/** The kinds of pieces of a record, and the kinds of entries of a change. */
const piece = { full: 1, first: 2, middle: 3, last: 4 } as const;
const entry = { comparator: 1, compactPointer: 5, deletedFile: 6, newFile: 7 } as const;

/** The sizes of tables by their numbers, as far as the list can be read. */
export async function tableSizes(folder: string): Promise<ReadonlyMap<number, number>> {
  const sizes = new Map<number, number>();
  let list: Buffer;
  try {
    const current = (await readFile(join(folder, "CURRENT"), "latin1")).trim();
    if (!/^MANIFEST-\d+$/.test(current)) return sizes;
    list = await readFile(join(folder, current));
  } catch {
    // Without the list LevelDB makes a new one, from the tables as they are.
    return sizes;
  }
  for (const record of recordsOf(list)) noteSizes(new Reading(record), sizes);
  return sizes;
}

function* recordsOf(list: Buffer): Generator<Buffer> {
  let parts: Buffer[] = [];
  for (let at = 0; at + logHeaderBytes <= list.length; ) {
    const leftInBlock = logBlockBytes - (at % logBlockBytes);
    if (leftInBlock < logHeaderBytes) {
      at += leftInBlock;
      continue;
    }
    const length = list.readUInt16LE(at + 4);
    const kind = list[at + 6];
    const bytes = list.subarray(at + logHeaderBytes, at + logHeaderBytes + length);
    at += logHeaderBytes + length;
    if (kind === piece.full) yield bytes;
    else if (kind === piece.first) parts = [bytes];
    else if (kind === piece.middle || kind === piece.last) {
      parts.push(bytes);
      if (kind === piece.last) yield Buffer.concat(parts);
    } else return;
  }
}

function noteSizes(change: Reading, sizes: Map<number, number>): void {
  const text = (): Buffer => change.take(change.varint());
  while (!change.atEnd) {
    const kind = change.varint();
    if (kind === entry.comparator) text();
    else if (kind === entry.compactPointer) {
      change.varint();
      text();
    } else if (kind === entry.deletedFile) {
      change.varint();
      change.varint();
    } else if (kind === entry.newFile) {
      change.varint();
      const [number, size] = [change.varint(), change.varint()];
      text();
      text();
      if (!change.failed) sizes.set(number, size);
    } else change.varint();
  }
}
