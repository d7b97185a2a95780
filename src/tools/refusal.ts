import { type ErrorCode, OnceKvError } from "../base/errors.js";

/*
 * What a model is told when a call was not made. Some frameworks put "please try again" in the place of any error, and a
 * model that tries again in other words is the very thing that a refusal is for. As a result, the words are ours.
 */

/** A guarded call that was not made, as a result for the model. */
export interface ToolRefusal {
  readonly refused: true;
  readonly code: ErrorCode;
  /** What to do, and what not. */
  readonly message: string;
  /** Seconds after which the same call, with the same arguments, may be made again; absent: not at all. */
  readonly retry_after?: number;
}

const advice: { readonly [Code in ErrorCode]?: string } = {
  idempotency_conflict:
    "Nothing was done. The same intent was called before with other arguments. Do not call again, neither with these nor " +
    "with other arguments; report this to the user.",
  call_in_flight:
    "The same call is still running. Do not call with other arguments; its result can be had by the same call later.",
  call_parked: "The call waits for an approval. Do not call again until it is given.",
  needs_review:
    "Whether the call had its effect is not known. Do not call again, neither with these nor with other arguments; " +
    "somebody has to find out first.",
  tool_call_failed: "The same call has failed before. Do not call again; report the failure to the user.",
  claim_lost: "What became of the call is not known here. Do not call again; report this to the user.",
};

/** The refusal that an error stands for; undefined: it is an error of the tool, of the caller or of the store. */
export function refusalOf(error: unknown): ToolRefusal | undefined {
  if (!(error instanceof OnceKvError)) return undefined;
  const message = advice[error.code];
  if (message === undefined) return undefined;
  const { code, retryAfter } = error;
  const said = code === "tool_call_failed" ? `${message} (${error.message})` : message;
  const mayRetry = code === "call_in_flight" && retryAfter !== undefined;
  return { refused: true, code, message: said, ...(mayRetry ? { retry_after: retryAfter } : {}) };
}
