import type { LookUp, ToolCallPolicy } from "../tool-calls/index.js";
import { definitionOf } from "./define-tool.js";
import {
  changesTheWorld,
  firstMechanism,
  isSafeToRefire,
  policyFor,
  type ToolEffect,
  type ToolMechanism,
} from "./effect.js";
import { evidenceOf, type NameEvidence } from "./tool-name.js";

/** What a tool's description for MCP says about it. Whoever wrote the server wrote them: they are hints. */
export interface ToolAnnotations {
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
  readonly openWorldHint?: boolean | undefined;
}

/** What is looked at to judge a tool: any tool with a name will do. */
export interface ClassifiableTool {
  readonly name: string;
  readonly effect?: ToolEffect | undefined;
  readonly mechanism?: ToolMechanism | readonly ToolMechanism[] | undefined;
  readonly policy?: ToolCallPolicy | undefined;
  readonly reconcile?: LookUp | undefined;
  /** Names of the interfaces that it writes to, those of one's own house too. */
  readonly wraps?: string | readonly string[] | undefined;
  readonly annotations?: ToolAnnotations | undefined;
}

/** What a tool is taken for. */
export interface ToolClassification {
  /** Whether it must be guarded. */
  readonly sideEffect: boolean;
  /** What it declares, or what it is taken for: without a word of its own, something that cannot be undone. */
  readonly effect: ToolEffect;
  /** What makes a second fire harmless; null when there is nothing to guard. */
  readonly mechanism: ToolMechanism | null;
  /** What happens to a call in doubt; null when there is nothing to guard. */
  readonly policy: ToolCallPolicy | null;
  /** Why, in sentences for people. */
  readonly reasons: readonly string[];
  /** What would make it safer. */
  readonly advice: readonly string[];
}

/**
 * Says whether a tool must be guarded, and how.
 *
 * Anything that speaks for an effect counts: a verb in the name, the effect that it declares, the interfaces that it wraps,
 * a hint. Only a tool for which nothing of that speaks is left alone, and only if something says that it reads. A hint or a
 * declaration never outweighs what the name says: a wrong guess in that direction doubles an effect, a wrong guess in the
 * other one repeats an answer.
 */
export function classify(given: ClassifiableTool): ToolClassification {
  const definition = definitionOf(given);
  const tool: ClassifiableTool = definition === undefined ? given : { ...given, ...definition };
  const evidence = evidenceOf(tool.name);
  const against = reasonsForEffect(tool, evidence);
  const sideEffect = against.length > 0;
  if (!sideEffect) {
    const reasons = reasonsToLeave(tool, evidence);
    return { sideEffect, effect: tool.effect ?? "reads", mechanism: null, policy: null, reasons, advice: [] };
  }
  const mechanism = firstMechanism(tool.mechanism);
  return {
    sideEffect,
    effect: effectOf(tool.effect),
    mechanism,
    policy: policyFor(mechanism, tool),
    reasons: [...against, ...reasonsForPolicy(tool, mechanism)],
    advice: adviceFor(tool, evidence, mechanism),
  };
}

function reasonsForEffect(tool: ClassifiableTool, evidence: NameEvidence): readonly string[] {
  const { effect, annotations = {} } = tool;
  const wraps = listOf(tool.wraps);
  const reasons: string[] = [];
  if (evidence.writes !== undefined) {
    reasons.push(`its name says "${evidence.writes}"${outweighed(tool)}`);
  }
  if (effect !== undefined && changesTheWorld(effect)) reasons.push(`it declares the effect "${effect}"`);
  const declaredReader = effect === "none" || effect === "reads";
  if (wraps.length > 0 && !declaredReader) reasons.push(`it wraps ${wraps.join(", ")}`);
  if (evidence.service !== undefined && evidence.reads === undefined && !declaredReader) {
    reasons.push(`its name names "${evidence.service}", a service with effects`);
  }
  if (annotations.destructiveHint === true) reasons.push("it is annotated as destructive");
  if (annotations.readOnlyHint === false) reasons.push("it is annotated as not read-only");
  const isReader = declaredReader || annotations.readOnlyHint === true || evidence.reads !== undefined;
  if (reasons.length === 0 && !isReader) reasons.push("nothing says that it only reads");
  return reasons;
}

/** What spoke for leaving it alone and did not count. */
function outweighed({ effect, annotations = {} }: ClassifiableTool): string {
  if (effect === "none" || effect === "reads") return `, which outweighs the declared effect "${effect}"`;
  if (annotations.readOnlyHint === true) return ", which outweighs its read-only hint";
  if (annotations.idempotentHint === true) return ", which outweighs its idempotent hint";
  return "";
}

function reasonsToLeave({ effect, annotations = {} }: ClassifiableTool, evidence: NameEvidence): readonly string[] {
  const reasons: string[] = [];
  if (effect !== undefined) reasons.push(`it declares the effect "${effect}"`);
  if (annotations.readOnlyHint === true) reasons.push("it is annotated as read-only");
  if (evidence.reads !== undefined) reasons.push(`its name says "${evidence.reads}"`);
  return reasons;
}

function reasonsForPolicy(tool: ClassifiableTool, mechanism: ToolMechanism): readonly string[] {
  const policy = policyFor(mechanism, tool);
  if (tool.policy !== undefined) return [`it declares the policy "${policy}"`];
  if (policy === "reconcile") return ["a call in doubt is looked up by its own function"];
  if (isSafeToRefire(mechanism)) return [`after a doubt it fires again, which ${mechanism} makes harmless`];
  return ["nothing makes a second fire harmless: a call in doubt is closed until somebody resolves it"];
}

function adviceFor(tool: ClassifiableTool, evidence: NameEvidence, mechanism: ToolMechanism): readonly string[] {
  const advice: string[] = [];
  if (tool.effect === undefined) advice.push("declare its effect");
  if (isSafeToRefire(mechanism)) return advice;
  const named = [...listOf(tool.wraps), ...(evidence.service === undefined ? [] : [evidence.service])];
  const service = named.find((name) => takesKeys.has(name.toLowerCase()));
  if (service !== undefined) {
    advice.push(`${service} takes idempotency keys: pass call.headers on, and declare the mechanism "downstream_key"`);
  }
  if (tool.reconcile === undefined) advice.push("give it a reconcile function if what it did can be looked up");
  return advice;
}

/** Services that take a key of the caller's and act once on it. */
const takesKeys: ReadonlySet<string> = new Set(["adyen", "paypal", "square", "stripe"]);

function effectOf(declared: ToolEffect | undefined): ToolEffect {
  return declared !== undefined && changesTheWorld(declared) ? declared : "irreversible";
}

function listOf(value: string | readonly string[] | undefined): readonly string[] {
  return typeof value === "string" ? [value] : (value ?? []);
}
