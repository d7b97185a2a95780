import { Packr } from "msgpackr";
import { OnceKvError } from "../base/errors.js";
import { metaKey } from "./keys.js";
import type { Level, LevelOperation } from "./level.js";
import { damaged, isIntact, seal, sealBytes } from "./sealed.js";

/** Facts about the store as a whole, each under a name of its own. */
export interface Meta {
  /** The version of the data format. */
  readonly format: number;
  /** Whether, and how, the store is or was last open. */
  readonly session: { readonly durability: "durable" | "buffered"; readonly clean: boolean };
  /** The counter starts from here, whatever the log says: set by a jump, and by a restore. */
  readonly base_revision: number;
  /** The latest now that was persisted apart from the log, in milliseconds since 1970. */
  readonly clock: number;
  /** What LevelDB said of its damage when it repaired itself; the store stays shut until that is accepted. */
  readonly damage: string;
}

/** The format that this version writes, and the newest that it reads. */
export const dataFormat = 1;

const packr = new Packr({ useRecords: false, mapsAsObjects: true });

/** Reads a fact; undefined when it was never written. */
export function readMeta<Name extends keyof Meta>(level: Level, name: Name): Meta[Name] | undefined {
  const key = metaKey(name);
  const value = level.getSync(key);
  return value === undefined ? undefined : decodeMeta(name, key, value);
}

/** Decodes a fact; throws `store_damaged` when it is not what was written. */
export function decodeMeta<Name extends keyof Meta>(name: Name, key: Buffer, value: Buffer): Meta[Name] {
  if (!isIntact(key, value)) throw damaged(`the store's own entry ${name} does not match its checksum`);
  return packr.unpack(value.subarray(sealBytes)) as Meta[Name];
}

/** The operation that writes a fact. */
export function putMeta<Name extends keyof Meta>(name: Name, fact: Meta[Name]): LevelOperation {
  const key = metaKey(name);
  const packed = packr.pack(fact);
  const value = Buffer.allocUnsafe(sealBytes + packed.length);
  packed.copy(value, sealBytes);
  return { type: "put", key, value: seal(key, value) };
}

/** The operation that removes a fact. */
export function deleteMeta(name: keyof Meta): LevelOperation {
  return { type: "del", key: metaKey(name) };
}

/** Throws `store_format` unless the database is ours, of a version that this one reads, or empty. */
export async function checkFormat(level: Level, where: string): Promise<void> {
  const format = readMeta(level, "format");
  if (format === undefined) {
    for await (const _ of level.keys({ limit: 1 })) {
      throw new OnceKvError(
        "store_format",
        `${where} holds a LevelDB database that oncekv did not write; choose another folder`,
      );
    }
    return;
  }
  if (format > dataFormat) {
    throw new OnceKvError(
      "store_format",
      `${where} was written in data format ${format}, and this version of oncekv knows ${dataFormat}; ` +
        "use the newer oncekv that wrote it, or restore a backup made by this version",
    );
  }
}
