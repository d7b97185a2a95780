import type { Lifetime, StoredDocument } from "./document-codec.js";
import { parseDocumentKey } from "./keys.js";

/** What a commit did to one document, as it is staged, logged and told to watchers. */
export interface StagedChange {
  readonly type: "put" | "delete" | "expire";
  readonly key: Buffer;
  /** The name under which the document is locked and staged. */
  readonly name: string;
  readonly shape: string;
  readonly id: string;
  /** The new state; undefined when the document is gone. */
  readonly document: StoredDocument | undefined;
  /** When the state that the change replaces was written, and its deadline; undefined when there was none. */
  readonly previous: Lifetime | undefined;
  /** The earliest deadline among the states that this one replaces and that may still be the one on disk; 0: none. */
  readonly replacedDeadline: number;
}

/** The earlier of two deadlines, where 0 is none. */
export function earlierDeadline(one: number, other: number): number {
  return one === 0 || (other !== 0 && other < one) ? other : one;
}

/** A commit: one revision, and all that it changed. */
export interface StagedCommit {
  readonly revision: number;
  readonly changes: readonly StagedChange[];
}

/** A change as the log tells it. */
export interface LoggedChange {
  readonly type: "put" | "delete" | "expire";
  readonly shape: string;
  readonly id: string;
  readonly key: Buffer;
  /** The stored value; undefined when the document is gone. */
  readonly value: Buffer | undefined;
}

/** A commit as the log tells it. */
export interface LoggedCommit {
  readonly revision: number;
  readonly changes: readonly LoggedChange[];
}

/** The same commit, as watchers get it whether it comes from memory or from the log. */
export function toLogged(commit: StagedCommit): LoggedCommit {
  return {
    revision: commit.revision,
    changes: commit.changes.map((change) => ({
      type: change.type,
      shape: change.shape,
      id: change.id,
      key: change.key,
      value: change.document?.value,
    })),
  };
}

/** A change read from the log. */
export function loggedChange(type: LoggedChange["type"], key: Buffer, value: Buffer | undefined): LoggedChange {
  const { shape, id } = parseDocumentKey(key);
  return { type, shape, id, key, value };
}

/** Bytes that a commit holds in memory and brings to disk, about. */
export function commitBytes(changes: readonly StagedChange[]): number {
  let bytes = 64;
  for (const change of changes) bytes += 128 + 2 * change.key.length + 2 * (change.document?.value.length ?? 0);
  return bytes;
}
