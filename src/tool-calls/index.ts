export type { Claim, NotClaimed } from "./claim.js";
export {
  CallInFlightError,
  CallParkedError,
  ClaimLostError,
  IdempotencyConflictError,
  NeedsReviewError,
  ToolCallFailedError,
} from "./errors.js";
export { classifyFailure, type FailedCall, type FailureClass, type FailureClassifier } from "./failure.js";
export type { ToolCallDocument, ToolCallListOptions, ToolCallPage } from "./inspection.js";
export type { CallOptions, ToolCallsOptions } from "./options.js";
export type { ResultOmission, StoredError, ToolCallPolicy, ToolCallRecord, ToolCallStatus } from "./record.js";
export type { ToolCallName, ToolCallRequest } from "./request.js";
export type { ToolCallOutcome } from "./result.js";
export type { Tool, ToolCall } from "./run.js";
export type { ChunkOptions } from "./stream.js";
export { type FinalResult, type StreamRequest, ToolCalls, toolCalls, type WaitForOutcome } from "./tool-calls.js";
