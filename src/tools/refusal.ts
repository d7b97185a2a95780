import { type ErrorCode, OnceKvError } from "../base/errors.js";
import { shown } from "../documents/request-members.js";
import {
  adviceByCode,
  adviceFor,
  failureText,
  nothingBegun,
  nothingBegunForGood,
  type ToolFailure,
} from "./model-text.js";

/*
 * What a model is told when a call has no result. Some frameworks put "please try again" in the place of any error, and a
 * model that tries again in other words is the very thing that a refusal is for. As a result, the words are ours.
 */

/** A guarded call that was not made, or, with `failures: "return"`, that failed: as a result for the model. */
export interface ToolRefusal {
  readonly refused: true;
  readonly code: ErrorCode;
  /** What to do, and what not. */
  readonly message: string;
  /** Seconds after which the same call, with the same arguments, makes sense again; absent: the message alone says. */
  readonly retry_after?: number;
}

/** The store's own faults. */
const storeFaults: ReadonlySet<ErrorCode> = new Set([
  "rate_limited",
  "overloaded",
  "store_failed",
  "store_closed",
  "unavailable",
  "outcome_unknown",
  "unauthorized",
  "forbidden",
  "store_locked",
  "store_unwritable",
  "store_format",
  "store_damaged",
  "internal",
  "precondition_failed",
  "write_id_conflict",
  "record_malformed",
]);

/**
 * The refusal that an error stands for; undefined: it is an error of the caller or of the program.
 *
 * @param entered whether the tool was begun: when not, a fault of the store means that nothing was done
 */
export function refusalOf(error: unknown, entered: boolean): ToolRefusal | undefined {
  if (!(error instanceof OnceKvError)) return undefined;
  const { code, retryable, retryAfter } = error;
  const message = adviceFor(code) ?? (storeFaults.has(code) ? ofStore(retryable, entered) : undefined);
  if (message === undefined) return undefined;
  // Its own words name the record's key, which is nothing to a model.
  const said = code === "tool_call_failed" ? `${message} (${wordsOf(error.cause)})` : message;
  const mayRetry = retryable && !entered && retryAfter !== undefined;
  return { refused: true, code, message: said, ...(mayRetry ? { retry_after: retryAfter } : {}) };
}

function ofStore(retryable: boolean, entered: boolean): string {
  if (entered) return adviceByCode.claim_lost;
  return retryable ? nothingBegun : nothingBegunForGood;
}

/** The same for what a tool threw. */
export function refusalOfFailure(failure: ToolFailure, thrown: unknown): ToolRefusal {
  const message = failureText(failure, sentenceOf(thrown));
  return {
    refused: true,
    code: failure === "unknown" ? "needs_review" : "tool_call_failed",
    message,
    ...(failure === "retryable" ? { retry_after: 0 } : {}),
  };
}

function sentenceOf(thrown: unknown): string {
  const said = wordsOf(thrown);
  return /[.!?]$/.test(said) ? said : `${said}.`;
}

function wordsOf(thrown: unknown): string {
  return thrown instanceof Error && thrown.message !== "" ? thrown.message : shown(thrown);
}
