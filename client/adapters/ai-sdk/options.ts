import type { JsonValue } from "../../../src/documents/contract.js";
import { checkFunction, readMembers } from "../../../src/documents/request-members.js";
import type { EnvelopeOption, GuardOptions as ToolGuardOptions } from "../../../src/tools/index.js";

/** What the AI SDK gives a tool with each call, in versions 6 and 7. */
export interface ToolCallOptions {
  readonly toolCallId: string;
  /** Empty in some agents where an approved tool is run. */
  readonly messages: readonly unknown[];
  readonly abortSignal?: AbortSignal | undefined;
  /** The caller's context, in version 6. */
  readonly experimental_context?: unknown;
  /** The tool's context, in version 7. */
  readonly context?: unknown;
}

/** How a scope is found; the parameter may be annotated with what the tools' context is. */
interface ScopeSource {
  scopeOf(options: ToolCallOptions, call: { readonly tool: string; readonly args: JsonValue }): string | undefined;
}

/** Options of `guardTools`: those of `oncekv/tools` that fit the AI SDK. */
export interface GuardToolsOptions
  extends Pick<
    ToolGuardOptions,
    "scope" | "rules" | "leave" | "envelope" | "refusals" | "failures" | "similar" | "clock"
  > {
  /** The scope, made of what the SDK gives with each call: of `experimental_context` or `context`; undefined: `scope` counts. */
  readonly scopeOf?: ScopeSource["scopeOf"] | undefined;
}

/** Options of `guardTool`. */
export interface GuardToolOptions extends Omit<GuardToolsOptions, "leave"> {
  /** The name under which the tool stands in the set of tools. */
  readonly name: string;
}

/** The options as the guard has them, with what is the default here. */
export interface Settings extends Omit<ToolGuardOptions, "scopeOf" | "isInterrupt"> {
  readonly envelope: EnvelopeOption;
  readonly scopeOf: ScopeSource["scopeOf"];
}

const members: ReadonlySet<string> = new Set([
  "scope",
  "scopeOf",
  "rules",
  "leave",
  "envelope",
  "refusals",
  "failures",
  "similar",
  "clock",
]);

/** Judges which members there are; what they hold is judged by the guard. @throws InvalidRequestError */
export function readOptions(options: GuardToolsOptions): Settings {
  readMembers(options, "", "the options", members);
  checkFunction(options.scopeOf, "scopeOf");
  return {
    ...options,
    envelope: options.envelope ?? true,
    // The SDK shows an error to the model as it is, and the words of most errors invite to another try.
    refusals: options.refusals ?? "return",
    failures: options.failures ?? "return",
    scopeOf: options.scopeOf ?? (() => undefined),
  };
}
