import { type Clock, systemClock } from "../base/clock.js";
import { InvalidRequestError } from "../base/errors.js";
import type { JsonValue } from "../documents/contract.js";
import { memberPath } from "../documents/member-path.js";
import { checkFunction, readMembers, shown } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";
import type { EnvelopeOption } from "./envelope.js";
import { isFrameworkInterrupt } from "./interrupts.js";
import { SimilarCalls } from "./similar-calls.js";
import { checkRule, ruleMembers, type ToolRule } from "./tool-rule.js";

/** Options of `guardTools`. */
export interface GuardOptions {
  /** In which equal arguments mean the same intent, for tools without a scope of their own; null: everywhere. */
  readonly scope?: string | null | undefined;
  /** The same, made of what the framework gives with each call; undefined: `scope` counts. */
  readonly scopeOf?:
    | ((options: unknown, call: { readonly tool: string; readonly args: JsonValue }) => string | undefined)
    | undefined;
  /** More about tools by their names, above what they say themselves. */
  readonly rules?: { readonly [tool: string]: ToolRule } | undefined;
  /** Names of tools to leave alone, whatever they look like. */
  readonly leave?: readonly string[] | undefined;
  /** True when absent. Tools that say what form their results have (`outputSchema`, `toModelOutput`) need it said. */
  readonly envelope?: EnvelopeOption | undefined;
  /**
   * What becomes of a call that is not made (a conflict, one in flight, in doubt, parked or failed before): `"throw"`, the
   * default, or `"return"` a `ToolRefusal`, for frameworks that hide errors from the model or tell it to try again.
   */
  readonly refusals?: "throw" | "return" | undefined;
  /**
   * What becomes of what the tool itself throws, when the call is recorded as failed, as to be tried again, or as in doubt:
   * `"throw"`, the default, or `"return"` a `ToolRefusal` that tells the model which of them it is.
   */
  readonly failures?: "throw" | "return" | undefined;
  /** Asks before a call that resembles one of a moment ago. */
  readonly similar?: SimilarCalls | undefined;
  /** Whether a throw is the interrupt of a framework, which parks the call; LangGraph's are known when absent. */
  readonly isInterrupt?: ((error: unknown) => boolean) | undefined;
  readonly clock?: Clock | undefined;
}

/** The same, judged. */
export interface GuardSettings {
  readonly scope: string | null | undefined;
  readonly scopeOf: NonNullable<GuardOptions["scopeOf"]>;
  readonly rules: { readonly [tool: string]: ToolRule };
  readonly leave: ReadonlySet<string>;
  /** undefined: nobody has said. */
  readonly envelope: EnvelopeOption | undefined;
  readonly refusals: "throw" | "return";
  readonly failures: "throw" | "return";
  readonly similar: SimilarCalls | undefined;
  readonly isInterrupt: (error: unknown) => boolean;
  readonly clock: Clock;
}

const optionMembers: ReadonlySet<string> = new Set([
  "scope",
  "scopeOf",
  "rules",
  "leave",
  "envelope",
  "refusals",
  "failures",
  "similar",
  "isInterrupt",
  "clock",
]);

const knownRuleMembers: ReadonlySet<string> = new Set(ruleMembers);

/** @throws InvalidRequestError */
export function resolveGuardOptions(options: GuardOptions): GuardSettings {
  readMembers(options, "", "the options", optionMembers);
  const { scope, scopeOf, rules = {}, leave = [], envelope, similar } = options;
  const { refusals = "throw", failures = "throw" } = options;
  const { isInterrupt = isFrameworkInterrupt, clock = systemClock } = options;
  if (scope !== undefined && scope !== null && typeof scope !== "string") {
    throw new InvalidRequestError("scope", `must be a string or null, not ${kindOf(scope)}`);
  }
  checkFunction(scopeOf, "scopeOf");
  checkFunction(isInterrupt, "isInterrupt");
  if (envelope !== true && envelope !== false) checkFunction(envelope, "envelope");
  for (const [name, value] of Object.entries({ refusals, failures })) {
    if (value === "throw" || value === "return") continue;
    throw new InvalidRequestError(name, `must be "throw" or "return", not ${shown(value)}`);
  }
  if (similar !== undefined && !(similar instanceof SimilarCalls)) {
    throw new InvalidRequestError("similar", "must be made by similarCalls");
  }
  if (!Array.isArray(leave)) throw new InvalidRequestError("leave", `must be a list of names, not ${kindOf(leave)}`);
  for (const [name, rule] of Object.entries(rules)) {
    const path = memberPath("rules", name);
    readMembers(rule, path, "the rule", knownRuleMembers);
    checkRule(rule, path);
  }
  return {
    scope,
    scopeOf: scopeOf ?? (() => undefined),
    rules,
    leave: new Set(leave),
    envelope,
    refusals,
    failures,
    similar,
    isInterrupt,
    clock,
  };
}

/** A name that no tool has is a mistake that would leave a tool without its rule. @throws InvalidRequestError */
export function checkNames({ rules, leave }: GuardSettings, names: ReadonlySet<string>): void {
  for (const name of Object.keys(rules)) {
    if (!names.has(name)) throw new InvalidRequestError(memberPath("rules", name), "is no tool here");
  }
  for (const name of leave) {
    if (!names.has(name))
      throw new InvalidRequestError("leave", `names ${JSON.stringify(name)}, which is no tool here`);
  }
}
