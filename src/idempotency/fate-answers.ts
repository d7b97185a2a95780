import { OnceKvError } from "../base/errors.js";
import { ClaimLostError } from "../tool-calls/errors.js";
import type { AnswerFate } from "./held-request.js";
import { answerOfError, refusalAnswer } from "./problem-answers.js";
import type { Answer } from "./stored-answer.js";

/** Sent with an answer that is not known to be stored: until it is, the same request might be carried out again. */
export const unsureHeader: readonly [name: string, value: string] = ["idempotent-persisted", "false"];

/**
 * What is sent instead of the handler's answer, if anything is. An answer that does not count must not be given: the next
 * request with the key would get another one.
 */
export function answerInstead(fate: AnswerFate): Answer | undefined {
  if (fate.kind !== "lost") return undefined;
  // Whatever else it is, it came after the handler: nothing may be said of "not carried out".
  const answer = fate.error instanceof ClaimLostError ? answerOfError(fate.error) : undefined;
  return answer ?? refusalAnswer(new OnceKvError("internal", "what became of the request could not be written down"));
}
