import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import type { Fields } from "../../src/documents/contract.js";
import { openStore } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import type { SeededRandom } from "../crash/seeded-random.js";

/** What a document of a filled store is. */
export interface Filled {
  readonly id: string;
  readonly fields: Fields;
  readonly revision: number;
}

/** A closed store: documents in table files of several kinds, and the newest ones in LevelDB's log. */
export interface FilledStore {
  readonly dataDir: string;
  readonly documents: readonly Filled[];
}

/** The shape of all its documents. */
export const shape = "note";

/** The time at which the store is filled, and at which its deadlines lie ahead. */
export const filledAt = Date.UTC(2026, 0, 1);

/** Fills a store in `folder`: 120 documents in tables, 60 in the log, some rewritten, some with deadlines. */
export async function fillStore(folder: string, random: SeededRandom): Promise<FilledStore> {
  const dataDir = join(folder, "data");
  await mkdir(dataDir);
  const documents = new Map<string, Filled>();
  for (const [life, count] of [90, 60, 60].entries()) {
    const store = await openStore({ dataDir, clock: new ManualClock(filledAt), sweep: false });
    for (let n = 0; n < count; n++) {
      // A third of the writes of later lives replace what an earlier life has left.
      const id = life > 0 && n % 3 === 0 ? `d0-${n}` : `d${life}-${n}`;
      const noise = Array.from({ length: random.below(40) }, () => random.below(2 ** 31).toString(36)).join("");
      const fields = { life, n, noise };
      const ttl = n % 5 === 0 ? { ttl: n % 10 === 0 ? 3000 : 7200 } : {};
      const { revision } = await store.put({ shape, id, set: fields, write_id: `w${life}-${n}`, ...ttl });
      documents.set(id, { id, fields, revision });
    }
    await store.close();
    if (life !== 0) continue;
    const level = new ClassicLevel<Buffer, Buffer>(dataDir, { keyEncoding: "buffer", valueEncoding: "buffer" });
    await level.open();
    await level.compactRange(Buffer.from([0]), Buffer.from([255]));
    await level.close();
  }
  return { dataDir, documents: [...documents.values()] };
}
