import type { ErrorCode } from "../base/errors.js";
import type { ResultOmission } from "../tool-calls/index.js";

/*
 * Every sentence that a model reads about a guarded call, whatever framework carries it. A model takes an old result for a
 * missing effect and an error for an invitation, and tries again in other words, which no key can recognise. So each text
 * says what was done, and what not to do.
 */

/** What stands beside a stored result. @param calledAt ISO 8601, UTC */
export function replayNote(calledAt: string, omitted: ResultOmission | undefined): string {
  const what =
    omitted === undefined
      ? "and this is its result"
      : "and it was done; its result was not kept, so do not take its absence for a failure";
  return `This call was made before, at ${calledAt}, ${what}. Nothing was done again. Do not repeat it in other words.`;
}

const notKnown =
  "Whether the call had its effect is not known. Do not call again, neither with these nor with other arguments; " +
  "somebody has to find out first.";

/** Codes of errors that say something about the call itself. */
type CallErrorCode = Extract<
  ErrorCode,
  "idempotency_conflict" | "call_in_flight" | "call_parked" | "needs_review" | "tool_call_failed" | "claim_lost"
>;

/** What is said in the place of a result, by the code of the error that came instead. */
export const adviceByCode: { readonly [Code in CallErrorCode]: string } = {
  idempotency_conflict:
    "This call did nothing. The same intent was called before with other arguments. Do not call again, neither with these " +
    "nor with other arguments; report this to the user.",
  call_in_flight:
    "The same call is still running. Do not call with other arguments; its result can be had by the same call later.",
  call_parked: "The call waits for an approval. Do not call again until it is given.",
  needs_review: notKnown,
  tool_call_failed: "The same call has failed before. Do not call again; report the failure to the user.",
  claim_lost: "What became of the call is not known here. Do not call again; report this to the user.",
};

/** The same by any code; undefined: it is an error of another kind. */
export function adviceFor(code: ErrorCode): string | undefined {
  return Object.hasOwn(adviceByCode, code) ? adviceByCode[code as CallErrorCode] : undefined;
}

/**
 * What is said of a field of a tool's arguments in which a model, or whoever calls for it, may give a key.
 *
 * @param windowSeconds how long a key is remembered
 */
export function keyFieldText(windowSeconds: number): string {
  return (
    "Optional key of this intent: a text that names what is meant to happen once. Give the same key whenever the same call " +
    `is repeated; within ${durationText(windowSeconds)} it is then done only once, and answered with the first result. ` +
    "Something else that is meant to happen needs another key. Leave it out if in doubt."
  );
}

const units = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** A length of time in the largest unit that says it exactly: 1 hour, 90 minutes. */
function durationText(seconds: number): string {
  const [unit, size] = units.find(([, each]) => seconds >= each && seconds % each === 0) ?? ["second", 1];
  const count = seconds / size;
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** When the store failed before the tool was begun, for now. */
export const nothingBegun: string =
  "This call did nothing: whether it was made before cannot be looked up now. Do not call with other arguments; the same " +
  "call may be made later.";

/** The same when trying again will not help. */
export const nothingBegunForGood: string =
  "This call did nothing: whether it was made before cannot be looked up. Do not call again; report this to the user.";

/** When a call is given up because it took too long: it may run on, have ended in any way, or not have been begun. */
export const notWaitedFor: string =
  "The call took too long and is not waited for any longer. What became of it is not known here. Do not call with other " +
  "arguments; the same call may be made later, and its answer says what became of it.";

/** When a call was not begun for a reason that passes. @param reason a clause */
export function notBegun(reason: string): string {
  return `This call did nothing: ${reason}. The same call may be made later.`;
}

/** When the same call was made before in another form, in which alone its result can be had. @param form "as a task", say */
export function madeInOtherForm(calledAt: string, form: string): string {
  return `This call did nothing: the same call was made before, at ${calledAt}, ${form}. Make it ${form} to have its result.`;
}

/** How a tool failed, as far as that is known. */
export type ToolFailure = "failed" | "retryable" | "unknown";

/**
 * What is said of a tool that failed.
 *
 * @param failure `retryable` also stands for an unknown outcome after which the tool may fire again
 * @param message the tool's own words
 */
export function failureText(failure: ToolFailure, message: string): string {
  switch (failure) {
    case "failed":
      return `The call has failed, and had no effect: ${message} The same call will fail again; report this to the user.`;
    case "retryable":
      return `The call has no result: ${message} It may be made again, with exactly the same arguments; do not change them.`;
    case "unknown":
      return `The call broke off: ${message} ${notKnown}`;
  }
}
