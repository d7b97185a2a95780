import { hash } from "node:crypto";
import { Packr } from "msgpackr";
import { engineLimits } from "../base/limits.js";
import { everyWriteIdEntry, numberOfKey, writeIdKey } from "./keys.js";
import type { Level, LevelOperation } from "./level.js";
import { checkSeal, damaged, seal, sealBytes } from "./sealed.js";

/**
 * The memory for lost replies. A write that carries a write id leaves, in the same LevelDB batch, a note of its answer;
 * the same write again finds the note and gets that answer, instead of a second effect or a failed condition of its own
 * making.
 *
 * On disk the notes of a group share one entry. In memory a table leads from 48 bits of an id's hash to the groups that
 * may hold it; the entry on disk decides, by 128 bits. Both forget what is older than ten minutes or beyond the newest
 * million, whichever is less.
 */
const layout = 1;

const packr = new Packr({ useRecords: false, mapsAsObjects: true, variableMapSize: true });

/** What is remembered of one operation's answer. */
export type NotedResult = readonly [
  /** When the document ends, in milliseconds since 1970; 0: never. */
  expiresAt: number,
  created: boolean,
  /** The document to give back, in its stored form; null: none was there; absent: none was asked for. */
  document?: Buffer | null,
];

/** What is remembered of a write. */
export interface WriteNote {
  /** Hash of the write id, as `hash128` gives it. */
  readonly id: string;
  /** Hash of the request, so that another request under the same id is told apart. */
  readonly request: string;
  readonly revision: number;
  readonly results: readonly NotedResult[];
}

/** What tells a write from others: its write id, and what it asks for. */
export type RequestIdentity = Pick<WriteNote, "id" | "request">;

/** The first 128 bits of a SHA-256, a character a byte: a string costs half of what a buffer does, and is a map's key. */
export function hash128(text: string): string {
  return hash("sha256", text, "binary").slice(0, 16);
}

/** Bytes that a note holds in memory and brings to disk, about. */
export function noteBytes(note: WriteNote): number {
  return note.results.reduce((bytes, [, , document]) => bytes + 32 + (document?.length ?? 0), 256);
}

type PackedNote = readonly [id: Buffer, request: Buffer, revision: number, results: readonly NotedResult[]];

interface NotedGroup {
  /** Its place in the order of all groups with notes. */
  readonly number: number;
  readonly time: number;
  readonly ids: readonly number[];
}

export class WriteIds {
  readonly #level: Level;
  /** From 48 bits of an id's hash to the groups that may hold it, oldest first. */
  readonly #groupsById = new Map<number, number | number[]>();
  /** The groups on disk, oldest first, from `#oldest` on. */
  #groups: NotedGroup[] = [];
  #oldest = 0;
  #count = 0;
  #last = 0;

  constructor(level: Level) {
    this.#level = level;
  }

  /** Write ids that are remembered. */
  get count(): number {
    return this.#count;
  }

  /** Reads what an earlier life of the store has noted. */
  async load(): Promise<void> {
    for await (const [key, value] of this.#level.iterator(everyWriteIdEntry())) {
      const { time, notes } = decodeNotes(key, value);
      this.remember(
        numberOfKey(key),
        time,
        notes.map(({ id }) => id),
      );
    }
  }

  /** The note of a write that is on disk, unless it is too old to count. @param now milliseconds since 1970 */
  find(id: string, now: number): WriteNote | undefined {
    const groups = this.#groupsById.get(shortened(id));
    if (groups === undefined) return undefined;
    for (const group of typeof groups === "number" ? [groups] : groups.toReversed()) {
      const key = writeIdKey(group);
      const value = this.#level.getSync(key);
      if (value === undefined) continue;
      const { time, notes } = decodeNotes(key, value);
      if (time + engineLimits.writeIdAgeMsMax <= now) continue;
      const note = notes.find((one) => one.id === id);
      if (note !== undefined) return note;
    }
    return undefined;
  }

  /** The number under which the next group's notes are filed. */
  get nextNumber(): number {
    return this.#last + 1;
  }

  /** What a group's batch adds to and removes from the notes on disk. */
  operations(notes: readonly WriteNote[], number: number, now: number): LevelOperation[] {
    const operations: LevelOperation[] = [];
    if (notes.length > 0) {
      const key = writeIdKey(number);
      operations.push({ type: "put", key, value: encode(key, now, notes) });
    }
    // The new group is not counted yet, so one more than the bound may stand for a moment.
    while (this.#count > 0) {
      const group = this.#groups[this.#oldest];
      if (group === undefined) break;
      const tooOld = group.time + engineLimits.writeIdAgeMsMax <= now;
      if (!tooOld && this.#count - group.ids.length < engineLimits.writeIdCountMax) break;
      operations.push({ type: "del", key: writeIdKey(group.number) });
      this.#forget(group);
    }
    return operations;
  }

  /** Takes a group's ids into the table, once it is on disk. */
  remember(number: number, time: number, ids: readonly string[]): void {
    const short = ids.map(shortened);
    this.#groups.push({ number, time, ids: short });
    this.#last = number;
    this.#count += short.length;
    for (const id of short) {
      const groups = this.#groupsById.get(id);
      if (groups === undefined) this.#groupsById.set(id, number);
      else if (typeof groups === "number") this.#groupsById.set(id, [groups, number]);
      else groups.push(number);
    }
  }

  #forget(group: NotedGroup): void {
    this.#oldest += 1;
    if (this.#oldest > 1024 && this.#oldest * 2 > this.#groups.length) {
      this.#groups = this.#groups.slice(this.#oldest);
      this.#oldest = 0;
    }
    this.#count -= group.ids.length;
    for (const id of group.ids) {
      const groups = this.#groupsById.get(id);
      if (typeof groups === "number") this.#groupsById.delete(id);
      else if (groups !== undefined) {
        groups.splice(groups.indexOf(group.number), 1);
        if (groups.length === 0) this.#groupsById.delete(id);
      }
    }
  }
}

function shortened(id: string): number {
  let bits = 0;
  for (let index = 0; index < 6; index++) bits = bits * 256 + id.charCodeAt(index);
  return bits;
}

function encode(key: Buffer, time: number, notes: readonly WriteNote[]): Buffer {
  const packed = packr.pack(
    notes.map(({ id, request, revision, results }): PackedNote => {
      return [Buffer.from(id, "latin1"), Buffer.from(request, "latin1"), revision, results];
    }),
  );
  const value = Buffer.allocUnsafe(sealBytes + 9 + packed.length);
  value[sealBytes] = layout;
  value.writeDoubleBE(time, sealBytes + 1);
  packed.copy(value, sealBytes + 9);
  return seal(key, value);
}

/** Reads a group's notes; `store_damaged` when the entry is not what was written. */
export function decodeNotes(key: Buffer, value: Buffer): { time: number; notes: readonly WriteNote[] } {
  checkSeal(key, value, () => "an entry of the write ids");
  if (value[sealBytes] !== layout) throw damaged("an entry of the write ids has an unknown layout");
  return {
    time: value.readDoubleBE(sealBytes + 1),
    notes: (packr.unpack(value.subarray(sealBytes + 9)) as readonly PackedNote[]).map(
      ([id, request, revision, results]) => ({
        id: id.toString("latin1"),
        request: request.toString("latin1"),
        revision,
        results,
      }),
    ),
  };
}
