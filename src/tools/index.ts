export type { GuardedCallOptions } from "./call-origin.js";
export { type ClassifiableTool, classify, type ToolAnnotations, type ToolClassification } from "./classify.js";
export {
  type CallOf,
  type DefinedTool,
  defineTool,
  type GuardedCall,
  type ReadingCall,
  type ToolDefinition,
} from "./define-tool.js";
export type { ToolEffect, ToolMechanism } from "./effect.js";
export type { EnvelopeOption, ToolEnvelope } from "./envelope.js";
export { explainTools, guardTool, guardTools } from "./guard.js";
export type { GuardOptions } from "./guard-options.js";
export type { GuardedAnswer, GuardedTool, GuardedTools, MaybeGuardedTool, ToolLike, ToolSet } from "./guarded-types.js";
export type { ToolRefusal } from "./refusal.js";
export {
  type SimilarCall,
  SimilarCalls,
  type SimilarCallsOptions,
  similarCalls,
  type WatchedCall,
} from "./similar-calls.js";
export type { ScopeRule, ToolRule, ToolTimes } from "./tool-rule.js";
