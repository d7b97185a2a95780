import { writeCanonicalJson } from "../documents/canonical-json.js";
import type { JsonValue } from "../documents/contract.js";
import type { CheckedWrite } from "../documents/requests.js";
import type { StoredDocument } from "./document-codec.js";
import type { Group } from "./group.js";

/** A checked operation with all that can be prepared without knowing the document. */
export interface PreparedWrite {
  readonly write: CheckedWrite;
  /** Where it stands in the request: "" alone, `operations[2].` in a batch. */
  readonly path: string;
  readonly key: Buffer;
  readonly name: string;
  /** A put's fields in their stored form. */
  readonly fields: Buffer | undefined;
}

/** What a write meets: a document's newest state. */
export interface Found {
  /** undefined when there is none, or it has expired. */
  readonly live: StoredDocument | undefined;
  /** The document that is in the way although it has expired. */
  readonly expired: StoredDocument | undefined;
  /** The group that will make this state durable; undefined when it is on disk. */
  readonly group: Group | undefined;
}

/** One text for all that makes two requests the same; the order of properties is not part of it. */
export function describeRequest(writes: readonly CheckedWrite[]): string {
  const described: JsonValue[] = writes.map((write) => [
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
