import { OnceKvError } from "../base/errors.js";
import { classifyHandlerFailure } from "./answer-class.js";
import { HeldRequest } from "./held-request.js";
import type { KeyedRequest } from "./keyed-request.js";
import type { IdempotencySettings } from "./options.js";
import { answerOfError, omittedAnswer, replayed } from "./problem-answers.js";
import { type Answer, decodeAnswer } from "./stored-answer.js";

/**
 * Begins a request under its key. Either its handler is entered, and this resolves when it has answered, or what an earlier
 * request came to is the answer.
 *
 * @param enter called at most once, in the very turn in which the claim is known to hold; lets the handler run
 * @returns the answer to give instead of the handler's; undefined when the handler was entered
 * @throws faults of the server, for its error handler: the handler was not entered
 */
export async function beginRequest<R>(
  settings: IdempotencySettings<R>,
  request: KeyedRequest,
  enter: (held: HeldRequest) => void,
): Promise<Answer | undefined> {
  const { calls, tool, marks, call } = settings;
  const { key, caller: scope, payload } = request;
  const entered: { held?: HeldRequest } = {};
  try {
    const outcome = await calls.run(
      { ...call, tool, key, scope, args: payload, marks, classify: classifyHandlerFailure },
      (toolCall) => {
        const held = new HeldRequest(toolCall, key, settings);
        entered.held = held;
        enter(held);
        return held.outcome;
      },
    );
    if (entered.held === undefined) return replayOf(outcome);
    entered.held.settled(outcome.persisted);
  } catch (error) {
    if (entered.held === undefined) return instead(error);
    entered.held.rejected(error);
  }
  return undefined;
}

function replayOf({
  result,
  result_omitted: omitted,
}: {
  readonly result: unknown;
  readonly result_omitted?: string;
}): Answer {
  if (omitted !== undefined) return omittedAnswer(undefined);
  const kept = decodeAnswer(result);
  const { body } = kept;
  return body === null ? omittedAnswer(kept) : replayed({ ...kept, body });
}

function instead(error: unknown): Answer {
  const answer = answerOfError(error);
  if (answer !== undefined) return answer;
  if (error instanceof OnceKvError && error.status === 500) throw error;
  // A framework would take the status of the error for one of the request.
  throw new OnceKvError("internal", "a request cannot be run under its Idempotency-Key", { cause: error });
}
