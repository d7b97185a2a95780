export type { Claim, NotClaimed } from "./claim.js";
export {
  CallInFlightError,
  CallParkedError,
  ClaimLostError,
  IdempotencyConflictError,
  NeedsReviewError,
  NothingToResolveError,
  ToolCallFailedError,
} from "./errors.js";
export { classifyFailure, type FailedCall, type FailureClass, type FailureClassifier } from "./failure.js";
export type { ToolCall } from "./holding.js";
export type { ToolCallDocument, ToolCallListOptions, ToolCallPage } from "./inspection.js";
export type { KnownOutcome, LookedUp, LookUp, LookUpCall } from "./looking-up.js";
export type { ObservedCall, ToolCallHooks, ToolCallStats } from "./observer.js";
export type { CallOptions, LeaseOptions, ToolCallsOptions } from "./options.js";
export type { Reconciler, ReconcilerOptions, ReconcilerRound } from "./reconciler.js";
export type {
  HistoryEntry,
  ResultOmission,
  StoredError,
  ToolCallPolicy,
  ToolCallRecord,
  ToolCallStatus,
} from "./record.js";
export type { ToolCallName, ToolCallRequest } from "./request.js";
export type { ApproveOptions, ResolveOptions } from "./resolving.js";
export type { ToolCallOutcome } from "./result.js";
export type { ResultOptions } from "./result-keeping.js";
export type { Tool } from "./run.js";
export type { ChunkOptions } from "./stream.js";
export { type FinalResult, type StreamRequest, ToolCalls, toolCalls, type WaitForOutcome } from "./tool-calls.js";
