import { rm } from "node:fs/promises";
import type { Document } from "../../src/documents/contract.js";
import { openStore } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import type { SeededRandom } from "../crash/seeded-random.js";
import { tamper } from "../store/filled-folder.js";

/** Everything that was ever true of the documents of a folder. */
export interface KnownHistory {
  readonly dataDir: string;
  /** Every state of each document, oldest first, by `shape/id`; a state without fields is one in which it was gone. */
  readonly states: ReadonlyMap<string, readonly KnownState[]>;
  readonly revision: number;
}

export interface KnownState {
  readonly revision: number;
  /** null: the document was gone from this revision on. */
  readonly document: Document | null;
}

/** A document without what depends on the moment of reading. */
export function timeless({ as_of: _, ...document }: Document): object {
  return document;
}

/**
 * Makes a closed store with some hundred documents that were written, patched, deleted and written again, some with
 * deadlines that lie far ahead. Parts of it are in tables, parts in LevelDB's own log, and some of its history was cut.
 */
export async function makeHistory(dataDir: string, random: SeededRandom): Promise<KnownHistory> {
  await rm(dataDir, { recursive: true, force: true });
  const clock = new ManualClock();
  const states = new Map<string, KnownState[]>();
  const note = (name: string, state: KnownState): void => {
    const known = states.get(name);
    if (known === undefined) states.set(name, [state]);
    else known.push(state);
  };
  let revision = 0;
  for (let life = 0; life < 2; life++) {
    const store = await openStore({
      dataDir,
      clock,
      sweep: false,
      durability: "buffered",
      history: { maxAgeSeconds: 200 },
    });
    for (let step = 0; step < 150; step++) {
      const shape = random.below(4) === 0 ? "lease" : "note";
      const ids = [...new Set(Array.from({ length: 1 + random.below(3) }, () => `d${random.below(120)}`))];
      const set = { step, text: "x".repeat(random.below(600)) };
      const ttls = [{}, {}, { ttl: 1800 }, { ttl: 86_400 }];
      const kind = random.below(10);
      const { revision: committed } = await store.batch(
        ids.map((id) =>
          kind < 8
            ? { op: "put" as const, shape, id, set, ...ttls[random.below(ttls.length)] }
            : { op: "delete" as const, shape, id },
        ),
        step % 3 === 0 ? { write_id: `w${life}-${step}` } : {},
      );
      revision = committed;
      for (const id of ids) {
        const document = (await store.getDocument(shape, id)) ?? null;
        note(`${shape}/${id}`, { revision, document });
      }
      clock.advance(random.below(5000));
    }
    await store.close();
    // The first life in tables, the second in LevelDB's own log: both are damaged in their own ways.
    if (life === 0) await tamper(dataDir, (level) => level.compactRange(Buffer.from([0]), Buffer.from([255])));
  }
  return { dataDir, states, revision };
}
