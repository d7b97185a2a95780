import { type Clock, systemClock } from "../../../src/base/clock.js";
import { InvalidRequestError } from "../../../src/base/errors.js";
import type { JsonValue } from "../../../src/documents/contract.js";
import { isPlainObject } from "../../../src/documents/plain-object.js";
import { checkFunction, readMembers } from "../../../src/documents/request-members.js";
import { kindOf } from "../../../src/documents/value-kind.js";
import type { ToolCall, ToolCallOutcome, ToolCalls } from "../../../src/tool-calls/index.js";
import {
  type EnvelopeOption,
  guardTools as guardAll,
  guardTool as guardOne,
  type SimilarCalls,
  type ToolLike,
  type ToolRule,
} from "../../../src/tools/index.js";
import { isFrameworkInterrupt } from "../../../src/tools/interrupts.js";
import type { CommandClass } from "./command.js";
import { type Entering, enterTool } from "./entering.js";
import { guardedTool, isGuarded, type RawAnswer, type RunGuarded } from "./guarded-tool.js";
import { memberOf, placeOf, turnScope } from "./runtime.js";

/** What a tool is called with, as far as a scope may be made of it. */
export interface ToolConfig {
  readonly configurable?: { readonly [name: string]: unknown } | undefined;
  readonly metadata?: { readonly [name: string]: unknown } | undefined;
  /** The state of the graph, where a ToolNode calls. */
  readonly state?: unknown;
  readonly context?: unknown;
}

/** Options of `guardTools`: those of `oncekv/tools`, as far as they make sense here. */
export interface LangChainGuardOptions {
  /**
   * In which equal arguments, or equal keys, mean the same intent; null: everywhere. Absent: for keys everywhere, for
   * arguments the thread and the user's newest message.
   */
  readonly scope?: string | null | undefined;
  /** The same, made of the config that the tool is called with; undefined: as if it were absent. */
  readonly scopeOf?:
    | ((config: ToolConfig, call: { readonly tool: string; readonly args: JsonValue }) => string | undefined)
    | undefined;
  readonly rules?: { readonly [tool: string]: ToolRule } | undefined;
  /** Names of tools to leave alone, whatever they look like. */
  readonly leave?: readonly string[] | undefined;
  /** True when absent: the content is `{ result, was_replay, original_called_at, note? }`. */
  readonly envelope?: EnvelopeOption | undefined;
  readonly similar?: SimilarCalls | undefined;
  /** Whether a throw is an interrupt of one's own; those of LangGraph are known. */
  readonly isInterrupt?: ((error: unknown) => boolean) | undefined;
  readonly clock?: Clock | undefined;
  /** The class of `@langchain/langgraph`: needed where a tool returns a Command with Sends, which is else not replayed. */
  readonly Command?: CommandClass | undefined;
}

/** The same tools: each of the type that it was. */
export type LangChainTools<T extends readonly object[]> = { -readonly [K in keyof T]: T[K] };

/**
 * Puts the calls of LangChain tools under a guard, so that each intent fires once, in a ToolNode, in `createAgent`, or
 * invoked by hand. Only tools with side effects are wrapped; the others, and tools that a provider runs, are the same objects.
 *
 * @throws InvalidRequestError when an option is wrong, two tools share a name, or a tool with side effects has no `_call`,
 * or an `invoke` or `call` that was replaced on the object itself
 */
export function guardTools<const T extends readonly object[]>(
  tools: T,
  calls: ToolCalls,
  options: LangChainGuardOptions = {},
): LangChainTools<T> {
  if (!Array.isArray(tools)) throw new InvalidRequestError("tools", `must be a list of tools, not ${kindOf(tools)}`);
  const { guard, settings } = readOptions(options);
  const entries = new Map(tools.flatMap((tool: object, index) => entryOf(tool, `tools[${index}]`)));
  const guarded = guardAll([...entries.values()], calls, guard);
  const wrapped = new Map<object, object>();
  for (const [index, [tool, entry]] of [...entries].entries()) {
    const execute = executeOf(guarded[index]);
    if (execute !== entry.execute) wrapped.set(tool, wrap(tool, execute, settings));
  }
  const result: unknown = tools.map((tool: object) => wrapped.get(tool) ?? tool);
  return result as LangChainTools<T>;
}

/** Puts the calls of one tool under a guard, whatever it looks like. @throws as `guardTools` */
export function guardTool<T extends object>(tool: T, calls: ToolCalls, options: LangChainGuardOptions = {}): T {
  const { guard, settings } = readOptions(options);
  const [entry] = entryOf(tool, "tool");
  if (entry === undefined) throw new InvalidRequestError("tool", "has no name");
  if (isGuarded(tool)) return tool;
  return wrap(tool, executeOf(guardOne(entry[1], calls, guard)), settings);
}

type Wrapped = ReturnType<typeof readOptions>["settings"];

function wrap<T extends object>(tool: T, execute: unknown, settings: Wrapped): T {
  const refuse = (why: string): never => {
    throw new InvalidRequestError(
      "tools",
      `has ${JSON.stringify(memberOf(tool, "name"))}, which has side effects and ${why}`,
    );
  };
  if (typeof Reflect.get(tool, "_call") !== "function") {
    refuse("no _call to guard: make it with tool(), or leave it");
  }
  // Such a function is mostly bound to the tool as it was.
  const replaced = ["invoke", "call"].find((name) => Object.hasOwn(tool, name));
  if (replaced !== undefined) {
    refuse(`${replaced} of its own, which may lead around the guard: guard it before that is replaced, or leave it`);
  }
  return guardedTool(tool, execute as RunGuarded, settings);
}

function executeOf(tool: unknown): unknown {
  return memberOf(tool, "execute");
}

const optionMembers: ReadonlySet<string> = new Set([
  "scope",
  "scopeOf",
  "rules",
  "leave",
  "envelope",
  "similar",
  "isInterrupt",
  "clock",
  "Command",
]);

function readOptions(options: LangChainGuardOptions) {
  readMembers(options, "", "the options", optionMembers);
  const { envelope = true, Command: commandClass, scopeOf, isInterrupt, ...others } = options;
  if (envelope !== true && envelope !== false) checkFunction(envelope, "envelope");
  for (const [name, value] of Object.entries({ Command: commandClass, scopeOf, isInterrupt })) {
    checkFunction(value, name);
  }
  const guard = {
    ...others,
    refusals: "return",
    failures: "return",
    envelope: (outcome: ToolCallOutcome<unknown>): RawAnswer => ({ outcome }),
    isInterrupt: (error: unknown) => isBubbleUp(error) || isInterrupt?.(error) === true,
    scopeOf: (entering: unknown, call: { readonly tool: string; readonly args: JsonValue }) => {
      const { config } = entering as Entering;
      const own = scopeOf?.(Object(config), call);
      if (own !== undefined || others.scope !== undefined) return own;
      // An order that is refunded is so in the next turn as well.
      const hasKey = others.rules?.[call.tool]?.key !== undefined;
      return hasKey ? undefined : turnScope(placeOf(config));
    },
  } as const;
  return { guard, settings: { envelope, commandClass, clock: others.clock ?? systemClock } };
}

/** What LangGraph throws to stop a graph and to go on with it later, entering its tools again. */
function isBubbleUp(error: unknown): boolean {
  return isFrameworkInterrupt(error) || memberOf(error, "is_bubble_up") === true;
}

/** A tool as the guard sees it; none for what has no name or is run by the model's provider. */
function entryOf(tool: object, path: string): readonly (readonly [object, ToolLike])[] {
  if (typeof tool !== "object" || tool === null) {
    throw new InvalidRequestError(path, `must be a tool, not ${kindOf(tool)}`);
  }
  const name = memberOf(tool, "name");
  if (typeof name !== "string" || name === "") return [];
  // Where tools come from an MCP server, what it says of them stands here.
  const annotations = memberOf(memberOf(tool, "metadata"), "annotations");
  const isRunHere = typeof memberOf(tool, "invoke") === "function" && !isGuarded(tool);
  const execute = (args: unknown, given: unknown, call: unknown): Promise<unknown> => {
    const entering = given as Entering;
    // The guard has a copy of the arguments, which nobody else changes; where there are none it has an empty object.
    const input = entering.input === undefined ? undefined : args;
    return enterTool(tool, { ...entering, input }, call as ToolCall);
  };
  const described = { name, ...(isPlainObject(annotations) ? { annotations } : {}) };
  return [[tool, isRunHere ? { ...described, execute } : described]];
}
