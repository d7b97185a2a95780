import { OnceKvError } from "../base/errors.js";
import { NeedsReviewError, type ToolCallDocument } from "../tool-calls/index.js";

/** Which call of a saga: a step itself, or what undoes it. */
export type SagaPart = "step" | "compensation";

/** A call of a saga that somebody must look at. */
export interface DoubtfulPart {
  readonly step: string;
  readonly part: SagaPart;
  /** The whole key of the call, for `get`, `resolve` and `forget`. */
  readonly key: string;
}

/**
 * A step has failed, definitely and without effect. Thrown into the body, the first time and in every later run alike;
 * `cause` is an error like the tool's own, as the step's record keeps it. Status 424.
 */
export class SagaStepFailedError extends OnceKvError {
  readonly step: string;
  readonly key: string;

  constructor(step: string, key: string, cause: unknown) {
    super("tool_call_failed", `the step ${JSON.stringify(step)} has failed: ${messageOf(cause)}`, { cause });
    this.step = step;
    this.key = key;
  }
}

/**
 * The saga has failed and its steps were compensated; every later call with its key gets this again. `cause` is what the
 * body threw. Status 424.
 */
export class SagaFailedError extends OnceKvError {
  readonly key: string;
  /** Whether an earlier call had this failure and the body was not run now. */
  readonly was_replay: boolean;

  constructor(key: string, message: string, told: { readonly was_replay: boolean; readonly cause: unknown }) {
    super("tool_call_failed", message, { cause: told.cause });
    this.key = key;
    this.was_replay = told.was_replay;
  }
}

/**
 * The body did not do what its records say that it did before: it is another version of it, or it decides by something
 * that is no result of a step and not among its arguments. Nothing was fired and nothing was compensated for it. Status 422.
 */
export class SagaDivergedError extends OnceKvError {
  readonly key: string;

  constructor(key: string, problem: string, details: { readonly cause?: unknown } = {}) {
    super("idempotency_conflict", `the body of the saga ${JSON.stringify(key)} has changed: ${problem}`, details);
    this.key = key;
  }
}

/**
 * Whether some calls of a saga took effect is not known, or a compensation has failed. The saga stands still until each of
 * `doubtful` is resolved; the next call with its key then goes on. `record` is the record of the first one. Status 409.
 */
export class SagaNeedsReviewError extends NeedsReviewError {
  /** The whole key of the saga; `key` is the one of the doubtful call. */
  readonly saga: string;
  readonly doubtful: readonly DoubtfulPart[];
  /** Steps that are done and are still to be compensated, in that order; empty while the saga has not failed. */
  readonly waiting: readonly string[];

  constructor(
    saga: string,
    document: ToolCallDocument,
    told: { readonly doubtful: readonly DoubtfulPart[]; readonly waiting: readonly string[] },
  ) {
    super({
      record: document.fields,
      revision: document.revision,
      updatedAt: Date.parse(document.updated_at),
      asOf: Date.parse(document.as_of),
    });
    const parts = told.doubtful.map(({ step, part }) => `the ${part} ${JSON.stringify(step)}`).join(", ");
    this.message = `the saga ${JSON.stringify(saga)} stands still: find out whether ${parts} took effect and resolve it`;
    this.saga = saga;
    this.doubtful = told.doubtful;
    this.waiting = told.waiting;
  }
}

/** What a thrown value says in one line. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
