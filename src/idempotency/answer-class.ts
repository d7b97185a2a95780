import type { CallOptions } from "../tool-calls/options.js";
import type { HeaderList } from "./kept-headers.js";

/**
 * What an answer of the handler means for the next request with the same key.
 *
 * - `stored`: it is the outcome, and is replayed.
 * - `released`: the request was certainly not carried out; the next one enters the handler.
 * - `unknown`: it may have been carried out. The policy of the call decides: under `refire` the next one enters the handler,
 *   under `review` nobody does until somebody has resolved it, under `reconcile` the look-up is asked.
 */
export type AnswerClass = "stored" | "released" | "unknown";

/** What the class of an answer is judged by. */
export interface ClassedAnswer {
  readonly status: number;
  /** The headers that are kept. */
  readonly headers: HeaderList;
}

/** Classes an answer; undefined: no opinion, `classifyAnswer` decides. */
export type AnswerClassifier = (answer: ClassedAnswer) => AnswerClass | undefined;

/**
 * The default. A refusal is as much an outcome as a success, and a client that sends the same request again is to get the
 * same one: 2xx to 4xx are stored. Three of the 4xx are none: 425 and 429 say that the request was not carried out, and 408
 * says that the server has given up on it. A 5xx, which is also what becomes of a handler that throws, may come after the
 * effect as well as before.
 */
export function classifyAnswer({ status }: ClassedAnswer): AnswerClass {
  if (status === 425 || status === 429) return "released";
  return status >= 500 || status === 408 ? "unknown" : "stored";
}

/** What the call is told when its handler's answer is not its outcome: thrown by the tool that the handler is. */
export class AnswerNotStored extends Error {
  readonly outcome: "retryable" | "unknown";

  constructor(message: string, outcome: "retryable" | "unknown", details: { readonly cause?: unknown } = {}) {
    super(message, details);
    this.name = "AnswerNotStored";
    this.outcome = outcome;
  }
}

/**
 * The class of an answer. A classifier that throws or says something else knows nothing.
 *
 * @param provablyUnfired the handler marks its effect, and has not: whatever went wrong, nothing was done
 */
export function classOfAnswer(
  answer: ClassedAnswer,
  classifier: AnswerClassifier | undefined,
  provablyUnfired: boolean,
): AnswerClass {
  const given = ask(answer, classifier) ?? classifyAnswer(answer);
  return given === "unknown" && provablyUnfired ? "released" : given;
}

/** Whatever the calls in general make of errors: here the answer has been judged already. */
export const classifyHandlerFailure: NonNullable<CallOptions["classify"]> = (error) =>
  error instanceof AnswerNotStored ? error.outcome : "unknown";

function ask(answer: ClassedAnswer, classifier: AnswerClassifier | undefined): AnswerClass | undefined {
  try {
    const given: unknown = classifier?.(answer);
    return given === "stored" || given === "released" || given === "unknown" ? given : undefined;
  } catch {
    return "unknown";
  }
}
