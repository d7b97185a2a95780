import type { CallAnswer } from "./acquisition-decisions.js";
import { holdLeftMs } from "./decisions.js";
import {
  CallInFlightError,
  CallParkedError,
  IdempotencyConflictError,
  NeedsReviewError,
  ToolCallFailedError,
} from "./errors.js";
import { replayOf, type ToolCallOutcome } from "./result.js";

/**
 * What a record says to a caller: the stored result, or one of the errors.
 *
 * @param fingerprint of the arguments that the caller gave
 */
export function answerCaller(answer: CallAnswer, fingerprint: string): ToolCallOutcome<unknown> {
  const { seen } = answer;
  switch (answer.answer) {
    case "completed":
      return replayOf(seen);
    case "failed":
      throw new ToolCallFailedError(seen, holdLeftMs(seen));
    case "conflict":
      throw new IdempotencyConflictError(seen, fingerprint);
    case "needs_review":
      throw new NeedsReviewError(seen);
    case "parked":
      throw new CallParkedError(seen.record);
    case "in_flight":
      throw new CallInFlightError(seen, holdLeftMs(seen));
  }
}
