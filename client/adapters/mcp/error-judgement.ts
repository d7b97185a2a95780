import type { FailureClass, FailureClassifier } from "../../../src/tool-calls/index.js";
import { ErrorResult, meaningOfErrorResult } from "./error-result.js";
import type { McpAnsweredCall, McpGuardOptions } from "./options.js";
import type { McpToolResult } from "./tool-result.js";

/*
 * What a result with `isError` says about the effect, decided inside the call: outside of it there is only a text.
 */

/** An error result together with its class. */
export class JudgedErrorResult extends ErrorResult {
  readonly failureClass: FailureClass;

  constructor(result: McpToolResult, failureClass: FailureClass) {
    super(result);
    this.failureClass = failureClass;
  }
}

/**
 * The failure that an error result stands for.
 *
 * @param idempotent the tool's `idempotentHint`
 * @param errorResults the program's own word; when it throws, nobody knows
 * @returns undefined: it is a result like any other
 */
export function judgeErrorResult(
  result: McpToolResult,
  call: McpAnsweredCall,
  idempotent: boolean | undefined,
  errorResults: NonNullable<McpGuardOptions["errorResults"]>,
): JudgedErrorResult | undefined {
  const meaning = meaningOf(result, call, errorResults) ?? meaningOfErrorResult(idempotent);
  return meaning === "completed" ? undefined : new JudgedErrorResult(result, meaning);
}

/** A rule's classifier, in front of which stands what was judged before. */
export function withJudged(classify: FailureClassifier | undefined): FailureClassifier {
  return (error, call) => (error instanceof JudgedErrorResult ? error.failureClass : classify?.(error, call));
}

function meaningOf(
  result: McpToolResult,
  call: McpAnsweredCall,
  errorResults: NonNullable<McpGuardOptions["errorResults"]>,
): FailureClass | "completed" | undefined {
  try {
    const meaning: unknown = errorResults(result, call);
    if (meaning === undefined) return undefined;
    const known = (["failed", "retryable", "unknown", "completed"] as const).find((each) => each === meaning);
    return known ?? "unknown";
  } catch {
    return "unknown";
  }
}
