import { conditionHolds } from "../../src/documents/condition.js";
import type { Condition, Fields } from "../../src/documents/contract.js";
import { mergePatch } from "../../src/documents/merge-patch.js";
import type { SeenRecord, ToolCallRecord } from "../../src/tool-calls/record.js";
import type { RecordWrite } from "../../src/tool-calls/transition-types.js";

/*
 * The store as the contract describes it, for one key: one document, one counter, conditions and deadlines judged by its
 * own time. Instants are milliseconds.
 */

export interface StoredDocument {
  readonly fields: ToolCallRecord;
  readonly revision: number;
  readonly updatedAt: number;
  /** null: never. */
  readonly expiresAt: number | null;
}

/** A write of the product, or one that a mutant made of it. */
export type ModelWrite = RecordWrite & {
  /** Happens whatever is there. */
  readonly unconditional?: true;
  /** Happens also when nothing is there. */
  readonly orAbsent?: true;
  /** It says "not done" while the effect may yet come. */
  readonly hasty?: true;
};

export interface Applied {
  readonly accepted: boolean;
  readonly document: StoredDocument | undefined;
  readonly revision: number;
}

/** The document if it is not over. */
export function living(document: StoredDocument | undefined, now: number): StoredDocument | undefined {
  if (document === undefined || (document.expiresAt !== null && document.expiresAt <= now)) return undefined;
  return document;
}

export function apply(write: ModelWrite, document: StoredDocument | undefined, revision: number, now: number): Applied {
  const target = living(document, now);
  if (!holds(write, write.if_match, target)) return { accepted: false, document: target, revision };
  const next = revision + 1;
  switch (write.op) {
    case "delete":
      return { accepted: true, document: undefined, revision: next };
    case "put":
      return { accepted: true, revision: next, document: written(write.set, next, now, write.ttl, null) };
    case "patch": {
      if (target === undefined) return { accepted: false, document: undefined, revision };
      const fields = mergePatch(target.fields as Fields, write.merge) as ToolCallRecord;
      return { accepted: true, revision: next, document: written(fields, next, now, write.ttl, target.expiresAt) };
    }
  }
}

function written(
  fields: ToolCallRecord,
  revision: number,
  now: number,
  ttl: number | null | undefined,
  kept: number | null,
): StoredDocument {
  const expiresAt = ttl === undefined ? kept : ttl === null ? null : now + ttl * 1000;
  return { fields, revision, updatedAt: now, expiresAt };
}

function holds(write: ModelWrite, condition: Condition, target: StoredDocument | undefined): boolean {
  if (write.unconditional === true) return true;
  if (write.orAbsent === true && target === undefined) return true;
  return conditionHolds(
    condition,
    target === undefined ? undefined : { revision: target.revision, fields: target.fields as Fields },
  );
}

export function seenOf(document: StoredDocument | undefined, now: number): SeenRecord | undefined {
  const target = living(document, now);
  if (target === undefined) return undefined;
  return { record: target.fields, revision: target.revision, updatedAt: target.updatedAt, asOf: now };
}
