import { OnceKvError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import { type ConditionTarget, conditionHolds } from "../documents/condition.js";
import type { Document, Fields } from "../documents/contract.js";
import { type ConditionFailure, PreconditionFailedError } from "../documents/precondition-failed.js";
import { fieldsBytes, fieldsOf, type StoredDocument, toDocument } from "./document-codec.js";
import type { Operation } from "./operation.js";

/** The error of a write that may not happen; undefined when every condition holds. */
export function judgeConditions(
  operations: readonly Operation[],
  now: number,
  limits: Limits,
): OnceKvError | undefined {
  let failures: ConditionFailure[] | undefined;
  let missing: OnceKvError | undefined;
  let currentBytes = 0;
  for (let index = 0; index < operations.length; index++) {
    const { write, path, live } = operations[index] as Operation;
    const { condition, shape, id } = write;
    if (
      condition !== undefined &&
      !conditionHolds(condition, live === undefined ? undefined : new StoredTarget(live))
    ) {
      currentBytes += live === undefined ? 0 : fieldsBytes(live);
      const omitted = currentBytes > limits.currentBytesMax;
      const current: Document | null = live === undefined || omitted ? null : toDocument(shape, id, live, now);
      failures ??= [];
      const failure = { index, shape, id, expected: condition, current };
      failures.push(omitted && live !== undefined ? { ...failure, current_omitted: true } : failure);
    } else if (write.kind === "patch" && live === undefined) {
      missing ??= new OnceKvError(
        "not_found",
        `there is no document ${shape}/${JSON.stringify(id)} to patch`,
        path === "" ? {} : { path: path.slice(0, -1) },
      );
    }
  }
  return failures === undefined ? missing : new PreconditionFailedError(failures);
}

/** A stored document as a condition looks at it: its fields are decoded only when they are asked for. */
class StoredTarget implements ConditionTarget {
  readonly #document: StoredDocument;

  constructor(document: StoredDocument) {
    this.#document = document;
  }

  get revision(): number {
    return this.#document.revision;
  }

  get fields(): Fields {
    return fieldsOf(this.#document);
  }
}
