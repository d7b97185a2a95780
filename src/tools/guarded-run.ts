import {
  ClaimLostError,
  type ToolCall,
  type ToolCallOutcome,
  type ToolCallRequest,
  type ToolCalls,
} from "../tool-calls/index.js";
import { type CallArguments, readArguments } from "./arguments.js";
import { type CallOrigin, readCallOrigin, withSignal } from "./call-origin.js";
import { type Definition, enterDefined } from "./define-tool.js";
import { answerOf } from "./envelope.js";
import type { GuardSettings } from "./guard-options.js";
import type { ToolLike } from "./guarded-types.js";
import { intentOf } from "./intent.js";
import { InterruptWatch } from "./interrupts.js";
import type { ToolFailure } from "./model-text.js";
import { refusalOf, refusalOfFailure } from "./refusal.js";
import type { WatchedCall } from "./similar-calls.js";
import type { ToolRule } from "./tool-rule.js";

/** A tool under a guard. */
interface Guarding {
  readonly name: string;
  readonly tool: ToolLike;
  readonly definition: Definition | undefined;
  /** With the policy resolved. */
  readonly rule: ToolRule;
  readonly calls: ToolCalls;
  readonly settings: GuardSettings;
}

/** A call whose arguments and intent have been judged. */
interface Prepared {
  readonly request: ToolCallRequest;
  readonly args: CallArguments;
  readonly watched: WatchedCall;
  readonly interrupts: InterruptWatch;
}

/**
 * The way of one guarded call: judge the arguments, find the intent, ask about similar calls, run, answer. Nothing is
 * claimed and nothing fires before the first three have come out well; a replay goes the same way.
 */
export class GuardedRun {
  readonly #guarding: Guarding;
  /** What stands in the place of the tool's own `execute`. */
  readonly execute: (given: unknown, options?: unknown) => unknown;

  constructor(guarding: Guarding) {
    this.#guarding = guarding;
    const { tool, definition } = guarding;
    const streams = isAsyncGeneratorFunction(definition?.execute ?? tool.execute);
    this.execute = streams
      ? (given, options) => this.#stream(given, options)
      : (given, options) => this.#run(given, options);
  }

  async #run(given: unknown, options: unknown): Promise<unknown> {
    let prepared: Prepared | undefined;
    try {
      prepared = await this.#prepare(given, options);
      const { request, interrupts } = prepared;
      const entered = prepared;
      const outcome = await this.#guarding.calls
        .run(request, (call) => interrupts.enter(call, () => this.#enter(entered, options, call)))
        .catch((error: unknown) => Promise.reject(interrupts.thrown(error)));
      return await this.#answer(prepared, outcome);
    } catch (error) {
      return this.#withoutResult(error, prepared);
    }
  }

  /** Chunks as they come; a replay has one, the final result. The answer comes last, where it says more than the chunks. */
  async *#stream(given: unknown, options: unknown): AsyncGenerator<unknown, void> {
    let prepared: Prepared | undefined;
    try {
      prepared = await this.#prepare(given, options);
      const outcome = yield* this.#chunks(prepared, options);
      const answer = await this.#answer(prepared, outcome);
      if (this.#guarding.settings.envelope !== false) yield answer;
    } catch (error) {
      yield await this.#withoutResult(error, prepared);
    }
  }

  async *#chunks(prepared: Prepared, options: unknown): AsyncGenerator<unknown, ToolCallOutcome<unknown>> {
    const { request, interrupts } = prepared;
    try {
      return yield* this.#guarding.calls.stream<unknown>(
        request,
        (call) => interrupts.enter(call, () => this.#enter(prepared, options, call)) as Promise<AsyncIterable<unknown>>,
      );
    } catch (error) {
      throw interrupts.thrown(error);
    }
  }

  async #prepare(given: unknown, options: unknown): Promise<Prepared> {
    const { name, definition, rule, calls, settings } = this.#guarding;
    const origin = readCallOrigin(options);
    const { scope, scopeOf, similar, clock, isInterrupt } = settings;
    const args = await readArguments(definition?.args, given, clock.wallNow());
    const { identity } = args;
    const ofOptions = (): unknown => scopeOf(options, { tool: name, args: structuredClone(identity) });
    const intent = intentOf(rule, args, origin, { ofOptions, ofAll: scope }, clock.wallNow());
    const target = { tool: name, args: identity, ...intent };
    const watched: WatchedCall = {
      tool: name,
      args: identity,
      key: calls.keyOf(target),
      options,
      wasBegun: async () => {
        const record = await calls.get(target);
        return record !== undefined && record.fields.status !== "planned";
      },
    };
    await similar?.ask(watched);
    const request = { ...target, ...callOptionsOf(rule), ...partsOf(origin) };
    return { request, args, watched, interrupts: new InterruptWatch(isInterrupt) };
  }

  /** Entered in this very turn of the claim. */
  #enter({ args }: Prepared, options: unknown, call: ToolCall): unknown {
    const { tool, definition } = this.#guarding;
    if (definition !== undefined) return enterDefined(definition, args.value, { ...call, options });
    const { execute } = tool as { execute: (...args: unknown[]) => unknown };
    // A tool of another make finds its call, with the key for whatever it calls, behind its own two parameters.
    return Reflect.apply(execute, tool, [args.value, withSignal(options, call.signal), call]);
  }

  async #answer({ watched }: Prepared, outcome: ToolCallOutcome<unknown>): Promise<unknown> {
    const { similar, envelope = true } = this.#guarding.settings;
    // A store that did not answer just now would only keep the caller waiting once more.
    if (!outcome.was_replay && outcome.persisted) await similar?.note(watched, outcome.original_called_at);
    return answerOf(outcome, envelope);
  }

  /** What a call that has no result comes to: an answer in words where the options say so, else its error. */
  async #withoutResult(error: unknown, prepared: Prepared | undefined): Promise<unknown> {
    const { refusals, failures } = this.#guarding.settings;
    // A tool that was told that its claim is lost, and passes that on, has not failed.
    const lost = error instanceof ClaimLostError && error.key === prepared?.watched.key;
    if (prepared?.interrupts.isFailure(error) && !lost) {
      if (failures === "throw") throw error;
      return refusalOfFailure(await this.#failureOf(prepared), error);
    }
    const entered = prepared?.interrupts.attempt !== undefined;
    const refusal = refusals === "return" ? refusalOf(error, entered) : undefined;
    if (refusal === undefined) throw error;
    return refusal;
  }

  /** How the tool failed is what the next caller will meet in the record, if it is still about this attempt. */
  async #failureOf({ watched, interrupts }: Prepared): Promise<ToolFailure> {
    try {
      const record = await this.#guarding.calls.get(watched.key);
      if (record === undefined || record.fields.attempt !== interrupts.attempt) return "unknown";
      const { status } = record.fields;
      if (status === "failed") return "failed";
      return status === "released" ? "retryable" : "unknown";
    } catch {
      return "unknown";
    }
  }
}

function callOptionsOf({ policy, marks, reconcile, classify, times }: ToolRule): Partial<ToolCallRequest> {
  return { ...times, policy, marks, reconcile, classify };
}

function partsOf({ signal, extra }: CallOrigin): Partial<ToolCallRequest> {
  return { signal, ...(Object.keys(extra).length === 0 ? {} : { extra }) };
}

function isAsyncGeneratorFunction(value: unknown): boolean {
  return Object.prototype.toString.call(value) === "[object AsyncGeneratorFunction]";
}
