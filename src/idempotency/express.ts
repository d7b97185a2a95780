import type { IncomingMessage, ServerResponse } from "node:http";
import { OnceKvError } from "../base/errors.js";
import { attachCall, idempotencyOf } from "./calls-of-requests.js";
import { ExpressAnswer, sendAnswer } from "./express-answer.js";
import { admitRequest, announcesBody, type BodyDigest, digestOf } from "./keyed-request.js";
import { type IdempotencyOptions, resolveIdempotencyOptions } from "./options.js";
import { problemAnswer } from "./problem-answers.js";
import { rawBodyOf } from "./raw-body.js";
import { receiveRequest } from "./receive-request.js";
import type { Answer } from "./stored-answer.js";

/** Of Express's request, what is used here. */
export interface ExpressRequestLike extends IncomingMessage {
  readonly originalUrl: string;
  readonly body?: unknown;
}

/** A middleware as `app.use` takes it. */
export type ExpressMiddleware<R> = (request: R, response: ServerResponse, next: (error?: unknown) => void) => void;

/**
 * A middleware for Express 5: `app.use(express.json({ verify: keepRawBody }), expressIdempotency({ calls, callerOf }))`.
 * Requests of the covered methods run what comes after it under their `Idempotency-Key`. It must come after whatever reads
 * bodies and says who the caller is, and before the handlers. What is refused earlier is not remembered.
 *
 * The answer is taken from `write` and `end` of the response, which also errors and streams go through, and goes out when it
 * is stored. Until then the response tells nobody that the client has gone. When it is destroyed before its answer is whole,
 * what the request came to is unknown.
 *
 * @throws InvalidRequestError for a bad option
 */
export function expressIdempotency<R extends ExpressRequestLike = ExpressRequestLike>(
  options: IdempotencyOptions<R>,
): ExpressMiddleware<R> {
  const settings = resolveIdempotencyOptions(options);
  return (request, response, next) => {
    const covered = async (): Promise<void> => {
      // It runs under its key already, by the same middleware further out.
      if (idempotencyOf(request) !== undefined) return next();
      const admission = admitRequest(settings, request, request);
      if (admission.kind === "pass") return next();
      if (admission.kind === "refuse") return sendAnswer(response, admission.answer);
      const body = bodyOf(request);
      if ("answer" in body) return sendAnswer(response, body.answer);
      const received = { request, message: request, url: request.originalUrl, key: admission.key, body };
      const instead = await receiveRequest(settings, received, (held) => {
        new ExpressAnswer(response, held, settings).hold();
        attachCall(request, held.call);
        next();
      });
      if (instead !== undefined) sendAnswer(response, instead);
    };
    covered().catch(next);
  };
}

/** @throws OnceKvError `internal` for a parser that has not kept the bytes */
function bodyOf(request: ExpressRequestLike): BodyDigest | { readonly answer: Answer } {
  if (!announcesBody(request)) return digestOf(new Uint8Array());
  const kept = rawBodyOf(request) ?? (request.body instanceof Uint8Array ? request.body : undefined);
  if (kept !== undefined) return digestOf(kept);
  if (request.body === undefined) {
    return { answer: problemAnswer("unsupported_media_type", "a body of this type is not read here") };
  }
  throw new OnceKvError(
    "internal",
    "the parser of the body has not kept its bytes: give it { verify: keepRawBody } before expressIdempotency",
  );
}
