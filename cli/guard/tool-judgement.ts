import { type ErrorResultMeaning, meaningOfErrorResult } from "../../client/adapters/mcp/error-result.js";
import { InvalidRequestError } from "../../src/base/errors.js";
import type { ToolCallPolicy } from "../../src/tool-calls/index.js";
import { classify, type ToolAnnotations } from "../../src/tools/index.js";
import type { ToolKnowledge } from "./tool-list.js";

/*
 * What is done with a tool: guarded, or left alone. The command line has the last word, then comes the classification that all
 * guards of this package share. The hint `idempotentHint` does not change the policy: the author of the server wrote it, for
 * all arguments and all versions, and a wrong one would double an effect. Who knows better says so with `--policy`.
 */

/** What the command line says about tools. */
export interface ToolRules {
  /** Passed through, whatever they look like. */
  readonly leave: ReadonlySet<string>;
  /** Guarded, whatever they look like. */
  readonly guard: ReadonlySet<string>;
  readonly policies: ReadonlyMap<string, ToolCallPolicy>;
  /** What a result with `isError` means. */
  readonly errors: ReadonlyMap<string, ErrorResultMeaning>;
}

/** What is done with a tool, and why. */
export interface ToolJudgement {
  readonly guarded: boolean;
  /** What happens to a call in doubt; null: it is not guarded. */
  readonly policy: ToolCallPolicy | null;
  /** In sentences for people. */
  readonly reasons: readonly string[];
}

/** Policies that the command line may name. `reconcile` needs a function, which no command line has. */
const policyNames = ["refire", "review"] as const;

const errorMeanings = ["completed", "failed", "retryable", "unknown"] as const;

/** What the command line gives for each of its options about tools. */
export interface GivenRules {
  readonly leave?: readonly string[];
  readonly guard?: readonly string[];
  /** Each as `<tool>=<policy>`. */
  readonly policy?: readonly string[];
  /** Each as `<tool>=<meaning>`. */
  readonly errors?: readonly string[];
}

/** @throws InvalidRequestError for a policy or a meaning that is none, and for a tool of which two things are said */
export function readRules({ leave = [], guard = [], policy = [], errors = [] }: GivenRules): ToolRules {
  const rules = {
    leave: new Set(leave),
    guard: new Set(guard),
    policies: readChoices(policy, "--policy", policyNames),
    errors: readChoices(errors, "--errors", errorMeanings),
  };
  for (const tool of rules.leave) {
    const others = { "--guard": rules.guard, "--policy": rules.policies, "--errors": rules.errors };
    for (const [option, names] of Object.entries(others)) {
      if (names.has(tool)) throw new InvalidRequestError("", `--leave and ${option} both name ${tool}`);
    }
  }
  return rules;
}

function readChoices<Choice extends string>(
  texts: readonly string[],
  option: string,
  choices: readonly Choice[],
): ReadonlyMap<string, Choice> {
  const chosen = new Map<string, Choice>();
  for (const text of texts) {
    // The last sign of equality: a tool's name may hold one, a choice does not.
    const at = text.lastIndexOf("=");
    const choice = choices.find((name) => name === text.slice(at + 1));
    if (at < 1 || choice === undefined) {
      throw new InvalidRequestError("", `${option} must be <tool>=${choices.join("|")}, not ${JSON.stringify(text)}`);
    }
    const tool = text.slice(0, at);
    const before = chosen.get(tool);
    if (before !== undefined && before !== choice) {
      throw new InvalidRequestError("", `${option} says both ${before} and ${choice} of ${tool}`);
    }
    chosen.set(tool, choice);
  }
  return chosen;
}

/** What a result with `isError` of a tool means. */
export function errorMeaningOf(
  name: string,
  annotations: ToolAnnotations | undefined,
  rules: ToolRules,
): ErrorResultMeaning {
  return rules.errors.get(name) ?? meaningOfErrorResult(annotations?.idempotentHint);
}

/** @param annotations undefined: the server says nothing of the tool, and its name alone counts */
export function judgeTool(name: string, annotations: ToolAnnotations | undefined, rules: ToolRules): ToolJudgement {
  if (rules.leave.has(name)) return { guarded: false, policy: null, reasons: ["--leave names it"] };
  const forced = rules.guard.has(name) || rules.policies.has(name);
  const { sideEffect, policy: usual, reasons } = classify({ name, annotations });
  if (!sideEffect && !forced) return { guarded: false, policy: null, reasons };
  // The last reason of a guarded tool is the one for its policy.
  const found = sideEffect ? reasons.slice(0, -1) : [`${rules.guard.has(name) ? "--guard" : "--policy"} names it`];
  const chosen = rules.policies.get(name);
  const policy = chosen ?? usual ?? "review";
  return { guarded: true, policy, reasons: [...found, reasonFor(policy, chosen !== undefined)] };
}

/**
 * The same by what is known of the tools; undefined: the server should be asked for them first.
 *
 * Of a tool that is not in the list the last one counts in which it was, and else its name. Where there is no list, a name
 * that reads is no proof: such a tool is guarded.
 */
export function judgeKnown(name: string, knowledge: ToolKnowledge, rules: ToolRules): ToolJudgement | undefined {
  const listed = knowledge.find(name);
  if (listed !== undefined || rules.leave.has(name)) return judgeTool(name, listed?.annotations, rules);
  if (knowledge.asked === "not yet") return undefined;
  const last = knowledge.findLast(name);
  if (last !== undefined || knowledge.asked === "answered") return judgeTool(name, last?.annotations, rules);
  return judgeUnlisted(name, rules);
}

/** What is done with a tool of which nothing can be learned. */
export function judgeUnlisted(name: string, rules: ToolRules): ToolJudgement {
  const judged = judgeTool(name, undefined, rules);
  if (judged.guarded || rules.leave.has(name)) return judged;
  const policy = "review";
  return { guarded: true, policy, reasons: ["the server does not list its tools", reasonFor(policy, false)] };
}

/** The tools that the command line names and a whole list does not: misspelt ones, most likely. */
export function misnamed(rules: ToolRules, tools: readonly { readonly name: string }[]): readonly string[] {
  const names = new Set(tools.map(({ name }) => name));
  const named = new Set([...rules.leave, ...rules.guard, ...rules.policies.keys(), ...rules.errors.keys()]);
  return [...named].filter((name) => !names.has(name));
}

function reasonFor(policy: ToolCallPolicy, chosen: boolean): string {
  const source = chosen ? "as --policy says" : "since nothing makes a second fire harmless";
  return policy === "refire"
    ? `a call in doubt is made again, ${source}`
    : `a call in doubt is closed until somebody resolves it, ${source}`;
}
