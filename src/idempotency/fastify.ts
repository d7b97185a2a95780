import type { Readable } from "node:stream";
import { OnceKvError } from "../base/errors.js";
import { attachCall } from "./calls-of-requests.js";
import { FastifyAnswer } from "./fastify-answer.js";
import type { FastifyInstanceLike, FastifyReplyLike, FastifyRequestLike } from "./fastify-types.js";
import { valuesByName } from "./kept-headers.js";
import { admitRequest, announcesBody, type BodyDigest, digestOf } from "./keyed-request.js";
import { type IdempotencyOptions, resolveIdempotencyOptions } from "./options.js";
import { type BodyTap, tapBody } from "./raw-body.js";
import { receiveRequest } from "./receive-request.js";
import type { Answer } from "./stored-answer.js";

/** A plugin as `register` takes it. */
export type FastifyIdempotency = (
  instance: FastifyInstanceLike,
  options: IdempotencyOptions<FastifyRequestLike>,
  done: (error?: Error) => void,
) => void;

type Done = (error?: Error | null, value?: unknown) => void;

/**
 * A Fastify plugin: `app.register(fastifyIdempotency, { calls, callerOf })`. Requests of the covered methods, to routes that
 * are registered after it where it is registered, run under their `Idempotency-Key`, after parsing, validation and the
 * `preHandler` hooks that were registered before (who the caller is must be known by then), and before those after it. What
 * is refused earlier is not remembered.
 *
 * The answer is taken and replayed at `onSend`, and goes out when it is stored. A handler that takes the reply away from
 * Fastify (`hijack`, `reply.raw`) gives no answer that can be stored: what the request came to is unknown once it has ended
 * or destroyed the response.
 *
 * @throws InvalidRequestError from `register`, for a bad option
 */
export const fastifyIdempotency: FastifyIdempotency = Object.assign(
  (
    instance: FastifyInstanceLike,
    options: IdempotencyOptions<FastifyRequestLike>,
    done: (error?: Error) => void,
  ): void => {
    try {
      addHooks(instance, options);
      done();
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  },
  {
    // Hooks are to hold where the plugin is registered, and not in a scope of their own.
    [Symbol.for("skip-override")]: true,
    [Symbol.for("fastify.display-name")]: "oncekv-idempotency",
  },
);

function addHooks(instance: FastifyInstanceLike, options: IdempotencyOptions<FastifyRequestLike>): void {
  const settings = resolveIdempotencyOptions(options);
  const taps = new WeakMap<FastifyRequestLike, BodyTap>();
  const answers = new WeakMap<FastifyRequestLike, FastifyAnswer>();
  const instead = new WeakMap<FastifyRequestLike, Buffer>();

  const answerInstead = (request: FastifyRequestLike, reply: FastifyReplyLike, answer: Answer): void => {
    instead.set(request, answer.body);
    reply.code(answer.status);
    for (const [name, values] of valuesByName(answer.headers)) reply.header(name, values);
    // The body comes in at `onSend`, where the first one was taken: what Fastify does before has been done to it.
    reply.send();
  };

  const preParsing = (request: FastifyRequestLike, _reply: FastifyReplyLike, payload: Readable, done: Done): void => {
    if (!settings.methods.has(request.raw.method ?? "") || request.headers["idempotency-key"] === undefined) {
      done(null, payload);
      return;
    }
    const tap = tapBody(payload);
    taps.set(request, tap);
    done(null, tap.stream);
  };

  const preHandler = (request: FastifyRequestLike, reply: FastifyReplyLike, done: Done): void => {
    const { raw: message, originalUrl: url } = request;
    const admission = admitRequest(settings, request, message);
    if (admission.kind === "pass") {
      done();
      return;
    }
    if (admission.kind === "refuse") {
      answerInstead(request, reply, admission.answer);
      return;
    }
    const body = digestOfBody(request, taps.get(request));
    if (body === undefined) {
      done(bodyNotRead(request));
      return;
    }
    const entering = receiveRequest(settings, { request, message, url, key: admission.key, body }, (held) => {
      const awaited = new FastifyAnswer(held, settings);
      awaited.watch(reply.raw);
      answers.set(request, awaited);
      attachCall(request, held.call);
      done();
    });
    handOver(entering, reply, done, (answer) => {
      if (answer !== undefined) answerInstead(request, reply, answer);
    });
  };

  const onSend = (request: FastifyRequestLike, reply: FastifyReplyLike, payload: unknown, done: Done): void => {
    const body = instead.get(request);
    if (body !== undefined) {
      instead.delete(request);
      done(null, body.byteLength === 0 ? payload : body);
      return;
    }
    const answer = answers.get(request);
    if (answer === undefined || answer.isTaken) {
      done(null, payload);
      return;
    }
    handOver(answer.take(reply, payload), reply, done, (stored) => done(null, stored));
  };

  instance.decorateRequest("idempotency", null);
  instance.addHook("preParsing", preParsing);
  instance.addHook("preHandler", preHandler);
  instance.addHook("onSend", onSend);
}

/**
 * Goes on with what was waited for. What Fastify itself throws then (the handler has written past it, say) has nobody to
 * catch it, and must not end the process.
 */
function handOver<T>(awaited: Promise<T>, reply: FastifyReplyLike, done: Done, goOn: (value: T) => void): void {
  awaited.then(goOn, (error: Error) => done(error)).catch((error: Error) => reply.raw.destroy(error));
}

function digestOfBody(request: FastifyRequestLike, tap: BodyTap | undefined): BodyDigest | undefined {
  const { raw, headers } = request;
  // Fastify reads no body of a request that announces none and names no type.
  if (!announcesBody(raw) && headers["content-type"] === undefined) return digestOf(new Uint8Array());
  return tap?.digest();
}

/** A parser that leaves the body to the handler, as those for uploads do. */
function bodyNotRead({ raw, originalUrl }: FastifyRequestLike): OnceKvError {
  return new OnceKvError(
    "internal",
    `the body of ${raw.method} ${originalUrl} was not read by its parser, so that it cannot be compared: exclude the route with the option keys`,
  );
}
