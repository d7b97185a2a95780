import { type ErrorCode, errorTable, OnceKvError } from "../base/errors.js";
import type { Answer, KeptAnswer } from "./stored-answer.js";

/*
 * What is answered instead of the handler, as `application/problem+json` (RFC 9457). The messages of the calls' errors name
 * records and workers, which are no business of the client: it is told what it can act on.
 */

const problemType = "application/problem+json; charset=utf-8";

/** Seconds. A lease may last minutes, but most handlers are done much sooner than their lease. */
const retryAfterMax = 5;

/** What the client is told, by the code of the error. */
const details: { readonly [Code in ErrorCode]?: string } = {
  idempotency_conflict:
    "this Idempotency-Key was used with another request: method, path, query, content type and body must be the same",
  call_in_flight: "a request with this Idempotency-Key is being worked on",
  needs_review:
    "whether the request with this Idempotency-Key was carried out is not known; do not send it under another key",
  call_parked: "the request with this Idempotency-Key was set aside",
  claim_lost:
    "the request took longer than its claim on this Idempotency-Key held, and its answer does not count; ask again with the same key",
  tool_call_failed: "the request with this Idempotency-Key was settled as failed",
};

/** The answer to a request that is not acceptable. `error` says what is wrong with it in words for the client. */
export function refusalAnswer(error: OnceKvError): Answer {
  return problemAnswer(error.code, error.message);
}

/**
 * The answer that an error of the calls stands for; undefined when the fault is the server's own, for its error handler and
 * its log.
 */
export function answerOfError(error: unknown): Answer | undefined {
  if (!(error instanceof OnceKvError)) return undefined;
  // What the client sent was judged before: what is refused now are the options.
  if (error.status === 500 || error.status === 400 || error.status === 413) return undefined;
  const detail = details[error.code] ?? "the key cannot be looked up now; nothing was carried out";
  return problemAnswer(error.code, detail, retryAfterOf(error));
}

/** The answer to a request that was carried out, when its own answer was not kept. @param kept undefined: nothing of it was */
export function omittedAnswer(kept: KeptAnswer | undefined): Answer {
  const answered = kept === undefined ? "" : ` with status ${kept.status}`;
  const answer = problemOf({
    type: "urn:oncekv:error:answer_not_kept",
    title: "The answer was not kept",
    status: 409,
    detail: `the request with this Idempotency-Key was carried out and answered${answered}, but the answer was too large to keep; do not send it under another key`,
    code: "answer_not_kept",
    retryable: false,
    ...(kept === undefined ? {} : { original_status: kept.status, original_headers: Object.fromEntries(kept.headers) }),
  });
  return replayed(answer);
}

/** An answer from the record, marked as such. */
export function replayed(answer: Answer): Answer {
  return { ...answer, headers: [...answer.headers, ["idempotent-replayed", "true"]] };
}

export function problemAnswer(code: ErrorCode, detail: string, retryAfter?: number): Answer {
  const { status, title, retryable } = errorTable[code];
  const body = { type: `urn:oncekv:error:${code}`, title, status, detail, code, retryable };
  if (retryAfter === undefined) return problemOf(body);
  const answer = problemOf({ ...body, retryable: true, retry_after: retryAfter });
  return { ...answer, headers: [...answer.headers, ["retry-after", String(retryAfter)]] };
}

function problemOf(body: { readonly status: number; readonly [name: string]: unknown }): Answer {
  return { status: body.status, headers: [["content-type", problemType]], body: Buffer.from(JSON.stringify(body)) };
}

/** Whole seconds; undefined: coming again by itself will not help. */
function retryAfterOf(error: OnceKvError): number | undefined {
  const { code, retryable, retryAfter = 1 } = error;
  // Another worker has the claim, or its word stands in the record: the next request hears it.
  if (!retryable && code !== "claim_lost" && code !== "outcome_unknown") return undefined;
  return Math.min(retryAfterMax, Math.max(1, Math.ceil(retryAfter)));
}
