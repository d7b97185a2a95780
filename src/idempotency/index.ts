export { type AnswerClass, type AnswerClassifier, type ClassedAnswer, classifyAnswer } from "./answer-class.js";
export { idempotencyOf } from "./calls-of-requests.js";
export { type ExpressMiddleware, type ExpressRequestLike, expressIdempotency } from "./express.js";
export { type FastifyIdempotency, fastifyIdempotency } from "./fastify.js";
export type { FastifyInstanceLike, FastifyReplyLike, FastifyRequestLike } from "./fastify-types.js";
export type { IdempotentCall } from "./held-request.js";
export {
  type FetchFunction,
  type FetchingCall,
  type IdempotentFetchOptions,
  idempotentFetch,
  wasReplayed,
} from "./idempotent-fetch.js";
export type { CallerOf, IdempotencyOptions, KeyRule } from "./options.js";
export { keepRawBody } from "./raw-body.js";
export { type StatedAnswer, type StoredAnswer, storedAnswer } from "./stored-answer.js";
