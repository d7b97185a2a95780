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

/**
 * @param policies each as `<tool>=<policy>`
 * @throws InvalidRequestError for a policy that is none, and for a tool of which two things are said
 */
export function readRules(leave: readonly string[], guard: readonly string[], policies: readonly string[]): ToolRules {
  const rules = { leave: new Set(leave), guard: new Set(guard), policies: new Map<string, ToolCallPolicy>() };
  for (const text of policies) {
    const { tool, policy } = readPolicy(text);
    const before = rules.policies.get(tool);
    if (before !== undefined && before !== policy) {
      throw new InvalidRequestError("", `--policy says both ${before} and ${policy} of ${tool}`);
    }
    rules.policies.set(tool, policy);
  }
  for (const tool of rules.leave) {
    const other = rules.guard.has(tool) ? "--guard" : rules.policies.has(tool) ? "--policy" : undefined;
    if (other !== undefined) throw new InvalidRequestError("", `--leave and ${other} both name ${tool}`);
  }
  return rules;
}

function readPolicy(text: string): { readonly tool: string; readonly policy: ToolCallPolicy } {
  // The last sign of equality: a tool's name may hold one, a policy does not.
  const at = text.lastIndexOf("=");
  const policy = policyNames.find((name) => name === text.slice(at + 1));
  if (at < 1 || policy === undefined) {
    throw new InvalidRequestError("", `--policy must be <tool>=${policyNames.join("|")}, not ${JSON.stringify(text)}`);
  }
  return { tool: text.slice(0, at), policy };
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
  const named = new Set([...rules.leave, ...rules.guard, ...rules.policies.keys()]);
  return [...named].filter((name) => !names.has(name));
}

function reasonFor(policy: ToolCallPolicy, chosen: boolean): string {
  const source = chosen ? "as --policy says" : "since nothing makes a second fire harmless";
  return policy === "refire"
    ? `a call in doubt is made again, ${source}`
    : `a call in doubt is closed until somebody resolves it, ${source}`;
}
