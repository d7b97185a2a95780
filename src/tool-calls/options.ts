import { hostname } from "node:os";
import { type Clock, systemClock } from "../base/clock.js";
import { InvalidRequestError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import { checkShape } from "../documents/names.js";
import { checkBoolean, checkFunction, readMembers, shown } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";
import type { FailureClassifier } from "./failure.js";
import type { LookUp } from "./looking-up.js";
import { checkHooks, type ToolCallHooks } from "./observer.js";
import { policies, type ToolCallPolicy } from "./record.js";
import { type ResultOptions, type ResultSettings, resolveResultOptions } from "./result-keeping.js";
import type { CallTiming } from "./transition-types.js";

/** What may be set for all calls and for each one. All times are in seconds, fractions allowed. */
export interface CallOptions {
  /**
   * The lease of a claim, 300 when absent: it is renewed while the tool runs, and lapses so long after the last renewal of
   * a worker that died.
   */
  readonly pendingTtl?: number | undefined;
  /** The window, 3600 when absent: how long a settled call is remembered, and replayed. At least every other time here. */
  readonly completedTtl?: number | undefined;
  /** How long a failure is answered with the same failure, 300 when absent. Then the next caller fires. */
  readonly failedTtl?: number | undefined;
  /** How long to wait for a call that somebody else is at work on, 30 when absent; 0 is not at all. */
  readonly waitTimeout?: number | undefined;
  /**
   * How long a tool may run, `completedTtl` when absent. Beyond that its signal aborts, its claim is no longer renewed and
   * may lapse: without a bound a hung tool would hold its key for ever.
   */
  readonly maxRunTime?: number | undefined;
  /** Says what a throw means; `classifyFailure` when absent, or where it answers undefined. */
  readonly classify?: FailureClassifier | undefined;
  /**
   * What happens when a claim lapses or an outcome is unknown, `"refire"` when absent, `"reconcile"` when `reconcile` is
   * given. It is kept with the record, and the record's counts.
   */
  readonly policy?: ToolCallPolicy | undefined;
  /** Whether the tool awaits `call.fired()` right before its effect. A claim that lapses before that is free under every policy. */
  readonly marks?: boolean | undefined;
  /** Finds out what an earlier run did, under the policy `"reconcile"`. */
  readonly reconcile?: LookUp | undefined;
}

/** How claims are kept. */
export interface LeaseOptions {
  /**
   * Where claims are renewed from, `"loop"` when absent: the event loop of the tools. A tool that computes for longer than
   * `pendingTtl` without a pause holds that up and loses its claim; `"worker"` renews from a thread beside it. It needs a
   * store that the thread can reach by itself: a client over HTTP, without a dispatcher and a clock of its own.
   */
  readonly renewIn?: "loop" | "worker" | undefined;
}

/** Options of `toolCalls`. */
export interface ToolCallsOptions extends CallOptions {
  /** The shape of the records, "tool-call" when absent. */
  readonly shape?: string | undefined;
  /** Names this worker in records, for people; host name and process id when absent. */
  readonly owner?: string | undefined;
  /** What is stored of the arguments, instead of all. It is for people: keys and comparisons use the arguments themselves. */
  readonly redact?: ((args: unknown, tool: string) => unknown) | undefined;
  /** How claims are kept while their tools run. */
  readonly lease?: LeaseOptions | undefined;
  /** What is kept of results, and where. */
  readonly results?: ResultOptions | undefined;
  /** What happens to calls, as it happens, for traces and metrics. */
  readonly hooks?: ToolCallHooks | undefined;
  readonly clock?: Clock | undefined;
  /** Makes a fresh id for every claim; a random UUID when absent. */
  readonly newClaimId?: (() => string) | undefined;
}

/** Options of a call, resolved and judged. */
export interface CallSettings {
  readonly timing: CallTiming;
  readonly waitTimeout: number;
  readonly maxRunTime: number;
  readonly classify: FailureClassifier | undefined;
  readonly policy: ToolCallPolicy;
  readonly marks: boolean;
  readonly lookUp: LookUp | undefined;
}

/** Options of `toolCalls`, resolved and judged. */
export interface ToolCallsSettings {
  readonly call: CallOptions;
  readonly shape: string;
  readonly owner: string;
  readonly redact: ((args: unknown, tool: string) => unknown) | undefined;
  readonly renewIn: "loop" | "worker";
  readonly results: ResultSettings;
  readonly hooks: ToolCallHooks;
  readonly clock: Clock;
  readonly newClaimId: () => string;
}

const defaults = { pendingTtl: 300, completedTtl: 3600, failedTtl: 300, waitTimeout: 30 } as const;

export const callOptionNames = [
  "pendingTtl",
  "completedTtl",
  "failedTtl",
  "waitTimeout",
  "maxRunTime",
  "classify",
  "policy",
  "marks",
  "reconcile",
] as const;

const optionNames: ReadonlySet<string> = new Set([
  ...callOptionNames,
  "shape",
  "owner",
  "redact",
  "lease",
  "results",
  "hooks",
  "clock",
  "newClaimId",
]);

/** @throws InvalidRequestError */
export function resolveOptions(options: ToolCallsOptions, limits: Limits): ToolCallsSettings {
  readMembers(options, "", "the options", optionNames);
  const call = pickCallOptions(options);
  // Refused here and not by the first call.
  resolveCallOptions(call, {}, limits);
  const { shape = "tool-call", owner = `${hostname()}:${process.pid}`, redact, clock = systemClock } = options;
  if (typeof owner !== "string") throw new InvalidRequestError("owner", `must be a string, not ${kindOf(owner)}`);
  checkFunction(redact, "redact");
  checkFunction(options.newClaimId, "newClaimId");
  const newClaimId = options.newClaimId ?? (() => crypto.randomUUID());
  const hooks = checkHooks(options.hooks);
  const results = resolveResultOptions(options.results ?? {}, checkShape(shape, "shape"));
  const renewIn = checkLease(options.lease ?? {});
  return { call, shape, owner, redact, renewIn, results, hooks, clock, newClaimId };
}

/** The options of one call: its own, else the common ones, else the defaults. @throws InvalidRequestError */
export function resolveCallOptions(common: CallOptions, own: CallOptions, limits: Limits): CallSettings {
  const given: CallOptions = { ...common, ...pickCallOptions(own) };
  const seconds = (name: keyof typeof defaults): number => given[name] ?? defaults[name];
  const timing: CallTiming = {
    pendingTtl: checkSeconds(seconds("pendingTtl"), "pendingTtl", limits),
    completedTtl: checkSeconds(seconds("completedTtl"), "completedTtl", limits),
    failedTtl: checkSeconds(seconds("failedTtl"), "failedTtl", limits),
  };
  const waitTimeout = seconds("waitTimeout");
  if (waitTimeout !== 0) checkSeconds(waitTimeout, "waitTimeout", limits);
  const maxRunTime = checkSeconds(given.maxRunTime ?? timing.completedTtl, "maxRunTime", limits);
  checkFunction(given.classify, "classify");
  checkFunction(given.reconcile, "reconcile");
  const marks = given.marks !== undefined && checkBoolean(given.marks, "marks");
  // What is remembered must outlive whoever may still ask for it, and a claim the window of the call before.
  const within = { pendingTtl: timing.pendingTtl, failedTtl: timing.failedTtl, waitTimeout };
  for (const [name, value] of Object.entries(within)) {
    if (value > timing.completedTtl) {
      throw new InvalidRequestError(
        "completedTtl",
        `is ${timing.completedTtl}, but must be at least ${name}, ${value}`,
      );
    }
  }
  if (timing.pendingTtl + timing.completedTtl > limits.ttlSecondsMax) {
    throw new InvalidRequestError("completedTtl", `and pendingTtl must not exceed ${limits.ttlSecondsMax} together`);
  }
  const { classify, reconcile: lookUp } = given;
  // A call that brings its own look-up wants it asked, whatever the policy of all calls is.
  const policy = own.policy === undefined && own.reconcile !== undefined ? "reconcile" : policyOf(given);
  return { timing, waitTimeout, maxRunTime, classify, policy, marks, lookUp };
}

function checkLease(lease: LeaseOptions): "loop" | "worker" {
  readMembers(lease, "lease", "the options", new Set(["renewIn"]));
  const { renewIn = "loop" } = lease;
  if (renewIn === "loop" || renewIn === "worker") return renewIn;
  throw new InvalidRequestError("lease.renewIn", `must be "loop" or "worker", not ${shown(renewIn)}`);
}

function policyOf({ policy, reconcile }: CallOptions): ToolCallPolicy {
  if (policy === undefined) return reconcile === undefined ? "refire" : "reconcile";
  if (!policies.includes(policy)) {
    throw new InvalidRequestError("policy", `must be one of ${policies.join(", ")}, not ${shown(policy)}`);
  }
  return policy;
}

/** Only what is given: an option that is undefined is an option that is absent. */
function pickCallOptions(options: CallOptions): CallOptions {
  return Object.fromEntries(
    callOptionNames.map((name) => [name, options[name]]).filter(([, value]) => value !== undefined),
  );
}

/** Judges a length of time that is not zero. @throws InvalidRequestError */
export function checkSeconds(value: unknown, path: string, limits: Limits): number {
  if (typeof value !== "number" || !(value >= limits.ttlSecondsMin && value <= limits.ttlSecondsMax)) {
    const bounds = `${limits.ttlSecondsMin} to ${limits.ttlSecondsMax}`;
    throw new InvalidRequestError(path, `must be a number of seconds, ${bounds}, not ${shown(value)}`);
  }
  return value;
}
