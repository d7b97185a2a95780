import { InvalidRequestError, OnceKvError } from "../base/errors.js";
import { kindOf } from "../documents/value-kind.js";
import {
  classifyFailure,
  type ToolCall,
  ToolCallFailedError,
  type ToolCallOutcome,
  type ToolCalls,
} from "../tool-calls/index.js";
import type { ArgumentsOf } from "../tool-calls/request.js";
import { type Compensated, compensateSteps } from "./compensating.js";
import { messageOf, SagaDivergedError, SagaFailedError } from "./errors.js";
import { problemWithEnd, readJournal } from "./journal.js";
import { resolveSagaOptions, type SagaOptions, type SagaSettings } from "./options.js";
import { type Saga, type SagaRun, Steps } from "./steps.js";

/** The body of a saga. */
export type SagaBody<T, A = unknown> = (saga: Saga<A>) => T | Promise<T>;

/**
 * Does several steps as one: all of them are done, or those that were are undone, the last one first. Each step, and what
 * undoes it, is a tool call of its own, with a key made of the saga's key and the step's name.
 *
 * The body is run again after a crash, by whoever calls with the same key, in any process; steps that are done give their
 * stored results then. So it must be deterministic: what it does next may depend on its arguments, on results of steps and
 * on their failures, and on nothing else; all effects belong into steps. One run at a time has the saga's claim, and steps
 * are fired under it only.
 *
 * - The body returns: the saga is done, and later calls get the result with `was_replay: true`.
 * - The body throws: the steps that are done are compensated, and this call and every later one gets `SagaFailedError`. An
 *   error that says of itself that trying again makes sense (`retryable: true`, an `outcome` of `"retryable"` or
 *   `"unknown"`, a connection that could not be made) stops the run instead.
 * - The run stops (an outcome in doubt, a step that is certainly not done but may be tried again, a claim or a store that is
 *   lost, the caller's signal): nothing is compensated, the call rejects with the reason, and the next one goes on.
 *
 * @throws SagaFailedError, SagaNeedsReviewError, SagaDivergedError; IdempotencyConflictError when the key is bound to other
 * arguments; CallInFlightError; what a step throws that may be tried again; what the store throws
 */
export async function saga<T, A = unknown>(
  calls: ToolCalls,
  options: SagaOptions<A>,
  body: SagaBody<T, ArgumentsOf<A>>,
): Promise<ToolCallOutcome<T>> {
  const settings = resolveSagaOptions(options);
  if (typeof body !== "function") throw new InvalidRequestError("body", `must be a function, not ${kindOf(body)}`);
  const request = { ...settings.request, classify: classifyEnd };
  const untyped = body as SagaBody<unknown>;
  try {
    return (await calls.run<unknown>(request, (call) => runSaga(calls, call, settings, untyped))) as ToolCallOutcome<T>;
  } catch (error) {
    throw replayed(error, calls, settings);
  }
}

async function runSaga(
  calls: ToolCalls,
  call: ToolCall,
  settings: SagaSettings,
  body: SagaBody<unknown>,
): Promise<unknown> {
  await checkAge(calls, call, settings);
  const run: SagaRun = { calls, call, times: settings.times, journal: await readJournal(calls, call.key) };
  const steps = new Steps(run);
  const { args, key, attempt, signal } = call;
  const ended = await runBody(body, { args, key, attempt, signal, step: steps.step });
  const stop = await steps.end();
  if (stop !== undefined) throw stop.error;
  const failed = "error" in ended;
  if (failed && (signal.aborted || !isDefinite(ended.error))) throw ended.error;
  const problem = problemWithEnd(run.journal, steps.count, failed);
  if (problem !== undefined) {
    throw new SagaDivergedError(key, problem, failed ? { cause: ended.error } : {});
  }
  if (!failed) return ended.result;
  throw new SagaFailure(key, ended.error, await compensateSteps(run, steps.done));
}

async function runBody(
  body: SagaBody<unknown>,
  facade: Saga,
): Promise<{ readonly result: unknown } | { readonly error: unknown }> {
  try {
    return { result: await body(facade) };
  } catch (error) {
    return { error };
  }
}

/** By the store's clock, and from the saga's first claim on. Later, records of its first steps may be forgotten. */
async function checkAge(calls: ToolCalls, { key }: ToolCall, { windowMs }: SagaSettings): Promise<void> {
  const own = await calls.get(key);
  if (own === undefined) return;
  const ageMs = Date.parse(own.as_of) - Date.parse(own.created_at);
  if (ageMs <= windowMs) return;
  throw new OnceKvError(
    "needs_review",
    `the saga ${JSON.stringify(key)} was begun ${Math.floor(ageMs / 1000)} seconds ago, before its window: look at its steps`,
  );
}

/** Whether an error of the body ends the saga. */
function isDefinite(error: unknown): boolean {
  if (typeof error === "object" && error !== null) {
    if ("outcome" in error && (error.outcome === "retryable" || error.outcome === "unknown")) return false;
    if ("retryable" in error && error.retryable === true) return false;
  }
  return classifyFailure(error) !== "retryable";
}

/** The end of a failed saga on its way into the saga's record. */
class SagaFailure extends Error {
  constructor(key: string, cause: unknown, { undone, givenUp }: Compensated) {
    const names = (steps: readonly string[]): string => steps.map((step) => JSON.stringify(step)).join(", ");
    const parts = [
      undone.length === 0 ? "nothing was to be compensated" : `compensated were ${names(undone)}`,
      ...(givenUp.length === 0 ? [] : [`not compensated, by decision, were ${names(givenUp)}`]),
    ];
    super(`the saga ${JSON.stringify(key)} has failed: ${messageOf(cause)} (${parts.join("; ")})`, { cause });
    this.name = "SagaFailure";
  }
}

/** The saga itself has no effect: whatever else it ends with, the next run may go on at once. */
function classifyEnd(error: unknown): "failed" | "retryable" {
  return error instanceof SagaFailure ? "failed" : "retryable";
}

/** The same kind of error for the first caller and for every later one. */
function replayed(error: unknown, calls: ToolCalls, { request }: SagaSettings): unknown {
  const { tool, args, key, scope } = request;
  if (error instanceof SagaFailure) {
    const whole = calls.keyOf({ tool, args, key, scope });
    return new SagaFailedError(whole, error.message, { was_replay: false, cause: error.cause });
  }
  if (error instanceof ToolCallFailedError && error.cause instanceof Error && error.cause.name === "SagaFailure") {
    return new SagaFailedError(error.key, error.cause.message, { was_replay: true, cause: error.cause.cause });
  }
  return error;
}
