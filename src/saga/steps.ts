import { InvalidRequestError, OnceKvError } from "../base/errors.js";
import { kindOf } from "../documents/value-kind.js";
import { reviveError } from "../tool-calls/error-codec.js";
import {
  IdempotencyConflictError,
  NeedsReviewError,
  type Tool,
  type ToolCall,
  type ToolCallDocument,
  type ToolCallOutcome,
  type ToolCallRequest,
  type ToolCalls,
} from "../tool-calls/index.js";
import type { ArgumentsOf } from "../tool-calls/request.js";
import { SagaDivergedError, SagaNeedsReviewError, SagaStepFailedError } from "./errors.js";
import { type Journal, type PartMark, problemWithStep } from "./journal.js";
import { checkStepOptions, type SagaTimes, type StepOptions } from "./options.js";

/** Undoes a step that was done: gets its result, and a call of its own with the same arguments. */
export type Compensation<R = unknown, A = unknown> = (result: R, call: ToolCall<ArgumentsOf<A>>) => unknown;

/** What the body of a saga is given. */
export interface Saga<A = unknown> {
  readonly args: A;
  /** The whole key. */
  readonly key: string;
  /** 1 for the first run within the window. */
  readonly attempt: number;
  /** Aborts when the saga's claim is not surely held any more, and when the caller gives up. */
  readonly signal: AbortSignal;
  /**
   * Does one step, once: a later run gets its stored result. Steps run one after another, and each name is used once.
   *
   * @param name of the step; with the saga's key it makes the key of its call
   * @param args JSON that says what the step does, compared when the body is run again
   * @param compensate undoes it when the saga fails later; absent: nothing has to be undone
   * @returns the result as it is stored
   * @throws SagaStepFailedError when the step has definitely failed: the body may go another way, or let it pass, which
   * ends the saga; everything else that it throws stops this run of the saga, whatever the body does with it
   */
  step<R, S = unknown>(
    name: string,
    args: S,
    act: Tool<R, ArgumentsOf<S>>,
    compensate?: Compensation<Awaited<R>, S>,
    options?: StepOptions,
  ): Promise<Awaited<R>>;
}

/** What the parts of one run of a saga share. */
export interface SagaRun {
  readonly calls: ToolCalls;
  /** The saga's own call, whose claim must hold whenever a part of it is fired. */
  readonly call: ToolCall;
  readonly times: SagaTimes;
  readonly journal: Journal;
}

/** A step that is done. */
export interface DoneStep {
  readonly name: string;
  readonly position: number;
  readonly key: string;
  readonly args: unknown;
  readonly result: unknown;
  readonly compensate: Compensation | undefined;
  readonly options: StepOptions;
}

/** Runs the steps that the body asks for, and remembers what was done, and whether the run has to stop. */
export class Steps {
  readonly #run: SagaRun;
  readonly #names = new Set<string>();
  readonly #done: DoneStep[] = [];
  #running: Promise<unknown> | undefined;
  #stop: { readonly error: unknown } | undefined;

  constructor(run: SagaRun) {
    this.#run = run;
  }

  /** Done, in order. */
  get done(): readonly DoneStep[] {
    return this.#done;
  }

  /** Steps that the body has asked for. */
  get count(): number {
    return this.#names.size;
  }

  readonly step = <R, S>(
    name: string,
    args: S,
    act: Tool<R, ArgumentsOf<S>>,
    compensate?: Compensation<Awaited<R>, S>,
    options: StepOptions = {},
  ): Promise<Awaited<R>> => {
    const others = this.#running !== undefined;
    const position = this.#names.size;
    const step = this.#step(name, position, others, {
      args,
      act: act as Tool<unknown>,
      compensate: compensate as Compensation | undefined,
      options,
    });
    if (!others) {
      const ended = (): void => {
        this.#running = undefined;
      };
      this.#running = step.then(ended, ended);
    }
    return step as Promise<Awaited<R>>;
  };

  /**
   * The body has ended: no more steps.
   *
   * @returns why the run has to stop without a verdict about the saga; undefined: it has not
   */
  async end(): Promise<{ readonly error: unknown } | undefined> {
    if (this.#running !== undefined) {
      await this.#running;
      const problem = "the body of a saga must not end before its steps: await each of them";
      this.#stop ??= { error: new InvalidRequestError("", problem) };
    }
    const stop = this.#stop;
    this.#stop ??= { error: new InvalidRequestError("", "the body of the saga has ended: it can do no more steps") };
    return stop;
  }

  async #step(
    name: string,
    position: number,
    others: boolean,
    asked: Pick<DoneStep, "args" | "compensate" | "options"> & { readonly act: Tool<unknown> },
  ): Promise<unknown> {
    const { calls, call, times, journal } = this.#run;
    if (this.#stop !== undefined) throw this.#stop.error;
    if (others) this.#halt(new InvalidRequestError("name", `"${name}" was begun before the step before it had ended`));
    this.#judge(name, asked);
    this.#names.add(name);
    const problem = problemWithStep(journal, position, name);
    if (problem !== undefined) this.#halt(new SagaDivergedError(call.key, problem));
    const { args, act, compensate, options } = asked;
    const request = partRequest(this.#run, {
      tool: name,
      position,
      args,
      part: "step",
      options: { ...options, ...times },
    });
    let key: string;
    let outcome: ToolCallOutcome<unknown>;
    try {
      key = calls.keyOf(nameOf(request));
      outcome = await runPart(this.#run, request, act);
    } catch (error) {
      throw await this.#failure(name, request, error);
    }
    if (!outcome.persisted) this.#halt(notStored(name, "step"));
    const { result, result_omitted: omitted } = outcome;
    if (omitted === "gone") this.#halt(resultGone(name, key));
    this.#done.push({
      name,
      position,
      key,
      args,
      result: omitted === undefined ? result : undefined,
      compensate,
      options,
    });
    if (omitted !== undefined) {
      // A later run would get undefined where this one has a value: the body must not see either.
      throw new InvalidRequestError(name, `its result cannot be kept (${omitted}): return what a record can hold`);
    }
    return result;
  }

  /** What is wrong here is wrong in every run, but a saga is not undone for a mistake in its program: it stands still. */
  #judge(
    name: unknown,
    { act, compensate, options }: { act: unknown; compensate: unknown; options: StepOptions },
  ): void {
    try {
      if (typeof name !== "string") throw new InvalidRequestError("name", `must be a string, not ${kindOf(name)}`);
      if (this.#names.has(name)) throw new InvalidRequestError("name", `"${name}" is the name of an earlier step`);
      if (typeof act !== "function") throw new InvalidRequestError("act", `must be a function, not ${kindOf(act)}`);
      if (compensate !== undefined && typeof compensate !== "function") {
        throw new InvalidRequestError("compensate", `must be a function, not ${kindOf(compensate)}`);
      }
      checkStepOptions(options);
    } catch (error) {
      this.#halt(error);
    }
  }

  /** What the body is told; whatever is not a definite failure of the step stops the run. */
  async #failure(name: string, request: ToolCallRequest, error: unknown): Promise<SagaStepFailedError> {
    const { calls, call } = this.#run;
    let document: ToolCallDocument | undefined;
    try {
      document = await calls.get(nameOf(request));
    } catch {
      // Nobody knows how the step stands. What came first says more than that the store is gone.
      return this.#halt(error);
    }
    const key = document?.id;
    if (document === undefined || key === undefined) return this.#halt(error);
    if (error instanceof IdempotencyConflictError && error.key === key) {
      return this.#halt(new SagaDivergedError(call.key, `its step "${name}" has other arguments`, { cause: error }));
    }
    if (isDoubtful(document, error)) {
      const doubtful = [{ step: name, part: "step", key } as const];
      return this.#halt(new SagaNeedsReviewError(call.key, document, { doubtful, waiting: [] }));
    }
    const { status, error: stored } = document.fields;
    if (status !== "failed" || stored === undefined) return this.#halt(error);
    return new SagaStepFailedError(name, key, reviveError(stored));
  }

  #halt(error: unknown): never {
    this.#stop ??= { error };
    throw this.#stop.error;
  }
}

/** The call of one part of a saga. */
export function partRequest(
  { call }: SagaRun,
  told: {
    readonly tool: string;
    readonly position: number;
    readonly args: unknown;
    readonly part: PartMark["saga_part"];
    readonly options: Omit<ToolCallRequest, "tool" | "args">;
  },
): ToolCallRequest {
  const { tool, position, args, part, options } = told;
  const extra: PartMark = { saga_part: part, position };
  return { ...options, tool, scope: call.key, key: part, args, extra, signal: call.signal };
}

/** Fires one part, while the claims of both the saga and the part surely hold. @throws as `run` */
export async function runPart(
  { calls, call }: SagaRun,
  request: ToolCallRequest,
  act: Tool<unknown>,
): Promise<ToolCallOutcome<unknown>> {
  await call.fired();
  return calls.run<unknown>(request, (part) => {
    // Waiting for the part's own claim may have outlasted the saga's.
    if (!call.isValid()) throw new OvertakenError(call.key);
    return act(part);
  });
}

/** Whether somebody must find out what became of a part, given what its run threw. */
export function isDoubtful(document: ToolCallDocument, error: unknown): boolean {
  return document.fields.status === "unknown" || (error instanceof NeedsReviewError && error.key === document.id);
}

/** The part has had its effect, but whether the store knows is not known: going on could lead past a step that is lost. */
export function notStored(name: string, part: PartMark["saga_part"]): OnceKvError {
  return new OnceKvError("unavailable", `the ${part} ${JSON.stringify(name)} is done but not known to be stored`);
}

/** The step is done, and with another result the body may go another way than it did. */
function resultGone(name: string, key: string): OnceKvError {
  return new OnceKvError(
    "needs_review",
    `the step ${JSON.stringify(name)} is done, but the result of ${JSON.stringify(key)} is gone`,
  );
}

export function nameOf({
  tool,
  scope,
  key,
  args,
}: ToolCallRequest): Pick<ToolCallRequest, "tool" | "scope" | "key" | "args"> {
  return { tool, scope, key, args };
}

/** The saga's own claim ran out before a part of it was fired. */
class OvertakenError extends Error {
  /** For the classifier: the part was not entered. */
  readonly outcome = "retryable";

  constructor(key: string) {
    super(`the claim on the saga ${JSON.stringify(key)} is not surely held any more`);
    this.name = "OvertakenError";
  }
}
