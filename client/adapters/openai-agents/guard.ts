import { systemClock } from "../../../src/base/clock.js";
import { InvalidRequestError } from "../../../src/base/errors.js";
import { kindOf } from "../../../src/documents/value-kind.js";
import type { ToolCall, ToolCalls } from "../../../src/tool-calls/index.js";
import { noteEntered } from "../../../src/tools/entered-calls.js";
import { isGuarded, noteGuard } from "../../../src/tools/guard.js";
import { guardTool as guardOfAnyMake, type ToolLike } from "../../../src/tools/index.js";
import { checkIntentSource } from "../../../src/tools/intent.js";
import { answerOf } from "./answer.js";
import { type GuardToolOptions, readOptions, type Settings } from "./options.js";
import { refuseUnstableInput } from "./stable-input.js";
import { timedOut } from "./timeout-text.js";
import type {
  AnswerOf,
  GuardedToolOptions,
  RunContextLike,
  ToolCallDetailsLike,
  ToolOptionsLike,
} from "./tool-types.js";

/*
 * The SDK asks for approvals, runs the guardrails and parses the arguments, and then executes; what `execute` throws it turns
 * into a result for the model. So the guard stands around `execute` and nothing else: what it stores is what the tool itself
 * came to, and a failure is one.
 */

/**
 * Puts the calls of a tool under a guard, whatever it looks like, so that each intent fires once:
 * `tool(guardTool({ name, description, parameters, execute }, calls, options))`.
 *
 * @param tool the options of a tool, as `tool()` of the SDK takes them
 * @throws InvalidRequestError when an option is wrong, the tool has no name, or it was made by `tool()` already, and when
 * nothing says in which scope or by which key its calls are known
 */
export function guardTool<
  const T extends object,
  const P,
  R,
  O extends GuardToolOptions = GuardToolOptions,
  C = RunContextLike,
  D = ToolCallDetailsLike,
>(
  tool: T & ToolOptionsLike<P, R, C, D>,
  calls: ToolCalls,
  options?: O,
): GuardedToolOptions<T, P, AnswerOf<T, R, O>, C, D> {
  const given = checkTool(tool);
  const settings = readOptions(options ?? {}, given.outputSchema !== undefined);
  if (!isGuarded(given)) checkIntentSource(given.name, settings.rules?.[given.name], options ?? {});
  const guarded: unknown = isGuarded(given) ? given : wrap(given, calls, settings);
  return guarded as GuardedToolOptions<T, P, AnswerOf<T, R, O>, C, D>;
}

/** The options of a tool, without the types that were its author's business. */
interface Given extends ToolLike {
  readonly execute: (...args: never[]) => unknown;
  readonly name: string;
  readonly parameters?: unknown;
  readonly outputSchema?: unknown;
  readonly timeoutMs?: unknown;
  readonly timeoutBehavior?: unknown;
  readonly timeoutErrorFunction?: unknown;
}

function checkTool(tool: object): Given {
  if (typeof tool !== "object" || tool === null) {
    throw new InvalidRequestError("tool", `must be the options of a tool, not ${kindOf(tool)}`);
  }
  if ("invoke" in tool) {
    throw new InvalidRequestError(
      "tool",
      "was made by tool() already, where what it throws has become a result. Guard its options: tool(guardTool({ ... }, calls))",
    );
  }
  const execute: unknown = Reflect.get(tool, "execute");
  if (typeof execute !== "function") throw new InvalidRequestError("tool", "has nothing to execute");
  const name: unknown = Reflect.get(tool, "name") ?? execute.name;
  if (typeof name !== "string" || name === "") throw new InvalidRequestError("tool", "needs a name");
  // The SDK, too, takes the function's name where the tool has none.
  return { ...tool, name } as Given;
}

/** Where what goes through the guard keeps what the SDK gave. */
const carried: unique symbol = Symbol("carried");

interface Passed {
  readonly tool_call_id: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly [carried]: { readonly runContext: RunContextLike; readonly details: ToolCallDetailsLike | undefined };
}

function wrap(tool: Given, calls: ToolCalls, settings: Settings): object {
  const { name } = tool;
  const inner = {
    name,
    execute: (input: unknown, passed: Passed, call: ToolCall): unknown => {
      const { runContext, details } = passed[carried];
      const own = { ...details, signal: call.signal };
      noteEntered(own, call);
      return Reflect.apply(tool.execute, tool, [input, runContext, own]);
    },
  };
  const { envelope, clock = systemClock } = settings;
  const guarded = guardOfAnyMake(inner, calls, {
    ...settings,
    envelope: envelope === true ? answerOf : envelope,
    scopeOf: (passed, call) => settings.scopeOf((passed as Passed)[carried].runContext, call),
  });
  const execute = async (
    input: unknown,
    runContext: RunContextLike,
    details?: ToolCallDetailsLike,
  ): Promise<unknown> => {
    await refuseUnstableInput(tool.parameters, details, clock.wallNow());
    const passed: Passed = {
      tool_call_id: details?.toolCall?.callId,
      signal: details?.signal,
      [carried]: { runContext, details },
    };
    return guarded.execute(input, passed);
  };
  noteGuard(execute);
  return { ...tool, execute, ...timeoutOf(tool) };
}

/** A tool that is timed out may run on, and the SDK's own words say nothing of that. */
function timeoutOf({ timeoutMs, timeoutBehavior, timeoutErrorFunction, outputSchema }: Given): object {
  const isTold = timeoutMs !== undefined && timeoutBehavior !== "raise_exception" && outputSchema === undefined;
  return isTold && timeoutErrorFunction === undefined ? { timeoutErrorFunction: timedOut } : {};
}
