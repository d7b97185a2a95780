import { isDeepStrictEqual } from "node:util";
import { ClassicLevel } from "classic-level";
import { Packr } from "msgpackr";
import type { Fields } from "../../src/documents/contract.js";
import { WrongResultError } from "../checks.js";
import { claimFields, ScatteredIds } from "../claim-documents.js";
import type { MeasuredCase } from "../measure.js";
import type { Durability } from "../world.js";
import { reading, timed } from "./read-cases.js";

/**
 * The database alone, with the encoder and nothing else: no conditions, no revisions, no expiry, no log. What ours takes
 * beyond it is the price of all that.
 */
export class RawLevel {
  readonly #level: ClassicLevel<Buffer, Buffer>;
  readonly #packr = new Packr({ useRecords: false, variableMapSize: true });

  static async open(dataDir: string): Promise<RawLevel> {
    const level = new ClassicLevel<Buffer, Buffer>(dataDir, { keyEncoding: "buffer", valueEncoding: "buffer" });
    await level.open();
    return new RawLevel(level);
  }

  private constructor(level: ClassicLevel<Buffer, Buffer>) {
    this.#level = level;
  }

  put(id: string, fields: Fields, { sync }: { readonly sync: boolean }): Promise<void> {
    return this.#level.put(Buffer.from(id), this.#packr.pack(fields), { sync });
  }

  /** The same with a second entry beside it in one batch, as large as the first: what a log costs by itself. */
  async putAndLog(id: string, fields: Fields, { sync }: { readonly sync: boolean }): Promise<void> {
    const value = this.#packr.pack(fields);
    const batch = this.#level.batch();
    batch.put(Buffer.from(id), value).put(Buffer.from(`log ${id}`), value);
    const options: { readonly sync: boolean } = { sync };
    await batch.write(options);
  }

  get(id: string): Fields | undefined {
    const value = this.#level.getSync(Buffer.from(id));
    return value === undefined ? undefined : (this.#packr.unpack(value) as Fields);
  }

  close(): Promise<void> {
    return this.#level.close();
  }
}

/** A put of the database alone, synced when writes of ours are durable. */
export function rawPut(level: RawLevel, durability: Durability): MeasuredCase {
  return rawWrite("raw-level-put", level, durability, (...put) => level.put(...put));
}

/** The same with a log entry beside it, in one batch. */
export function rawPutAndLog(level: RawLevel, durability: Durability): MeasuredCase {
  return rawWrite("raw-level-put-and-log", level, durability, (...put) => level.putAndLog(...put));
}

function rawWrite(name: string, level: RawLevel, durability: Durability, write: RawLevel["put"]): MeasuredCase {
  const ids = new ScatteredIds();
  const sync = durability === "durable";
  let last: { readonly id: string; readonly fields: Fields } | undefined;
  return {
    name,
    async once() {
      const id = ids.next();
      const fields = claimFields(1);
      const begun = performance.now();
      await write(id, fields, { sync });
      const tookMs = performance.now() - begun;
      last = { id, fields };
      return tookMs;
    },
    async check() {
      if (last === undefined || !isDeepStrictEqual(level.get(last.id), last.fields)) {
        throw new WrongResultError(`${name}: ${last?.id} does not hold what was put`);
      }
    },
  };
}

/** A synchronous get of the database alone, and the decoding of what it gives. */
export async function rawGet(level: RawLevel): Promise<MeasuredCase> {
  const source = new ScatteredIds();
  const ids = Array.from({ length: 1000 }, () => `get-${source.next()}`);
  for (const [attempt, id] of ids.entries()) await level.put(id, claimFields(attempt), { sync: false });
  return reading("raw-level-get", (number) => {
    const index = number % ids.length;
    return timed(
      () => level.get(ids[index] as string),
      (fields) => isDeepStrictEqual(fields, claimFields(index)),
    );
  });
}
