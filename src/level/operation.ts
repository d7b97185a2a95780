import { writeCanonicalJson } from "../documents/canonical-json.js";
import type { JsonValue } from "../documents/contract.js";
import type { CheckedWrite } from "../documents/requests.js";
import type { Draft, StoredDocument } from "./document-codec.js";
import type { StagedState } from "./group.js";

/**
 * One operation of a write: what was asked for, what it meets, what it does. It is filled in step by step by the write
 * path (write-path.ts), and nobody else changes it.
 */
export class Operation {
  readonly write: CheckedWrite;
  /** Where it stands in the request: "" alone, `operations[2].` in a batch. */
  readonly path: string;
  readonly key: Buffer;
  readonly name: string;
  /** What it leaves in the document: a put's from the start, a patch's once the document is known. */
  draft: Draft | undefined;

  // What it meets, known under the document's lock.

  /** undefined when there is none, or it has expired. */
  live: StoredDocument | undefined = undefined;
  /** The document that is in the way although it has expired. */
  expired: StoredDocument | undefined = undefined;
  /** Its newest state, when that is not on disk yet. */
  staged: StagedState | undefined = undefined;

  // What it does, known when every condition holds.

  /** When the document ends, in milliseconds since 1970; 0: never. */
  expiresAt = 0;
  created = false;
  /** The document to give back; null: there is none; undefined: none was asked for. */
  returned: StoredDocument | null | undefined = undefined;

  constructor(write: CheckedWrite, path: string, key: Buffer, name: string, draft: Draft | undefined) {
    this.write = write;
    this.path = path;
    this.key = key;
    this.name = name;
    this.draft = draft;
  }
}

/** One text for all that makes two requests the same; the order of properties is not part of it. */
export function describeRequest(operations: readonly Operation[]): string {
  const described = operations.map(({ write }): JsonValue[] => [
    write.kind,
    write.shape,
    write.id,
    write.fields ?? null,
    write.fields === undefined,
    write.ttlMs === undefined ? "absent" : write.ttlMs,
    (write.condition ?? null) as JsonValue,
    write.wantsDocument,
  ]);
  return writeCanonicalJson(described);
}
