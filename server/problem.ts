import { type ErrorCode, errorTable, type OnceKvError } from "../src/base/errors.js";
import { type ConditionFailure, PreconditionFailedError } from "../src/documents/precondition-failed.js";
import { type CallProblem, callProblem, withholdsMessage } from "./tool-call-problem.js";

/** The media type of every error. */
export const problemType = "application/problem+json; charset=utf-8";

/** An error as it travels (RFC 9457). The client makes the same error of it again, by `code`. */
export interface Problem {
  /** `urn:oncekv:error:<code>` */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  /** Whether the same request may succeed later without any change. */
  readonly retryable: boolean;
  /** Where in the request the fault is. */
  readonly path?: string;
  /** Seconds after which trying again makes sense. */
  readonly retry_after?: number;
  /** The conditions that did not hold; with `precondition_failed` only. */
  readonly failures?: readonly ConditionFailure[];
  /** What is known of the call; with the codes of tool calls only. */
  readonly call?: CallProblem;
}

/**
 * An error as a problem. What an invariant says about the program's inside stays in the log.
 *
 * @param mayRead whether the asker may see documents of a shape; others are left out, of the message too, and marked
 * @param requestId by which the log tells more
 */
export function toProblem(error: OnceKvError, mayRead: (shape: string) => boolean, requestId: string): Problem {
  const { status, title, retryable } = errorTable[error.code];
  const call = callProblem(error, mayRead);
  return {
    type: `urn:oncekv:error:${error.code}`,
    title,
    status,
    detail: detailOf(error, mayRead, requestId),
    code: error.code,
    retryable,
    ...(error.path === undefined || error.path === "" ? {} : { path: error.path }),
    ...(error.retryAfter === undefined ? {} : { retry_after: error.retryAfter }),
    ...(error.code === "precondition_failed" ? { failures: visibleFailures(error, mayRead) } : {}),
    ...(call === undefined ? {} : { call }),
  };
}

function detailOf(error: OnceKvError, mayRead: (shape: string) => boolean, requestId: string): string {
  if (error.code === "internal") {
    return `a fault of the server, not of the request; its log tells more under ${requestId}`;
  }
  return withholdsMessage(error, mayRead) ? errorTable[error.code].title : error.message;
}

/** `retry_after` as the header says it: whole seconds, at least 1. */
export function retryAfterHeader(seconds: number): string {
  return String(Math.max(1, Math.ceil(seconds)));
}

/** Whether there is a document at all is a part of what only readers may see. */
function visibleFailures(error: OnceKvError, mayRead: (shape: string) => boolean): readonly ConditionFailure[] {
  if (!(error instanceof PreconditionFailedError)) return [];
  return error.failures.map((failure) =>
    mayRead(failure.shape) ? failure : { ...failure, current: null, current_omitted: true },
  );
}
