import type { LoggedChange } from "./commit.js";
import { numberOfKey } from "./keys.js";
import { decodeLogCommits, decodeLogHeader, type LogHeader } from "./log-entry.js";

/** The newest change to one document that the log tells of. */
export interface LoggedState {
  readonly revision: number;
  readonly type: LoggedChange["type"];
  /** The number of the log entry that tells it. */
  readonly entry: number;
}

/** Revisions, both bounds included. */
export interface RevisionRange {
  readonly from: number;
  readonly to: number;
}

/** What the log says about documents: a second source beside the documents themselves, as far as history reaches. */
export class LoggedStates {
  /** By the key's bytes as Latin-1: a string is a map's key and costs half of what a buffer does. */
  readonly #states = new Map<string, LoggedState>();
  readonly #headers: LogHeader[] = [];

  /** Takes an entry in. Throws `store_damaged` when it is not what was written, and then takes nothing of it. */
  note(key: Buffer, value: Buffer): LogHeader {
    const header = decodeLogHeader(key, value);
    const commits = decodeLogCommits(key, value, 0);
    this.#headers.push(header);
    for (const { revision, changes } of commits) {
      for (const change of changes) {
        const name = nameOf(change.key);
        const known = this.#states.get(name);
        if (known !== undefined && known.revision > revision) continue;
        this.#states.set(name, { revision, type: change.type, entry: numberOfKey(key) });
      }
    }
    return header;
  }

  get(key: Buffer): LoggedState | undefined {
    return this.#states.get(nameOf(key));
  }

  /** All that are known, by their keys. */
  *all(): Generator<[key: Buffer, state: LoggedState]> {
    for (const [name, state] of this.#states) yield [Buffer.from(name, "latin1"), state];
  }

  /**
   * The revisions that no entry tells of, although entries before and after do.
   *
   * @param base where the counter last jumped to: nothing is missing before it
   * @param newest a revision that is known to have been given out
   */
  missing(base: number, newest: number): RevisionRange[] {
    const headers = this.#headers.filter(({ last }) => last > base).sort((one, other) => one.first - other.first);
    const ranges: RevisionRange[] = [];
    let reached = headers[0]?.previous ?? base;
    for (const { previous, last } of headers) {
      if (previous > reached && previous !== base) ranges.push({ from: reached + 1, to: previous });
      reached = Math.max(reached, last);
    }
    if (newest > reached && newest > base) ranges.push({ from: Math.max(reached, base) + 1, to: newest });
    return ranges;
  }
}

/** A key as it names a document in a map or a set. */
export function nameOf(key: Buffer): string {
  return key.toString("latin1");
}
