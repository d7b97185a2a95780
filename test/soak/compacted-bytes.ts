import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { copyOfAMoment } from "../store/copy-of-a-moment.js";

/**
 * Bytes of what a data folder holds, without what LevelDB has yet to tidy up: its log and what is overwritten grow to many
 * megabytes before they shrink, and hide a leak.
 *
 * @param dataDir of a store at rest, which may be open: a copy is compacted
 * @param copy a folder for that, which is removed again
 */
export async function compactedBytes(dataDir: string, copy: string): Promise<number> {
  await copyOfAMoment(dataDir, copy);
  try {
    const level = new ClassicLevel<Buffer, Buffer>(copy, { keyEncoding: "buffer", valueEncoding: "buffer" });
    await level.open();
    // What opening has moved from the log into a table takes a second pass.
    for (let pass = 0; pass < 2; pass++) await level.compactRange(Buffer.alloc(0), Buffer.alloc(64, 0xff));
    await level.close();
    let bytes = 0;
    for (const name of await readdir(copy)) {
      // Texts about its own work are no data.
      if (name.endsWith(".ldb")) bytes += (await stat(join(copy, name))).size;
    }
    return bytes;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}
