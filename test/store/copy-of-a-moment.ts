import { cp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

const triesMax = 100;

/**
 * Copies the folder of a store that may be open, as a kill would leave it at one moment. LevelDB makes and removes files in
 * the background after it was opened: a copy during which it did so is of no moment, and is made again.
 */
export async function copyOfAMoment(folder: string, copy: string): Promise<void> {
  for (let tried = 1; ; tried++) {
    try {
      const before = await filesOf(folder);
      await cp(folder, copy, { recursive: true });
      if (before === (await filesOf(folder))) return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    await rm(copy, { recursive: true, force: true });
    if (tried === triesMax) throw new Error(`${folder} changes all the time`);
  }
}

/** Names and sizes: no number of a file is given twice, so that equal ones are the same files. */
async function filesOf(folder: string): Promise<string> {
  const names = await readdir(folder);
  // LevelDB's own account of what it does grows at any time, and is not needed.
  const files = names.filter((name) => !name.startsWith("LOG")).toSorted();
  const sizes = await Promise.all(files.map(async (name) => `${name} ${(await stat(join(folder, name))).size}`));
  return sizes.join("\n");
}
