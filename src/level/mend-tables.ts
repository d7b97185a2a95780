import { open } from "node:fs/promises";
import { join } from "node:path";
import { tableSizes } from "./manifest.js";
import { type BlockPlace, blockOf, placeBytes, trailerBytes } from "./table-blocks.js";
import {
  type DamagedBlock,
  footerBytes,
  properKey,
  surveyTable,
  type TableSurvey,
  tableFiles,
  tableMagic,
} from "./table-file.js";

/**
 * Takes what is damaged out of the tables of a folder, so that LevelDB never meets it: it does not look at checksums, and a
 * damaged block can make it end the process. Each table that has damage gets a new index over its whole blocks, which stay
 * where they are, and no filter; its size is what LevelDB's list of its files says.
 *
 * For a copy of a damaged folder that nobody has open.
 *
 * @returns what was damaged
 */
export async function mendTables(folder: string): Promise<DamagedBlock[]> {
  const damaged: DamagedBlock[] = [];
  const sizes = await tableSizes(folder);
  for (const file of (await tableFiles(folder)).toSorted()) {
    const handle = await open(join(folder, file), "r+");
    try {
      const survey = await surveyTable(handle, file);
      if (survey.damaged.length === 0) continue;
      damaged.push(...survey.damaged);
      // One that was cut gets its size back: LevelDB looks for its footer there.
      const size = sizes.get(Number.parseInt(file, 10)) ?? (await handle.stat()).size;
      await handle.truncate(size);
      const end = endOf(survey, size);
      // A file that is too short for an index is none of LevelDB's any more: it says so by itself.
      if (end === undefined) continue;
      await handle.write(end.bytes, 0, end.bytes.length, end.offset);
      damaged.push(...end.leftOut.map((each) => ({ ...each, file })));
    } finally {
      await handle.close();
    }
  }
  return damaged;
}

interface TableEnd {
  readonly offset: number;
  readonly bytes: Buffer;
  /** Whole blocks that the new index has no room for. */
  readonly leftOut: readonly Omit<DamagedBlock, "file">[];
}

/** Index, empty filter and footer behind the last of the blocks that are kept; undefined: there is no room. */
function endOf({ whole }: TableSurvey, size: number): TableEnd | undefined {
  for (let kept = whole.length; kept >= 0; kept--) {
    const last = whole[kept - 1]?.block;
    const offset = last === undefined ? 0 : last.offset + last.bytes + trailerBytes;
    const index = blockOf(
      whole.slice(0, kept).map(({ lastKey, block }) => ({ key: lastKey, value: placeBytes(block) })),
    );
    const filters = blockOf([]);
    const room = size - footerBytes - offset;
    if (index.length + filters.length > room) continue;
    const bytes = Buffer.alloc(size - offset);
    index.copy(bytes, 0);
    filters.copy(bytes, index.length);
    const places = Buffer.concat([
      placeBytes(placeOf(offset + index.length, filters)),
      placeBytes(placeOf(offset, index)),
    ]);
    places.copy(bytes, room);
    bytes.writeBigUInt64LE(tableMagic, bytes.length - 8);
    const after = whole[kept - 1]?.lastKey;
    const leftOut = whole.slice(kept).map(({ block }) => ({
      bytes: block.bytes,
      holds: "entries" as const,
      after: after === undefined ? undefined : properKey(after),
      upTo: undefined,
    }));
    return { offset, bytes, leftOut };
  }
  return undefined;
}

function placeOf(offset: number, block: Buffer): BlockPlace {
  return { offset, bytes: block.length - trailerBytes };
}
