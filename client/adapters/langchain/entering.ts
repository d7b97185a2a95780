import type { ToolCall } from "../../../src/tool-calls/index.js";
import { type Live, ThrownCommand } from "./answer.js";
import { type CommandClass, isParentCommand, NotKeepable } from "./command.js";
import { keptOf, keptOfCommand, type ResultForm, withPassed } from "./kept-result.js";
import { memberOf } from "./runtime.js";
import type { Passed } from "./task.js";

/** The member of the config under which a guarded tool finds its call. */
const callMember = "oncekvCall";

/** What a guarded tool is entered with, beside its arguments: the guard reads the first three. */
export interface Entering {
  readonly tool_call_id: string | undefined;
  readonly thread_id: string | undefined;
  /** Aborts while the call waits to be entered, and not any more afterwards. */
  readonly signal: AbortSignal;
  readonly input: unknown;
  readonly manager: unknown;
  readonly config: unknown;
  readonly inPairs: boolean;
  readonly commandClass: CommandClass | undefined;
  /** Told that the tool is entered. Tells how far the tool has taken its task when it is asked. */
  readonly onEnter: () => () => Passed | undefined;
  /** Told what the tool came to. */
  readonly onResult: (live: Live) => void;
}

/**
 * The members `configurable` of the configs that tools were entered with. tool() hands a copy of its config to its function,
 * with this very object. What the function invokes with that config gets another one, and what it invokes without has no
 * call in its config.
 */
const entered = new WeakMap<object, ToolCall>();

/**
 * The call under which a guarded tool runs, from the config that it is given: its `key` and `headers` for the service behind
 * it, `fired()` for a tool that marks its effect. undefined: nobody guards it, whatever tool has called it.
 */
export function callOf(config: unknown): ToolCall | undefined {
  const configurable = memberOf(config, "configurable");
  const call = typeof configurable === "object" && configurable !== null ? entered.get(configurable) : undefined;
  return call !== undefined && memberOf(config, callMember) === call ? call : undefined;
}

/** Runs the tool under its claim and returns what is kept of its result. */
export async function enterTool(tool: object, entering: Entering, call: ToolCall): Promise<unknown> {
  const { input, manager, config, inPairs, tool_call_id: toolCallId, commandClass } = entering;
  const passed = entering.onEnter();
  const form: ResultForm = { inPairs, toolCallId, commandClass };
  // The caller's own signal stays outside: a tool() that is aborted rejects at once while its function goes on, and nobody
  // would hear any more whether there was an effect.
  const configurable: object = { ...Object(memberOf(config, "configurable")) };
  entered.set(configurable, call);
  const ownConfig = { ...Object(config), configurable, signal: call.signal, [callMember]: call };
  let result: unknown;
  try {
    const run: unknown = Reflect.get(tool, "_call");
    const raw: unknown = await Reflect.apply(run as () => unknown, tool, [input, manager, ownConfig]);
    result = isGenerator(raw) ? await consumed(raw, manager) : raw;
  } catch (error) {
    if (!isParentCommand(error)) throw error;
    result = new ThrownCommand(error);
    return keep(() => withPassed(keptOfCommand(error.command, form, true), passed()), result, entering);
  }
  return keep(() => withPassed(keptOf(result, form), passed()), result, entering);
}

function keep(make: () => unknown, result: unknown, { onResult }: Entering): unknown {
  try {
    const kept = make();
    onResult({ result, kept });
    return kept;
  } catch (error) {
    if (!(error instanceof NotKeepable)) throw error;
    return result;
  }
}

/** What the framework takes for a generator. Its result is what it returns; what it yields are events for whoever watches. */
function isGenerator(value: unknown): value is Iterator<unknown> | AsyncIterator<unknown> {
  return typeof memberOf(value, "next") === "function";
}

async function consumed(generator: Iterator<unknown> | AsyncIterator<unknown>, manager: unknown): Promise<unknown> {
  try {
    let step = await generator.next();
    while (step.done !== true) {
      await tell(manager, "handleToolEvent", step.value);
      step = await generator.next();
    }
    return step.value;
  } finally {
    await generator.return?.(undefined);
  }
}

/** A watcher that throws ends no tool, as it is without a guard. */
async function tell(manager: unknown, event: string, value: unknown): Promise<void> {
  const handle = memberOf(manager, event);
  if (typeof handle !== "function") return;
  try {
    await Reflect.apply(handle, manager, [value]);
  } catch (error) {
    await tell(manager, "handleToolError", error).catch(() => {});
  }
}
