import type { JsonValue } from "../../../src/documents/contract.js";
import { checkFunction, readMembers } from "../../../src/documents/request-members.js";
import type { EnvelopeOption, GuardOptions as ToolGuardOptions } from "../../../src/tools/index.js";
import type { RunContextLike } from "./tool-types.js";

/** How a scope is found; the parameter may be annotated with the SDK's `RunContext` of one's own context. */
interface ScopeSource {
  scopeOf(runContext: RunContextLike, call: { readonly tool: string; readonly args: JsonValue }): string | undefined;
}

/** Options of `guardTool`: those of `oncekv/tools` that fit the SDK. */
export interface GuardToolOptions
  extends Pick<ToolGuardOptions, "scope" | "rules" | "envelope" | "refusals" | "failures" | "similar" | "clock"> {
  /** The scope, made of the run's context; undefined: `scope` counts. */
  readonly scopeOf?: ScopeSource["scopeOf"] | undefined;
}

/** The options as the guard has them, with what is the default here. */
export interface Settings extends Omit<ToolGuardOptions, "scopeOf" | "isInterrupt" | "leave"> {
  readonly envelope: EnvelopeOption;
  readonly scopeOf: ScopeSource["scopeOf"];
}

const members: ReadonlySet<string> = new Set([
  "scope",
  "scopeOf",
  "rules",
  "envelope",
  "refusals",
  "failures",
  "similar",
  "clock",
]);

/**
 * Judges which members there are; what they hold is judged by the guard.
 *
 * @param structured whether the tool has an output schema: then an envelope and a refusal would break the run
 * @throws InvalidRequestError
 */
export function readOptions(options: GuardToolOptions, structured: boolean): Settings {
  readMembers(options, "", "the options", members);
  checkFunction(options.scopeOf, "scopeOf");
  // What is thrown reaches the model as "please try again", which is the worst advice after a refusal.
  const answer = structured ? "throw" : "return";
  return {
    ...options,
    envelope: options.envelope ?? !structured,
    refusals: options.refusals ?? answer,
    failures: options.failures ?? answer,
    scopeOf: options.scopeOf ?? (() => undefined),
  };
}
