import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SeededRandom } from "../crash/seeded-random.js";

/** What was done to a folder. */
export interface Damage {
  readonly file: string;
  readonly what: string;
}

/** Files that are only said to, never read as data. */
const texts = /^(LOG|LOG\.old|LOCK)$/;

/** Damages a closed store at one place. */
export async function damage(dataDir: string, random: SeededRandom): Promise<Damage> {
  const names = (await readdir(dataDir)).filter((name) => !texts.test(name)).toSorted();
  const file = names[random.below(names.length)] ?? "";
  const path = join(dataDir, file);
  const bytes = await readFile(path);
  const place = random.below(Math.max(1, bytes.length));
  const about = (what: string): Damage => ({ file, what });
  // Single bits are what disks and memory flip; the rest is what file systems and people do.
  switch (random.below(10)) {
    case 0: {
      const length = Math.min(bytes.length - place, [1, 16, 512, 4096][random.below(4)] ?? 1);
      bytes.fill(0, place, place + length);
      await writeFile(path, bytes);
      return about(`${length} bytes zeroed at ${place} of ${bytes.length}`);
    }
    case 1:
      await writeFile(path, bytes.subarray(0, place));
      return about(`cut to ${place} of ${bytes.length} bytes`);
    case 2:
      await rm(path);
      return about("removed");
    case 3: {
      const other = names[random.below(names.length)] ?? file;
      const others = await readFile(join(dataDir, other));
      await writeFile(path, others);
      await writeFile(join(dataDir, other), bytes);
      return about(`swapped with ${other}`);
    }
    default: {
      const bit = random.below(8);
      bytes.writeUInt8(bytes.readUInt8(place) ^ (1 << bit), place);
      await writeFile(path, bytes);
      return about(`bit ${bit} of byte ${place} of ${bytes.length} flipped`);
    }
  }
}
