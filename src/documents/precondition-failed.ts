import { OnceKvError } from "../base/errors.js";
import type { Condition, Document } from "./contract.js";

/** One condition that did not hold. */
export interface ConditionFailure {
  /** Which operation of the batch; 0 for a single write. */
  readonly index: number;
  readonly shape: string;
  readonly id: string;
  readonly expected: Condition;
  /** What is there instead, so that the loser needs no second read; null: nothing. */
  readonly current: Document | null;
  /** True when `current` is null only because it may not be shown or would be too large. */
  readonly current_omitted?: true;
}

/**
 * A write whose condition did not hold; nothing was written. `status` is 412.
 *
 * It is an answer that callers expect, and where many fight for one document most writes end with it. So it carries no
 * stack trace, which would take more time than all the rest of the write.
 */
export class PreconditionFailedError extends OnceKvError {
  readonly failures: readonly ConditionFailure[];

  constructor(failures: readonly ConditionFailure[]) {
    const first = failures[0];
    const where = first === undefined ? "" : ` for ${first.shape}/${JSON.stringify(first.id)}`;
    const more = failures.length > 1 ? ` and ${failures.length - 1} more` : "";
    const { stackTraceLimit } = Error;
    // Without an exception where the global objects are frozen: then there is a trace.
    Reflect.set(Error, "stackTraceLimit", 0);
    super("precondition_failed", `the condition does not hold${where}${more}`);
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
    this.failures = failures;
  }
}
