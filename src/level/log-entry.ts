import { type LoggedChange, type LoggedCommit, loggedChange, type StagedCommit } from "./commit.js";
import { checkSeal, damaged, seal, sealBytes } from "./sealed.js";

/**
 * The log: one entry a group of commits, holding its changes in full. It is what `watch` resumes from, it carries the
 * revision counter and the clock across restarts, and each entry names the revision before it, so that a missing entry
 * shows.
 *
 *   0  checksum   4  layout   5  previous group's last revision   13  first revision   21  last revision
 *   29 the store's now   37  bytes of all entries ever written, this one included   45 commits
 *   then for each commit: revision, number of changes, and for each change: type, key, value
 */
const layout = 1;
const headerBytes = 45;

const changeTypes = ["put", "delete", "expire"] as const;

export interface LogHeader {
  /** The last revision of the group before; history without a gap begins behind the first entry's `previous`. */
  readonly previous: number;
  readonly first: number;
  readonly last: number;
  /** The store's now when the group was closed, in milliseconds since 1970. */
  readonly time: number;
  /** A running total, whose differences are the size of a stretch of the log. */
  readonly totalBytes: number;
}

/** Encodes a group of at least one commit. */
export function encodeLogEntry(
  key: Buffer,
  commits: readonly StagedCommit[],
  about: { readonly previous: number; readonly time: number; readonly totalBytesBefore: number },
): { readonly value: Buffer; readonly header: LogHeader } {
  let size = headerBytes;
  for (const commit of commits) {
    size += 12;
    for (const change of commit.changes) size += 9 + change.key.length + (change.document?.value.length ?? 0);
  }
  const header: LogHeader = {
    previous: about.previous,
    first: commits[0]?.revision ?? 0,
    last: commits[commits.length - 1]?.revision ?? 0,
    time: about.time,
    totalBytes: about.totalBytesBefore + size,
  };
  const value = Buffer.allocUnsafe(size);
  value[sealBytes] = layout;
  value.writeDoubleBE(header.previous, 5);
  value.writeDoubleBE(header.first, 13);
  value.writeDoubleBE(header.last, 21);
  value.writeDoubleBE(header.time, 29);
  value.writeDoubleBE(header.totalBytes, 37);
  let offset = headerBytes;
  for (const commit of commits) {
    value.writeDoubleBE(commit.revision, offset);
    value.writeUInt32BE(commit.changes.length, offset + 8);
    offset += 12;
    for (const change of commit.changes) {
      value[offset] = changeTypes.indexOf(change.type);
      value.writeUInt32BE(change.key.length, offset + 1);
      offset += 5 + change.key.copy(value, offset + 5);
      const document = change.document?.value;
      value.writeUInt32BE(document?.length ?? 0, offset);
      offset += 4;
      if (document !== undefined) offset += document.copy(value, offset);
    }
  }
  seal(key, value);
  return { value, header };
}

/** Reads an entry's header; `store_damaged` when the entry is not what was written. */
export function decodeLogHeader(key: Buffer, value: Buffer): LogHeader {
  checkSeal(key, value, () => "an entry of the log");
  if (value[sealBytes] !== layout) throw damaged("an entry of the log has an unknown layout");
  return {
    previous: value.readDoubleBE(5),
    first: value.readDoubleBE(13),
    last: value.readDoubleBE(21),
    time: value.readDoubleBE(29),
    totalBytes: value.readDoubleBE(37),
  };
}

/** The last revision before an entry that has been decoded. */
export function previousOf(value: Buffer): number {
  return value.readDoubleBE(5);
}

/** Reads an entry's commits after revision `after`; `store_damaged` when the entry is not what was written. */
export function decodeLogCommits(key: Buffer, value: Buffer, after: number): LoggedCommit[] {
  decodeLogHeader(key, value);
  const commits: LoggedCommit[] = [];
  let offset = headerBytes;
  while (offset < value.length) {
    const revision = value.readDoubleBE(offset);
    const count = value.readUInt32BE(offset + 8);
    offset += 12;
    const changes: LoggedChange[] = [];
    for (let index = 0; index < count; index++) {
      const type = changeTypes[value[offset] ?? -1];
      if (type === undefined) throw damaged("an entry of the log holds an unknown change");
      const keyEnd = offset + 5 + value.readUInt32BE(offset + 1);
      const documentKey = value.subarray(offset + 5, keyEnd);
      const documentEnd = keyEnd + 4 + value.readUInt32BE(keyEnd);
      const document = type === "put" ? value.subarray(keyEnd + 4, documentEnd) : undefined;
      if (revision > after) changes.push(loggedChange(type, documentKey, document));
      offset = documentEnd;
    }
    if (revision > after) commits.push({ revision, changes });
  }
  return commits;
}
