import { InvalidRequestError } from "../base/errors.js";
import { checkFunction, readMembers, shown } from "../documents/request-members.js";
import type { CallOptions, ToolCallRequest } from "../tool-calls/index.js";

/** What makes a saga this saga, and its times. All times are in seconds, fractions allowed. */
export interface SagaOptions<A = unknown> {
  /** The caller's own key within name and scope, kept where its progress is kept: who calls again with it goes on. */
  readonly key: string;
  /** What kind of saga it is, "saga" when absent. */
  readonly name?: string | undefined;
  /** What the body works on: JSON, null when absent. The key is bound to it. */
  readonly args?: A | undefined;
  /** In which the key means this saga: a tenant, say. Absent: everywhere. */
  readonly scope?: string | undefined;
  /**
   * How long after its beginning a saga may be begun anew after a crash, and how long one such run may take, 86,400 when
   * absent. Its records are kept for twice as long, and then everything about it is forgotten.
   */
  readonly window?: number | undefined;
  /** The lease of the saga's own claim, that of the tool calls when absent. */
  readonly pendingTtl?: number | undefined;
  /** How long to wait for somebody else who runs this saga, that of the tool calls when absent. */
  readonly waitTimeout?: number | undefined;
  /** Stops the saga between its steps, and is forwarded to them. It is not compensated for that: the next call goes on. */
  readonly signal?: AbortSignal | undefined;
}

/** What may be set for one step; as for any tool call. */
export type StepOptions = Pick<
  CallOptions,
  "pendingTtl" | "waitTimeout" | "maxRunTime" | "classify" | "policy" | "marks" | "reconcile"
>;

/** Times that all calls of a saga share: its parts must not be forgotten while the saga may still be begun anew. */
export interface SagaTimes {
  readonly completedTtl: number;
  readonly failedTtl: number;
}

/** The options, judged. */
export interface SagaSettings {
  readonly request: ToolCallRequest;
  readonly times: SagaTimes;
  readonly windowMs: number;
}

const optionMembers: ReadonlySet<string> = new Set([
  "key",
  "name",
  "args",
  "scope",
  "window",
  "pendingTtl",
  "waitTimeout",
  "signal",
]);

const stepMembers: ReadonlySet<string> = new Set([
  "pendingTtl",
  "waitTimeout",
  "maxRunTime",
  "classify",
  "policy",
  "marks",
  "reconcile",
]);

/** The longest window: beyond it the records could not be kept for as long as they must. */
const windowMax = 100_000_000;

/** @throws InvalidRequestError; the members that a tool call has, too, are judged with it */
export function resolveSagaOptions(options: SagaOptions): SagaSettings {
  readMembers(options, "", "the options", optionMembers);
  const { key, name = "saga", args = null, scope, window = 86_400, pendingTtl, waitTimeout, signal } = options;
  if (key === undefined) throw new InvalidRequestError("key", "is needed: it says which saga to go on with");
  if (typeof window !== "number" || !(window > 0 && window <= windowMax)) {
    throw new InvalidRequestError("window", `must be a number of seconds up to ${windowMax}, not ${shown(window)}`);
  }
  const times: SagaTimes = { completedTtl: 2 * window, failedTtl: 2 * window };
  const request: ToolCallRequest = {
    tool: name,
    key,
    args,
    scope,
    pendingTtl,
    waitTimeout,
    signal,
    ...times,
    maxRunTime: window,
    // Running the body once more is always safe: what has an effect are its steps, and each has a record of its own.
    policy: "refire",
    marks: false,
  };
  return { request, times, windowMs: window * 1000 };
}

/** @throws InvalidRequestError; the values are judged with the step's call */
export function checkStepOptions(options: StepOptions): StepOptions {
  readMembers(options, "", "the options of a step", stepMembers);
  checkFunction(options.classify, "classify");
  return options;
}
