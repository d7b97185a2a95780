import { InvalidRequestError } from "../base/errors.js";
import { memberPath } from "../documents/member-path.js";
import { checkFunction } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";
import type { ToolCalls } from "../tool-calls/index.js";
import { type ClassifiableTool, classify, type ToolClassification } from "./classify.js";
import { type Definition, definitionOf } from "./define-tool.js";
import { changesTheWorld, firstMechanism, policyFor } from "./effect.js";
import { checkNames, type GuardOptions, type GuardSettings, resolveGuardOptions } from "./guard-options.js";
import { GuardedRun } from "./guarded-run.js";
import type { GuardedTool, GuardedTools, ToolLike, ToolSet } from "./guarded-types.js";
import { checkRule, type ToolRule } from "./tool-rule.js";

/**
 * Puts the calls of a set of tools under a guard, so that each intent fires once. Only tools with side effects are wrapped;
 * the others are returned as they are, the same objects. `explainTools` says what is done with which, and why.
 *
 * A guarded tool is executed as before, with what the framework gives as its second parameter, or with a key, a scope and
 * the ids of the call. Its answer is an envelope with `was_replay`, unless `envelope` says otherwise.
 *
 * @param tools by their names or in a list: those of `defineTool`, and any objects with `execute`
 * @throws InvalidRequestError when a tool has no name or shares one, and when an option is wrong
 */
export function guardTools<const T extends ToolSet, O extends GuardOptions = GuardOptions>(
  tools: T,
  calls: ToolCalls,
  options?: O,
): GuardedTools<T, O> {
  const settings = resolveGuardOptions(options ?? {});
  const entries = entriesOf(tools);
  checkNames(settings, new Set(entries.map(({ name }) => name)));
  const guarded = entries.map((entry): [string, ToolLike] => {
    const { sideEffect } = judge(entry, settings);
    return [entry.place, sideEffect ? wrap(entry, calls, settings) : entry.tool];
  });
  const result: unknown = Array.isArray(tools) ? guarded.map(([, tool]) => tool) : Object.fromEntries(guarded);
  return result as GuardedTools<T, O>;
}

/** Puts the calls of one tool under a guard, whatever it looks like. @throws as `guardTools` */
export function guardTool<const T extends ToolLike, O extends GuardOptions = GuardOptions>(
  tool: T,
  calls: ToolCalls,
  options?: O,
): GuardedTool<T, O> {
  const settings = resolveGuardOptions(options ?? {});
  const [entry] = entriesOf([tool]);
  if (entry?.tool.execute === undefined) throw new InvalidRequestError("tool", "has nothing to execute");
  checkNames(settings, new Set([entry.name]));
  judge(entry, settings);
  const guarded: unknown = wrap(entry, calls, settings);
  return guarded as GuardedTool<T, O>;
}

/** What `guardTools` would do with each tool, by its name, and why. @throws as `guardTools` */
export function explainTools(
  tools: ToolSet,
  options: GuardOptions = {},
): { readonly [name: string]: ToolClassification } {
  const settings = resolveGuardOptions(options);
  const entries = entriesOf(tools);
  checkNames(settings, new Set(entries.map(({ name }) => name)));
  return Object.fromEntries(entries.map((entry) => [entry.name, judge(entry, settings)]));
}

/** A tool in a set. */
interface Entry {
  readonly name: string;
  /** Its name in the record, its position in the list. */
  readonly place: string;
  readonly tool: ToolLike;
  readonly definition: Definition | undefined;
}

/** Functions that guard, also on a copy of their tool: guarded twice, a call would wait for itself. */
const guards = new WeakSet<object>();

/** Remembers a function of an adapter that stands in front of a guard: it guards as well. */
export function noteGuard(execute: object): void {
  guards.add(execute);
}

/** Whether a tool is under a guard already, of this package's or an adapter's making. */
export function isGuarded({ execute }: ToolLike): boolean {
  return execute !== undefined && guards.has(execute);
}

function entriesOf(tools: ToolSet): readonly Entry[] {
  if (typeof tools !== "object" || tools === null) {
    throw new InvalidRequestError("tools", `must be tools, not ${kindOf(tools)}`);
  }
  const inList = Array.isArray(tools);
  const names = new Set<string>();
  return Object.entries(tools).map(([place, tool]: [string, ToolLike]) => {
    const path = memberPath("tools", inList ? Number(place) : place);
    if (typeof tool !== "object" || tool === null) {
      throw new InvalidRequestError(path, `must be a tool, not ${kindOf(tool)}`);
    }
    checkFunction(tool.execute, `${path}.execute`);
    const name = typeof tool.name === "string" && tool.name !== "" ? tool.name : inList ? undefined : place;
    if (name === undefined) throw new InvalidRequestError(path, "needs a name");
    // Calls of two tools with one name would be taken for each other's.
    if (names.has(name)) throw new InvalidRequestError(path, `has the name of another tool, ${JSON.stringify(name)}`);
    names.add(name);
    return { name, place, tool, definition: definitionOf(tool) };
  });
}

function judge(entry: Entry, settings: GuardSettings): ToolClassification {
  const { name, tool } = entry;
  const described = describe(entry, settings);
  const classification = classify(described);
  if (settings.leave.has(name)) {
    const { effect } = described;
    if (effect !== undefined && changesTheWorld(effect)) {
      throw new InvalidRequestError("leave", `names ${JSON.stringify(name)}, which declares the effect "${effect}"`);
    }
    return left(classification, "the options leave it alone");
  }
  if (tool.execute === undefined) return left(classification, "it is not executed here");
  if (isGuarded(tool)) return left(classification, "it is guarded already");
  return classification;
}

function left(classification: ToolClassification, reason: string): ToolClassification {
  return { ...classification, sideEffect: false, mechanism: null, policy: null, reasons: [reason], advice: [] };
}

/** The tool with what the options add to it. */
function describe(entry: Entry, settings: GuardSettings): ClassifiableTool {
  const { name, tool } = entry;
  return { ...ruleOf(entry, settings), name, annotations: tool.annotations };
}

/** What a tool says of itself, and above it what the options say. @throws InvalidRequestError when the two contradict */
function ruleOf({ name, definition }: Entry, { rules }: GuardSettings): ToolRule {
  const added = Object.entries(rules[name] ?? {}).filter(([, value]) => value !== undefined);
  const rule: ToolRule = { ...definition, ...Object.fromEntries(added) };
  checkRule(rule, memberPath("rules", name));
  return rule;
}

/** Members by which tools of other makes say what form their results have. An envelope would break them unasked. */
const resultForms = ["outputSchema", "toModelOutput"] as const;

function wrap(entry: Entry, calls: ToolCalls, settings: GuardSettings): ToolLike {
  const { name, tool, definition } = entry;
  if (isGuarded(tool)) return tool;
  const form = resultForms.find((member) => Reflect.get(tool, member) !== undefined);
  if (form !== undefined && settings.envelope === undefined) {
    throw new InvalidRequestError(
      "envelope",
      `is needed: ${JSON.stringify(name)} has ${form}, which must fit the answer`,
    );
  }
  const rule = ruleOf(entry, settings);
  const policy = policyFor(firstMechanism(rule.mechanism), rule);
  const run = new GuardedRun({ name, tool, definition, rule: { ...rule, policy }, calls, settings });
  // What the framework finds on the tool besides, it finds on the guarded one, of whatever class it is.
  const guarded: ToolLike = Object.create(Object.getPrototypeOf(tool), {
    ...Object.getOwnPropertyDescriptors(tool),
    execute: { value: run.execute, enumerable: true, configurable: true, writable: true },
  });
  guards.add(run.execute);
  return guarded;
}
