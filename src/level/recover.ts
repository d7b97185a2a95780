import type { Clock } from "../base/clock.js";
import { OnceKvError } from "../base/errors.js";
import { revisionStride } from "../base/limits.js";
import { everyLogEntry } from "./keys.js";
import { type Level, writeBatch } from "./level.js";
import { decodeLogHeader, type LogHeader } from "./log-entry.js";
import { checkFormat, dataFormat, deleteMeta, putMeta, readMeta } from "./meta.js";

/** Entries at the end of the log that are checked for a gap at every open. */
const checkedEntries = 64;

/**
 * Bytes of the log that are checked where they may not have been synced. LevelDB keeps at most two files of 16 MiB whose
 * content is in no table yet; a loss of power can take the end of the older one although the newer one is there.
 */
const unsyncedBytesMax = 64 * 1024 * 1024;

/** Where an earlier life of the store has left off. */
export interface Recovered {
  readonly revision: number;
  /** History holds every change after this revision. */
  readonly floor: number;
  readonly logBytes: number;
  /** The store's now is no earlier than this, in milliseconds since 1970. */
  readonly clockMark: number;
}

export interface RecoverOptions {
  /** Names the database in messages. */
  readonly where: string;
  readonly durability: "durable" | "buffered";
  readonly clock: Clock;
  readonly acceptLoss: boolean;
  /** What LevelDB has dropped while it opened; undefined: nothing. */
  readonly dropped: string | undefined;
}

/** What the end of the log says. */
interface LogEnd {
  readonly newest: LogHeader | undefined;
  /** What is wrong with it; undefined: nothing. */
  readonly damage: string | undefined;
}

/**
 * The revision after a jump: past everything that a lost timeline can have given out, and past every earlier jump. It
 * stays a safe integer until the year 2106.
 */
export function revisionAfterLoss(revision: number, wallNow: number): number {
  return Math.max(revision + revisionStride, Math.floor(wallNow / 1000) * 2 ** 21);
}

/** Reads the state of a database and marks it as open. Throws `store_format` or `store_damaged`. */
export async function recover(level: Level, options: RecoverOptions): Promise<Recovered> {
  await checkFormat(level, options.where);
  const base = readMeta(level, "base_revision") ?? 0;
  const session = readMeta(level, "session");
  const unsynced = session?.durability === "buffered" && !session.clean;
  const end = await readLogEnd(level, base, unsynced);
  const damage = (await noteDamage(level, options.dropped)) ?? end.damage;
  if (damage !== undefined && !options.acceptLoss) {
    throw new OnceKvError(
      "store_damaged",
      `acknowledged writes in ${options.where} are lost: ${damage}. Restore a backup, or open with acceptLoss ` +
        "(`--accept-loss`) to go on with what is left: revisions then jump ahead and history is dropped",
    );
  }

  const last = Math.max(base, end.newest?.last ?? 0);
  const clockMark = Math.max(readMeta(level, "clock") ?? 0, end.newest?.time ?? 0);
  const operations = [
    putMeta("format", dataFormat),
    putMeta("session", { durability: options.durability, clean: false }),
    putMeta("clock", clockMark),
  ];
  if (damage !== undefined || unsynced) {
    // The newest commits of the last life may be gone, and watchers may have seen them: their revisions never return.
    const revision = revisionAfterLoss(last, options.clock.wallNow());
    await writeBatch(level, [...operations, putMeta("base_revision", revision), deleteMeta("damage")], { sync: true });
    await level.clear(everyLogEntry());
    return { revision, floor: revision, logBytes: 0, clockMark };
  }
  await writeBatch(level, operations, { sync: true });
  if (end.newest !== undefined && end.newest.last <= base) {
    // A jump was interrupted before it had dropped the log of the lost timeline.
    await level.clear(everyLogEntry());
    return { revision: last, floor: last, logBytes: 0, clockMark };
  }
  const oldest = end.newest === undefined ? undefined : await readOldest(level);
  const floor = oldest === undefined ? last : Math.max(oldest.previous, base);
  return { revision: last, floor, logBytes: end.newest?.totalBytes ?? 0, clockMark };
}

/**
 * The damage that was found at this open or an earlier one; undefined: none. LevelDB repairs itself and says so once, so
 * what it has dropped is written down: the store stays shut at the next open too, until the loss is accepted.
 */
export async function noteDamage(level: Level, dropped: string | undefined): Promise<string | undefined> {
  if (dropped === undefined) return readMeta(level, "damage");
  const damage = `LevelDB has dropped parts of its log: ${dropped}`;
  await writeBatch(level, [putMeta("format", dataFormat), putMeta("damage", damage)], { sync: true });
  return damage;
}

/** Marks the store as closed with nothing left behind. */
export async function markClean(level: Level, durability: "durable" | "buffered", clockMark: number): Promise<void> {
  await writeBatch(level, [putMeta("session", { durability, clean: true }), putMeta("clock", clockMark)], {
    sync: true,
  });
}

/**
 * Reads the newest stretch of the log and checks that no entry is missing in it.
 * @param unsynced whether the store was left without a sync of its newest writes
 */
async function readLogEnd(level: Level, base: number, unsynced: boolean): Promise<LogEnd> {
  let newest: LogHeader | undefined;
  let newer: LogHeader | undefined;
  let checked = 0;
  for await (const [key, value] of level.iterator({ ...everyLogEntry(), reverse: true })) {
    const bytes = (newest?.totalBytes ?? 0) - (newer?.totalBytes ?? 0);
    if (checked >= checkedEntries && !(unsynced && bytes < unsyncedBytesMax)) break;
    checked += 1;
    let header: LogHeader;
    try {
      header = decodeLogHeader(key, value);
    } catch (error) {
      return { newest, damage: (error as Error).message };
    }
    newest ??= header;
    // What lies before a jump of the counter no longer counts.
    if (newer !== undefined && newer.previous <= base && base > 0) break;
    if (newer !== undefined && newer.previous !== header.last) {
      return { newest, damage: `the log has a gap between revisions ${header.last} and ${newer.first}` };
    }
    newer = header;
  }
  return { newest, damage: undefined };
}

async function readOldest(level: Level): Promise<LogHeader | undefined> {
  for await (const [key, value] of level.iterator({ ...everyLogEntry(), limit: 1 })) return decodeLogHeader(key, value);
  return undefined;
}
