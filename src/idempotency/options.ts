import { InvalidRequestError, OnceKvError } from "../base/errors.js";
import { checkBoolean, checkFunction, readMembers, shown } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";
import { type CallOptions, callOptionNames } from "../tool-calls/options.js";
import { ToolCalls } from "../tool-calls/tool-calls.js";
import type { AnswerClassifier } from "./answer-class.js";
import { keptHeaderNames } from "./kept-headers.js";

/**
 * Says who sends a request: a tenant, an account, never something that the sender may choose freely. Two callers may use
 * the same key and never see each other's answers. Undefined or "": nobody is known, and the request is answered with 401.
 */
export type CallerOf<R> = OfRequest<R, string | undefined | Promise<string | undefined>>;

/**
 * A function of a request, written as a method: so one that wants the framework's whole request is taken where only a part
 * of it is known.
 */
type OfRequest<R, T> = { of(request: R): T }["of"];

/** Whether a request must bring a key, may bring one, or is passed on in any case. */
export type KeyRule = "required" | "optional" | "ignored";

/**
 * Options of both receiving sides. `pendingTtl`, `completedTtl`, `maxRunTime`, `policy`, `reconcile` and so on are those of
 * the calls, for requests alone. `waitTimeout` is 0 when absent: a request that is in flight is answered with 409 at once.
 * `marks` is false when absent, whatever the calls have.
 *
 * @typeParam R the framework's request
 */
export interface IdempotencyOptions<R> extends Omit<CallOptions, "classify"> {
  /** Where the requests and their answers are remembered. */
  readonly calls: ToolCalls;
  /** Scopes the keys. `"single tenant"` says that all requests come from one caller, or may share their keys. */
  readonly callerOf: CallerOf<R> | "single tenant";
  /** Which methods are covered, POST and PATCH when absent. */
  readonly methods?: readonly string[] | undefined;
  /** What holds for the covered methods, `"required"` when absent; a function says it for each request. */
  readonly keys?: KeyRule | OfRequest<R, KeyRule> | undefined;
  /** Headers to keep and replay besides those that describe the body, `Location`, `ETag`, `Last-Modified` and `Link`. */
  readonly keptHeaders?: readonly string[] | undefined;
  /**
   * The largest body that is kept, in bytes, 262144 when absent, at most 524288: a record holds a megabyte, and text may
   * grow as JSON. Up to this an answer is held back, also a stream, until it is stored; beyond it, it is sent and not kept.
   */
  readonly answerBytesMax?: number | undefined;
  /** Says what an answer means for the next request; `classifyAnswer` when absent, or where it answers undefined. */
  readonly classify?: AnswerClassifier | undefined;
  /** Names the requests among the calls, `"http-request"` when absent. Two services that share a store need two names. */
  readonly tool?: string | undefined;
}

/** The options, judged. */
export interface IdempotencySettings<R> {
  readonly calls: ToolCalls;
  readonly callerOf: CallerOf<R> | undefined;
  readonly methods: ReadonlySet<string>;
  readonly ruleOf: (request: R) => KeyRule;
  readonly keptHeaders: ReadonlySet<string>;
  readonly answerBytesMax: number;
  readonly classify: AnswerClassifier | undefined;
  readonly tool: string;
  readonly marks: boolean;
  /** Of each call, as they were given. */
  readonly call: CallOptions;
}

const answerBytesDefault = 256 * 1024;
const answerBytesLimit = 512 * 1024;

const rules: readonly unknown[] = ["required", "optional", "ignored"] satisfies readonly KeyRule[];

const optionNames: ReadonlySet<string> = new Set([
  ...callOptionNames,
  "calls",
  "callerOf",
  "methods",
  "keys",
  "keptHeaders",
  "answerBytesMax",
  "tool",
]);

/** @throws InvalidRequestError */
export function resolveIdempotencyOptions<R>(options: IdempotencyOptions<R>): IdempotencySettings<R> {
  readMembers(options, "", "the options", optionNames);
  const {
    calls,
    callerOf,
    methods = ["POST", "PATCH"],
    keptHeaders = [],
    marks = false,
    tool = "http-request",
  } = options;
  if (!(calls instanceof ToolCalls)) throw new InvalidRequestError("calls", "must be what toolCalls() returns");
  if (typeof callerOf !== "function" && callerOf !== "single tenant") {
    throw new InvalidRequestError("callerOf", `must be a function or "single tenant", not ${kindOf(callerOf)}`);
  }
  checkFunction(options.classify, "classify");
  if (typeof tool !== "string" || tool === "") throw new InvalidRequestError("tool", "must be a name");
  const call = { waitTimeout: 0, ...callOptionsOf(options) };
  // Refused here and not by the first request.
  calls.checkOptions(call);
  return {
    calls,
    callerOf: callerOf === "single tenant" ? undefined : callerOf,
    methods: checkMethods(methods),
    ruleOf: ruleFunction(options.keys ?? "required"),
    keptHeaders: keptHeaderNames(keptHeaders, "keptHeaders"),
    answerBytesMax: checkBytes(options.answerBytesMax ?? answerBytesDefault),
    classify: options.classify,
    tool,
    marks: checkBoolean(marks, "marks"),
    call,
  };
}

/** An option that is undefined is an option that is absent. */
function callOptionsOf<R>(options: IdempotencyOptions<R>): CallOptions {
  const own = callOptionNames.filter((name) => name !== "classify" && name !== "marks");
  return Object.fromEntries(own.map((name) => [name, options[name]]).filter(([, value]) => value !== undefined));
}

function ruleFunction<R>(keys: KeyRule | OfRequest<R, KeyRule>): (request: R) => KeyRule {
  if (typeof keys !== "function") {
    const rule = checkRule(keys);
    return () => rule;
  }
  return (request) => {
    const rule = keys(request);
    // Not the fault of this request, which would be answered with 400.
    if (!rules.includes(rule)) throw new OnceKvError("internal", `the option keys has answered ${kindOf(rule)}`);
    return rule;
  };
}

function checkRule(rule: KeyRule): KeyRule {
  if (rules.includes(rule)) return rule;
  throw new InvalidRequestError("keys", `must be one of ${rules.join(", ")}, not ${kindOf(rule)}`);
}

function checkMethods(methods: readonly string[]): ReadonlySet<string> {
  if (!Array.isArray(methods)) throw new InvalidRequestError("methods", `must be an array, not ${kindOf(methods)}`);
  for (const [index, method] of methods.entries()) {
    // GET and HEAD have no effect to protect, and their bodies are not read.
    if (typeof method !== "string" || !/^[A-Z]+$/.test(method) || method === "GET" || method === "HEAD") {
      throw new InvalidRequestError(`methods[${index}]`, "must be a method in capitals, and neither GET nor HEAD");
    }
  }
  return new Set(methods);
}

function checkBytes(value: unknown): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= answerBytesLimit) return value;
  throw new InvalidRequestError("answerBytesMax", `must be an integer, 0 to ${answerBytesLimit}, not ${shown(value)}`);
}
