import { InvalidRequestError } from "../../../src/base/errors.js";
import { kindOf } from "../../../src/documents/value-kind.js";
import type { ToolCalls } from "../../../src/tool-calls/index.js";
import { definitionOf } from "../../../src/tools/define-tool.js";
import { isGuarded, noteGuard } from "../../../src/tools/guard.js";
import {
  explainTools,
  guardTool as guardOfAnyMake,
  type GuardOptions as ToolGuardOptions,
  type ToolLike,
} from "../../../src/tools/index.js";
import { checkIntentSource } from "../../../src/tools/intent.js";
import { enterable, guardedExecute, optionsOf } from "./guarded-execute.js";
import type { GuardedTool, GuardedTools, ToolSetLike } from "./guarded-types.js";
import { guardedModelOutput, type ModelOutputQuestion } from "./model-output.js";
import {
  type GuardToolOptions,
  type GuardToolsOptions,
  readOptions,
  type Settings,
  type ToolCallOptions,
} from "./options.js";
import { guardedOutputSchema } from "./output-schema.js";

/**
 * Puts the calls of a set of tools under a guard, so that each intent fires once: `tools: guardTools(tools, calls, options)`.
 * Only tools with side effects are wrapped; the others, and those that are not executed here, are the same objects.
 *
 * @throws InvalidRequestError when an option is wrong, two tools share a name, or nothing says in which scope or by which key
 * the calls of one are known
 */
export function guardTools<const T extends ToolSetLike, O extends GuardToolsOptions = GuardToolsOptions>(
  tools: T,
  calls: ToolCalls,
  options?: O,
): GuardedTools<T, O> {
  const settings = readOptions(options ?? {});
  if (Array.isArray(tools)) throw new InvalidRequestError("tools", "must be an object with tools by their names");
  const judged = explainTools(tools, forGuard(settings));
  const guarded = Object.entries(tools).map(([place, tool]): [string, ToolLike] => {
    const name = nameOf(tool) ?? place;
    if (judged[name]?.sideEffect !== true) return [place, tool];
    const rule = settings.rules?.[name];
    if (tool.execute !== undefined && !isGuarded(tool)) {
      checkIntentSource(name, { ...definitionOf(tool), ...rule }, options ?? {});
    }
    const own = { ...settings, rules: rule === undefined ? {} : { [name]: rule }, leave: [] };
    return [place, wrap(name, tool, calls, own)];
  });
  const result: unknown = Object.fromEntries(guarded);
  return result as GuardedTools<T, O>;
}

/** Puts the calls of one tool under a guard, whatever it looks like. @throws as `guardTools` */
export function guardTool<const T extends ToolLike, O extends GuardToolOptions = GuardToolOptions>(
  tool: T,
  calls: ToolCalls,
  options: O,
): GuardedTool<T, O> {
  const { name, ...others } = options;
  if (typeof name !== "string" || name === "") {
    throw new InvalidRequestError("name", `must be the tool's name, not ${name === "" ? "empty" : kindOf(name)}`);
  }
  if ("leave" in others) throw new InvalidRequestError("leave", "is not for a single tool");
  const settings = readOptions(others);
  if (!isGuarded(tool)) checkIntentSource(name, { ...definitionOf(tool), ...settings.rules?.[name] }, others);
  const guarded: unknown = isGuarded(tool) ? tool : wrap(nameOf(tool) ?? name, tool, calls, settings);
  return guarded as GuardedTool<T, O>;
}

/** Tools of `defineTool` have a name of their own; those of the SDK go by their place in the set. */
function nameOf({ name }: ToolLike): string | undefined {
  return typeof name === "string" && name !== "" ? name : undefined;
}

/** The options for the guard, which knows nothing of the SDK. */
function forGuard(settings: Settings): ToolGuardOptions {
  return { ...settings, scopeOf: (passed, call) => settings.scopeOf(optionsOf(passed) as ToolCallOptions, call) };
}

/** @param settings with rules for this tool alone */
function wrap(name: string, tool: ToolLike, calls: ToolCalls, settings: Settings): ToolLike {
  const execute = guardedBy(name, tool, calls, forGuard(settings));
  noteGuard(execute);
  const enveloped = settings.envelope === true;
  const members: { [member: string]: unknown } = { execute };
  const toModelOutput: unknown = Reflect.get(tool, "toModelOutput");
  if (typeof toModelOutput === "function") {
    const own = toModelOutput as (question: ModelOutputQuestion) => unknown;
    members["toModelOutput"] = guardedModelOutput(own, tool, enveloped);
  }
  const outputSchema: unknown = Reflect.get(tool, "outputSchema");
  if (outputSchema !== undefined) members["outputSchema"] = guardedOutputSchema(outputSchema, enveloped);
  // What the SDK finds on the tool besides, it finds on the guarded one.
  return Object.create(Object.getPrototypeOf(tool), {
    ...Object.getOwnPropertyDescriptors(tool),
    ...Object.getOwnPropertyDescriptors(members),
  });
}

function guardedBy(
  name: string,
  tool: ToolLike,
  calls: ToolCalls,
  options: ToolGuardOptions,
): (...args: unknown[]) => unknown {
  // A defined tool is entered by its definition, with the call, and checks its arguments itself.
  if (definitionOf(tool) !== undefined) return guardOfAnyMake(tool, calls, options).execute as never;
  const inner = guardOfAnyMake(tool.execute === undefined ? tool : enterable(name, tool), calls, options);
  return guardedExecute(tool.execute, inner.execute as never, options.envelope === false);
}
