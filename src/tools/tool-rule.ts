import { InvalidRequestError } from "../base/errors.js";
import { checkBoolean, checkFunction, pathTo, readMembers, shown } from "../documents/request-members.js";
import type { CallOptions, FailureClassifier, LookUp, ToolCallPolicy } from "../tool-calls/index.js";
import { effects, firstMechanism, isSafeToRefire, mechanisms, type ToolEffect, type ToolMechanism } from "./effect.js";

/**
 * In which equal arguments mean the same intent: a fixed text, one made of the arguments, or null: everywhere, since the
 * arguments themselves name the intent.
 */
export type ScopeRule<A = never> = string | null | ((args: A) => string);

/** The times of a tool's calls, in seconds, as in the options of `toolCalls`. */
export type ToolTimes = Pick<CallOptions, "pendingTtl" | "completedTtl" | "failedTtl" | "waitTimeout" | "maxRunTime">;

/**
 * How the calls of a tool are guarded.
 *
 * @typeParam A the arguments as the tool gets them
 */
export interface ToolRule<A = never> {
  readonly effect?: ToolEffect | undefined;
  /** What makes a second fire harmless; of several the first in the order of `ToolMechanism` counts. Absent: nothing. */
  readonly mechanism?: ToolMechanism | readonly ToolMechanism[] | undefined;
  /** Names of the interfaces that it writes to, those of one's own house too. */
  readonly wraps?: string | readonly string[] | undefined;
  /**
   * The business key of the intent: `(args) => args.order`. With it, other arguments under the same key are a conflict.
   * It is made twice, and one that is not the same both times, or contains the time, is refused.
   */
  readonly key?: ((args: A) => string) | undefined;
  readonly scope?: ScopeRule<A> | undefined;
  /** Absent: `reconcile` with a function for it, `refire` if the mechanism makes that harmless, else `review`. */
  readonly policy?: ToolCallPolicy | undefined;
  /** Whether the tool awaits `call.fired()` right before its effect. */
  readonly marks?: boolean | undefined;
  /** Finds out what an earlier run did. */
  readonly reconcile?: LookUp | undefined;
  /** Says what a throw of the tool means. */
  readonly classify?: FailureClassifier | undefined;
  readonly times?: ToolTimes | undefined;
}

export const ruleMembers: readonly string[] = [
  "effect",
  "mechanism",
  "wraps",
  "key",
  "scope",
  "policy",
  "marks",
  "reconcile",
  "classify",
  "times",
];

const timeMembers: ReadonlySet<string> = new Set([
  "pendingTtl",
  "completedTtl",
  "failedTtl",
  "waitTimeout",
  "maxRunTime",
]);

const policies: readonly ToolCallPolicy[] = ["refire", "review", "reconcile"];

/**
 * Judges the members of a rule; that there are no others has been judged.
 *
 * @param path of the rule, "" when it is the whole
 * @throws InvalidRequestError
 */
export function checkRule(rule: ToolRule, path: string): void {
  const { effect, mechanism, wraps, key, scope, policy, marks, reconcile, classify, times } = rule;
  if (effect !== undefined) checkOneOf(effect, effects, pathTo(path, "effect"));
  if (mechanism !== undefined) {
    const offered: unknown = mechanism;
    if (Array.isArray(offered) && offered.length === 0) {
      throw new InvalidRequestError(pathTo(path, "mechanism"), `must name one; "none" is one, too`);
    }
    for (const each of listed(offered)) checkOneOf(each, mechanisms, pathTo(path, "mechanism"));
  }
  for (const each of listed(wraps ?? [])) {
    if (typeof each !== "string") {
      throw new InvalidRequestError(pathTo(path, "wraps"), `must be names, not ${shown(each)}`);
    }
  }
  if (policy !== undefined) checkOneOf(policy, policies, pathTo(path, "policy"));
  if (marks !== undefined) checkBoolean(marks, pathTo(path, "marks"));
  for (const [name, value] of Object.entries({ key, reconcile, classify })) checkFunction(value, pathTo(path, name));
  if (scope !== undefined && scope !== null && typeof scope !== "string") checkFunction(scope, pathTo(path, "scope"));
  if (times !== undefined) readMembers(times, pathTo(path, "times"), "the times", timeMembers);
  if (effect === "irreversible" && policy === "refire" && !isSafeToRefire(firstMechanism(mechanism))) {
    throw new InvalidRequestError(
      pathTo(path, "policy"),
      "refire would repeat what cannot be undone: it needs a mechanism that makes a second fire harmless",
    );
  }
}

function listed(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function checkOneOf(value: unknown, known: readonly string[], path: string): void {
  if (typeof value === "string" && known.includes(value)) return;
  throw new InvalidRequestError(
    path,
    `must be one of ${known.join(", ")}, not ${typeof value === "string" ? JSON.stringify(value) : shown(value)}`,
  );
}
