import type { FastifyReply } from "fastify";
import type { BatchResult, WriteResult } from "../src/documents/contract.js";
import { loadOf } from "./context.js";
import type { Drain } from "./drain.js";
import { entityTag } from "./precondition-headers.js";
import { type Problem, problemType, retryAfterHeader } from "./problem.js";

/** The media type of every answer that is not an error. */
export const jsonType = "application/json; charset=utf-8";

/** Sends a text. Every answer goes out here, so that the last one on a connection says so while the server drains. */
export function sendText(drain: Drain, reply: FastifyReply, status: number, type: string, text: string): void {
  if (drain.draining) reply.header("connection", "close");
  loadOf(reply.request)?.answered(text.length);
  reply.code(status).header("content-type", type).send(text);
}

/**
 * Sends what was read. It may be refused instead, since nothing was done: when so much waits for slow readers already.
 *
 * @throws OnceKvError `overloaded`
 */
export function sendRead(drain: Drain, reply: FastifyReply, text: string): void {
  loadOf(reply.request)?.checkAnswer(text.length);
  sendText(drain, reply, 200, jsonType, text);
}

/**
 * Sends the answer once `result` is there, or its error. An async handler does the same, but what Fastify does around
 * one takes a twentieth of the server's time for a write.
 */
export function answerLater<T>(reply: FastifyReply, result: Promise<T>, send: (result: T) => void): void {
  const fail = (error: unknown): void => {
    reply.send(error);
  };
  result.then((value) => {
    try {
      send(value);
    } catch (error) {
      fail(error);
    }
  }, fail);
}

/** Sends what a write did. */
export function sendWriteResult(drain: Drain, reply: FastifyReply, status: number, result: WriteResult): void {
  if (result.replayed === true) reply.header("idempotent-replayed", "true");
  sendText(drain, reply, status, jsonType, writeResultText(result));
}

/**
 * Sends an answer without a body: that nothing has changed.
 *
 * @param revision that the document still has, 0 for an absent one; undefined when that is not known
 */
export function sendNotModified(drain: Drain, reply: FastifyReply, revision: number | undefined): void {
  if (drain.draining) reply.header("connection", "close");
  if (revision !== undefined) reply.header("etag", entityTag(revision));
  loadOf(reply.request)?.answered(0);
  reply.code(304).send();
}

/** Sends what a batch did. */
export function sendBatchResult(drain: Drain, reply: FastifyReply, result: BatchResult): void {
  if (result.replayed === true) reply.header("idempotent-replayed", "true");
  sendText(drain, reply, 200, jsonType, JSON.stringify(result));
}

/** Sends an error. */
export function sendProblem(drain: Drain, reply: FastifyReply, problem: Problem): void {
  if (problem.retry_after !== undefined) reply.header("retry-after", retryAfterHeader(problem.retry_after));
  if (problem.code === "unauthorized") reply.header("www-authenticate", "Bearer");
  sendText(drain, reply, problem.status, problemType, JSON.stringify(problem));
}

/** The common result has three members that need no escaping, and putting them together by hand is several times faster. */
export function writeResultText(result: WriteResult): string {
  if (result.replayed !== undefined || result.document !== undefined) return JSON.stringify(result);
  const expiresAt = result.expires_at === null ? "null" : `"${result.expires_at}"`;
  return `{"revision":${result.revision},"expires_at":${expiresAt},"created":${result.created}}`;
}
