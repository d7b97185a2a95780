import { OnceKvError } from "../base/errors.js";
import { classOf } from "../tool-calls/failure.js";
import type {
  CallOptions,
  FailureClassifier,
  LookUp,
  ToolCallDocument,
  ToolCallOutcome,
  ToolCallPolicy,
} from "../tool-calls/index.js";
import { SagaNeedsReviewError } from "./errors.js";
import { type DoneStep, isDoubtful, nameOf, notStored, partRequest, runPart, type SagaRun } from "./steps.js";

/** What undoing came to. */
export interface Compensated {
  /** Undone, the last step first. */
  readonly undone: readonly string[];
  /** Somebody has decided that these cannot be undone. */
  readonly givenUp: readonly string[];
}

/**
 * Undoes the steps that are done, the last one first. It stops at the first that cannot be undone: what an earlier step
 * made may be needed to put a later one right.
 *
 * @throws SagaNeedsReviewError naming the compensation that has failed or is in doubt, and those that wait behind it; what
 * a compensation throws that is certainly not done: the next run tries it again
 */
export async function compensateSteps(run: SagaRun, done: readonly DoneStep[]): Promise<Compensated> {
  const undone: string[] = [];
  const givenUp: string[] = [];
  const left = done.filter((step) => step.compensate !== undefined).reverse();
  for (const [index, step] of left.entries()) {
    const waiting = left.slice(index + 1).map(({ name }) => name);
    const ended = await compensateStep(run, step, waiting);
    (ended === "undone" ? undone : givenUp).push(step.name);
  }
  return { undone, givenUp };
}

async function compensateStep(
  run: SagaRun,
  step: DoneStep,
  waiting: readonly string[],
): Promise<"undone" | "given up"> {
  const { calls, call, times } = run;
  const { name, position, args, result, compensate, options } = step;
  const policy = (await stepRecord(run, step)).fields.policy;
  const { pendingTtl, waitTimeout, maxRunTime } = options;
  const request = partRequest(run, {
    // A tool of its own: who looks up what became of the step must not take this for it.
    tool: `${name}.compensation`,
    position,
    args,
    part: "compensation",
    options: { ...times, pendingTtl, waitTimeout, maxRunTime, marks: false, ...doubtOptions(policy, options.classify) },
  });
  let outcome: ToolCallOutcome<unknown>;
  try {
    outcome = await runPart(run, request, (part) => compensate?.(result, part));
  } catch (error) {
    const document = await calls.get(nameOf(request)).catch(() => undefined);
    if (document === undefined) throw error;
    if (isDoubtful(document, error)) {
      const doubtful = [{ step: name, part: "compensation", key: document.id } as const];
      throw new SagaNeedsReviewError(call.key, document, { doubtful, waiting });
    }
    // No run ends in this state by itself: somebody has resolved it with an error.
    if (document.fields.status === "failed") return "given up";
    throw error;
  }
  if (!outcome.persisted) throw notStored(name, "compensation");
  return "undone";
}

async function stepRecord({ calls, call }: SagaRun, { key, name }: DoneStep): Promise<ToolCallDocument> {
  const document = await calls.get(key);
  if (document !== undefined) return document;
  throw new OnceKvError(
    "needs_review",
    `the record of the step "${name}" is gone: whether to compensate it in the saga ${JSON.stringify(call.key)} is not known`,
  );
}

/**
 * What a crash or a throw of a compensation means. What its throw says is never final: an effect that is not undone is for
 * a person to judge. A crash is for the policy of the step: where the step may be fired again, so may what undoes it.
 */
function doubtOptions(
  policy: ToolCallPolicy,
  given: FailureClassifier | undefined,
): Pick<CallOptions, "policy" | "reconcile" | "classify"> {
  const classify: FailureClassifier = (error, call) =>
    classOf(error, call, given) === "retryable" ? "retryable" : "unknown";
  if (policy !== "refire") return { policy: "review", classify };
  return { policy: "reconcile", reconcile: againAfterCrash, classify };
}

/** A compensation that threw has left its error in the record, one that crashed has not. */
const againAfterCrash: LookUp = (record) => (record.error === undefined ? { not_done: true } : { unknown: true });
