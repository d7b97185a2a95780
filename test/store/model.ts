import assert from "node:assert/strict";
import type { BatchOperation, Condition, Fields, JsonValue } from "../../src/documents/contract.js";

/**
 * A model of the store: a map from ids to documents, and what the contract says about each write, in the plainest words.
 * It has no staging, no disk, no sweeper and no locks; the store must not be told apart from it.
 */

/** A document of the model. */
export interface ModelDocument {
  readonly fields: Fields;
  readonly revision: number;
  readonly createdRevision: number;
  /** Milliseconds; 0: never. */
  readonly deadline: number;
}

/** What the model says of one write. */
export type Outcome =
  | { readonly ok: true; readonly revision: number; readonly created: readonly boolean[]; readonly changed: boolean }
  | { readonly ok: false; readonly code: "precondition_failed" | "not_found"; readonly failed: readonly number[] };

/** One change, as a watcher is told of it. */
export interface ModelChange {
  readonly revision: number;
  readonly type: "put" | "delete" | "expire";
  readonly id: string;
  readonly fields: Fields | null;
}

export class Model {
  /** Documents that are on disk; those whose deadline is over are absent all the same. */
  readonly #stored = new Map<string, ModelDocument>();
  readonly history: ModelChange[] = [];
  revision: number;
  now: number;

  constructor(revision: number, now: number) {
    this.revision = revision;
    this.now = now;
  }

  get(id: string): ModelDocument | undefined {
    const document = this.#stored.get(id);
    return document === undefined || this.#isOver(document) ? undefined : document;
  }

  /** The ids of living documents, in order. */
  ids(): string[] {
    return [...this.#stored.keys()].filter((id) => this.get(id) !== undefined).toSorted();
  }

  /**
   * Takes what is over off the disk; the number of documents that went.
   * @param revision of the commit, as in `write`
   */
  sweep(revision: number = this.revision + 1): number {
    const over = [...this.#stored].filter(([, document]) => this.#isOver(document)).map(([id]) => id);
    if (over.length > 0) this.revision = revision;
    for (const id of over) this.#remove("expire", id);
    return over.length;
  }

  /**
   * One commit of all operations, or nothing.
   * @param revision of the commit, where others may commit in between; else it is the next one
   */
  write(operations: readonly BatchOperation[], revision: number = this.revision + 1): Outcome {
    const failed = operations.flatMap(({ id, if_match }, index) =>
      if_match === undefined || this.#holds(if_match, this.get(id)) ? [] : [index],
    );
    if (failed.length > 0) return { ok: false, code: "precondition_failed", failed };
    if (operations.some(({ op, id }) => op === "patch" && this.get(id) === undefined)) {
      return { ok: false, code: "not_found", failed: [] };
    }
    const changed = operations.some(
      ({ op, id }) => op === "put" || op === "patch" || (op === "delete" && this.get(id) !== undefined),
    );
    if (changed) this.revision = revision;
    const created = operations.map((operation) => this.#apply(operation));
    return { ok: true, revision: this.revision, created, changed };
  }

  /** Whether the operation began a new life. */
  #apply(operation: BatchOperation): boolean {
    const { id } = operation;
    const live = this.get(id);
    if (operation.op === "check") return false;
    if (operation.op === "delete") {
      if (live !== undefined) this.#remove("delete", id);
      return false;
    }
    if (live === undefined && this.#stored.has(id)) this.#remove("expire", id);
    const fields = operation.op === "put" ? operation.set : merged(live?.fields ?? {}, operation.merge ?? {});
    const kept = operation.op === "patch" ? (live?.deadline ?? 0) : 0;
    const { ttl } = operation;
    const deadline = ttl === undefined ? kept : ttl === null ? 0 : this.now + Math.round(ttl * 1000);
    const { revision } = this;
    this.#stored.set(id, { fields, revision, createdRevision: live?.createdRevision ?? revision, deadline });
    this.history.push({ revision, type: "put", id, fields });
    return live === undefined;
  }

  #remove(type: "delete" | "expire", id: string): void {
    this.#stored.delete(id);
    this.history.push({ revision: this.revision, type, id, fields: null });
  }

  #isOver({ deadline }: ModelDocument): boolean {
    return deadline !== 0 && deadline <= this.now;
  }

  #holds({ exists, revision, fields }: Condition, document: ModelDocument | undefined): boolean {
    if (exists !== undefined && exists !== (document !== undefined)) return false;
    if (revision !== undefined && revision !== document?.revision) return false;
    return Object.entries(fields ?? {}).every(
      ([name, value]) =>
        document !== undefined && Object.hasOwn(document.fields, name) && equal(document.fields[name], value),
    );
  }
}

function equal(one: unknown, other: unknown): boolean {
  try {
    assert.deepStrictEqual(one, other);
    return true;
  } catch {
    return false;
  }
}

/** A merge patch by its definition in RFC 7396. */
function merged(target: JsonValue, patch: unknown): Fields {
  const result: Fields = typeof target === "object" && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch as Fields)) {
    if (value === null) delete result[name];
    else if (typeof value === "object" && !Array.isArray(value)) result[name] = merged(result[name] ?? null, value);
    else result[name] = value;
  }
  return result;
}
