import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { OnceKvError } from "../src/base/errors.js";
import { sendProblem } from "./answer.js";
import { admittedAs, type ServerContext } from "./context.js";
import { translateFault } from "./fault-translation.js";
import { toProblem } from "./problem.js";

const methods = ["GET", "PUT", "PATCH", "DELETE", "POST"] as const;

/** Answers every error as a problem. */
export function useErrorAnswers(app: FastifyInstance, context: ServerContext): void {
  app.setErrorHandler((error, request, reply) => {
    // The framework closes the connection after every fault in a body. There is no need to: what it has not read of the
    // body is read and thrown away, so that the sender gets to read the answer.
    reply.removeHeader("connection");
    sendFault(context, request, reply, error);
  });
  app.setNotFoundHandler((request, reply) => {
    reply.raw.once("finish", () => context.answerLog.unmatched(request, reply.statusCode, reply.elapsedTime));
    sendFault(context, request, reply, nothingThere(app, request, reply));
  });
}

/**
 * Answers what the router could not make sense of. No hook has run for such a request, and it has none of the members
 * that the others have.
 */
export function sendRouterFault(
  context: ServerContext,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
): void {
  sendProblem(
    context.drain,
    reply,
    toProblem(translateFault(error), () => false, request.id),
  );
  context.answerLog.unmatched(request, reply.statusCode, 0);
}

/** Answers one error. */
function sendFault(context: ServerContext, request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  const fault = translateFault(error);
  logFault(request.log, request.id, fault);
  const access = admittedAs(request);
  const problem = toProblem(fault, (shape) => access?.mayRead(shape) ?? false, request.id);
  sendProblem(context.drain, reply, problem);
}

/** Faults of the program and of the disk, with all that is known about them. Refused requests are in the log of answers. */
export function logFault(logger: FastifyBaseLogger, requestId: string, fault: OnceKvError): void {
  if (fault.code === "internal" || fault.code === "store_failed" || fault.code === "outcome_unknown") {
    logger.error({ err: fault, request: requestId }, "a request met a fault");
  }
  // Its message names a document, which the log does not.
  if (fault.code === "store_damaged") {
    logger.error(
      { code: fault.code, request: requestId },
      "a request met damage on the disk: `oncekv verify` names it",
    );
  }
}

function nothingThere(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): OnceKvError {
  const url = request.raw.url ?? "";
  const allowed = methods.filter((method) => app.findRoute({ method, url }) !== null);
  if (allowed.length === 0) {
    return new OnceKvError("route_not_found", "there is nothing at this address; a / in an id is written %2F");
  }
  reply.header("allow", allowed.join(", "));
  return new OnceKvError("method_not_allowed", `the address takes ${allowed.join(", ")}, not ${request.method}`);
}
