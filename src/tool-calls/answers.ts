import type { CallAnswer } from "./acquisition-decisions.js";
import { holdLeftMs } from "./decisions.js";
import {
  CallInFlightError,
  CallParkedError,
  IdempotencyConflictError,
  NeedsReviewError,
  ToolCallFailedError,
} from "./errors.js";
import type { ToolCallOutcome } from "./result.js";
import { type ResultKeeping, replayOf } from "./result-keeping.js";

/**
 * What a record says to a caller: the stored result, or one of the errors, as a rejection.
 *
 * @param fingerprint of the arguments that the caller gave
 */
export async function answerCaller(
  { results }: { readonly results: ResultKeeping },
  answer: CallAnswer,
  fingerprint: string,
): Promise<ToolCallOutcome<unknown>> {
  const { seen } = answer;
  switch (answer.answer) {
    case "completed":
      return replayOf(seen, results);
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
