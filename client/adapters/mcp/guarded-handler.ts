import { AsyncLocalStorage } from "node:async_hooks";
import { InvalidRequestError, OnceKvError } from "../../../src/base/errors.js";
import { canonicalJson } from "../../../src/documents/canonical-json.js";
import type { JsonValue } from "../../../src/documents/contract.js";
import { isPlainObject } from "../../../src/documents/plain-object.js";
import { kindOf } from "../../../src/documents/value-kind.js";
import type { ToolCall, ToolCallOutcome, ToolCalls } from "../../../src/tool-calls/index.js";
import { guardTool, type ToolAnnotations, type ToolRefusal, type ToolRule } from "../../../src/tools/index.js";
import { refusalOf } from "../../../src/tools/refusal.js";
import { makeStable } from "../../../src/tools/stable-key.js";
import { callIdsOf, clientSignalOf, type McpCallContext, metaOf, withSignalOf } from "./call-context.js";
import { readCallMeta } from "./call-meta.js";
import { judgeErrorResult, withJudged } from "./error-judgement.js";
import type { McpGuardSettings } from "./options.js";
import { principalOfCall, scopeOfCall } from "./principal.js";
import { asksForInput, type McpToolResult, resultOfOutcome, resultOfRefusal } from "./tool-result.js";

/** The function of a tool: `(args, extra)`, and `(extra)` for one without an input schema. */
export type McpHandler = (...received: readonly unknown[]) => unknown;

/** A tool under a guard. */
export interface GuardedHandlerOf {
  readonly name: string;
  /** The name of its server. */
  readonly server: string;
  /** The same for every function that the tool has had. */
  readonly registration: object;
  readonly handler: McpHandler;
  readonly annotations: ToolAnnotations | undefined;
  /** Asked at the end of each call. */
  readonly hasOutputSchema: () => boolean;
  readonly calls: ToolCalls;
  readonly settings: McpGuardSettings;
}

/** One request on its way through the guard. */
interface Request {
  readonly args: unknown;
  readonly context: McpCallContext;
  readonly scopeOfClient: string | undefined;
  /** Whether the tool's function takes arguments, in front of the context. */
  readonly takesArguments: boolean;
  /** The call that it was entered for; undefined: it was not. */
  entered: ToolCall | undefined;
  /** The tool's own result, where that is an error. */
  answered: McpToolResult | undefined;
}

/** What is handed through the guard, as the options of a framework. */
interface GuardedRequestOptions {
  readonly request: Request;
}

/** A tool that only asks for more, in the form in which it passes the guard: it parks the call. */
class InputAsked extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super("the tool asks for input");
    this.name = "InputAsked";
    this.result = result;
  }
}

/** The calls under which handlers run, by the context that they were given. */
const runningCalls = new WeakMap<object, ToolCall>();

/** The guarded function, of those that claim, from which a handler is run. */
const running = new AsyncLocalStorage<GuardedHandlerOf>();

/**
 * The call that a guarded tool was entered for, with its `key` and `headers` for whatever the tool calls, `fired()` and
 * `park()`; undefined in a tool that is not guarded.
 *
 * @param context the `extra` or `ctx` that the tool was given, and no copy of it
 */
export function callOf(context: object): ToolCall | undefined {
  return runningCalls.get(context);
}

/** The function that stands in the place of a tool's own. @throws InvalidRequestError when its rule is wrong */
export function guardHandler(guarded: GuardedHandlerOf): McpHandler {
  const { name, annotations, handler, calls, settings } = guarded;
  const { similar, clock } = settings;
  const rule: ToolRule = { ...settings.rules[name] };
  const tool = guardTool(
    {
      name,
      annotations,
      execute: (args: unknown, options: GuardedRequestOptions, call?: ToolCall) =>
        enter(guarded, args, options.request, call),
    },
    calls,
    {
      rules: { [name]: { ...rule, scope: undefined, classify: withJudged(rule.classify) } },
      // Never the whole of it: who calls is a part of every scope.
      scopeOf: (options, { args }) => scopeOf(guarded, rule, requestOf(options), args),
      envelope: (outcome) => ({ outcome }),
      failures: "return",
      similar,
      clock,
      isInterrupt: (error) => error instanceof InputAsked || asksForUrl(error),
    },
  );
  return async (...received) => {
    if (isWrapped(guarded)) return handler(...received);
    const request = readRequest(received);
    const waiting = new AbortController();
    const signal = clientSignalOf(request.context);
    // Once the tool is entered, only its claim may end it: what it does then is recorded, and the client's retry gets it.
    const giveUp = (): void => {
      if (request.entered === undefined) waiting.abort(signal?.reason);
    };
    if (signal?.aborted === true) giveUp();
    signal?.addEventListener("abort", giveUp);
    try {
      const { key } = readCallMeta(metaOf(request.context));
      const options = { request, key, signal: waiting.signal, ...callIdsOf(request.context) };
      return answerOf(await tool.execute(request.args, options), request, guarded);
    } catch (error) {
      return withoutResult(error, request);
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  };
}

/**
 * Whether a tool's former function is called by its new one, which was made around it: then the call is claimed already, and
 * claimed once more it would wait for itself.
 */
function isWrapped(guarded: GuardedHandlerOf): boolean {
  const around = running.getStore();
  return around !== undefined && around !== guarded && around.registration === guarded.registration;
}

/** @throws InvalidRequestError when what came is no call of the SDK's */
function readRequest(received: readonly unknown[]): Request {
  const context = received.at(-1);
  if (received.length < 1 || received.length > 2 || typeof context !== "object" || context === null) {
    throw new InvalidRequestError("", `a tool must be called with its context, not ${kindOf(context)}`);
  }
  const { scope } = readCallMeta(metaOf(context));
  return {
    args: received.length === 2 ? received[0] : {},
    context,
    scopeOfClient: scope,
    takesArguments: received.length === 2,
    entered: undefined,
    answered: undefined,
  };
}

/** Enters the tool's own function, under its claim. */
async function enter(guarded: GuardedHandlerOf, args: unknown, request: Request, call?: ToolCall): Promise<unknown> {
  if (call === undefined) throw new OnceKvError("internal", "a guarded tool was entered without a call");
  request.entered = call;
  const { name, handler, annotations, settings } = guarded;
  const context = withSignalOf(request.context, call.signal);
  runningCalls.set(context, call);
  const result = await running.run(guarded, () => (request.takesArguments ? handler(args, context) : handler(context)));
  if (asksForInput(result)) throw new InputAsked(result);
  if (!isErrorResult(result)) return result;
  const failure = judgeErrorResult(result, { tool: name, args }, annotations?.idempotentHint, settings.errorResults);
  if (failure === undefined) return result;
  request.answered = result;
  throw failure;
}

function scopeOf(guarded: GuardedHandlerOf, rule: ToolRule, request: Request, args: JsonValue): string {
  const { name, server, settings } = guarded;
  const { scope, scopeOf: ofContext, principalOf, clock } = settings;
  const principal = principalOfCall(request.context, principalOf);
  const ofServer = ofRule(rule, request, args, clock.wallNow()) ?? undefined;
  const given: unknown =
    rule.scope !== undefined ? ofServer : (ofContext(request.context, { tool: name, args }) ?? scope ?? undefined);
  if (given !== undefined && typeof given !== "string") {
    throw new InvalidRequestError("scopeOf", `must make a string or undefined, not ${kindOf(given)}`);
  }
  return scopeOfCall(scope === null ? null : server, principal, given ?? null, request.scopeOfClient);
}

function ofRule({ scope }: ToolRule, request: Request, args: JsonValue, now: number): string | null | undefined {
  if (typeof scope !== "function") return scope;
  const make = (): unknown => scope(structuredClone(request.args) as never);
  return makeStable(make, "scope", canonicalJson(args, "args"), now);
}

function answerOf(answer: unknown, request: Request, { hasOutputSchema }: GuardedHandlerOf): unknown {
  if (isRefusal(answer)) return resultOfRefusal(answer, request.entered?.key, request.answered);
  const { outcome } = answer as { readonly outcome: ToolCallOutcome<unknown> };
  const result = resultOfOutcome(outcome);
  if (!outcome.was_replay || outcome.result_omitted === undefined || !hasOutputSchema()) return result;
  // There is nothing to validate. As an error the SDK lets it pass, and the model reads the note and not a complaint.
  return { ...result, isError: true };
}

function withoutResult(error: unknown, request: Request): unknown {
  if (error instanceof InputAsked) return error.result;
  const refusal = refusalOf(error, request.entered !== undefined);
  if (refusal === undefined) throw error;
  return resultOfRefusal(refusal, keyOfError(error) ?? request.entered?.key, request.answered);
}

/** Errors of calls say which call they mean. */
function keyOfError(error: unknown): string | undefined {
  const key: unknown = error instanceof OnceKvError && "key" in error ? error.key : undefined;
  return typeof key === "string" ? key : undefined;
}

function requestOf(options: unknown): Request {
  return (options as GuardedRequestOptions).request;
}

function isRefusal(answer: unknown): answer is ToolRefusal {
  return isPlainObject(answer) && answer["refused"] === true && !("outcome" in answer);
}

function isErrorResult(result: unknown): result is McpToolResult {
  return isPlainObject(result) && result["isError"] === true;
}

/** The code of the protocol by which a tool of the first generation says that a page must be visited first. */
const urlElicitationRequired = -32042;

function asksForUrl(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === urlElicitationRequired;
}
