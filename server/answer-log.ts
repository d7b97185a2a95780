import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Metrics, RecordAnswer } from "./metrics.js";

/** Notes how one request ended. */
export type NoteAnswer = (request: FastifyRequest, status: number, elapsedMs: number) => void;

/** The status under which a request is noted whose client went away before there was an answer. */
const clientGone = 499;

const shapePattern = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const noteDecorator = "oncekvNote";

/**
 * Notes every answer once: in the metrics, and as one line of the log, which names the route, never the address. Ids and
 * tokens may be secrets, and documents are none of the log's business.
 */
export class AnswerLog {
  readonly #metrics: Metrics;
  readonly #logger: FastifyBaseLogger;
  /** Notes requests that reach no route. */
  readonly unmatched: NoteAnswer;

  constructor(metrics: Metrics, logger: FastifyBaseLogger) {
    this.#metrics = metrics;
    this.#logger = logger;
    this.unmatched = this.route("*", "unmatched");
  }

  /** Follows all routes that are registered from now on. */
  follow(app: FastifyInstance): void {
    app.decorateRequest(noteDecorator, null);
    app.addHook("onRoute", (route) => {
      const note = this.route(String(route.method), route.url.replace(/:(\w+)/g, "{$1}"));
      route.onResponse = (request, reply, done) => {
        (request.getDecorator<NoteAnswer | null>(noteDecorator) ?? note)(request, reply.statusCode, reply.elapsedTime);
        done();
      };
    });
  }

  /** The notes of one route. */
  route(method: string, route: string): NoteAnswer {
    const record: RecordAnswer = this.#metrics.recorder(method, route);
    const logger = this.#logger;
    return (request, status, elapsedMs) => {
      record(status, elapsedMs / 1000);
      logger.info(
        { request: request.id, method, route, shape: shapeOf(request), status, ms: round(elapsedMs) },
        "answered",
      );
    };
  }
}

/** Has a request noted under another route than its own: one that waits by design would spoil the times of the others. */
export function noteAs(request: FastifyRequest, note: NoteAnswer): void {
  request.setDecorator<NoteAnswer | null>(noteDecorator, note);
}

/** Notes a request whose client has gone, which Fastify does not do. */
export function noteGone(request: FastifyRequest, reply: FastifyReply, note: NoteAnswer): void {
  note(request, clientGone, reply.elapsedTime);
}

/** The shape in the address, if it is one: anything else there may be anything. */
function shapeOf(request: FastifyRequest): string | undefined {
  const { params } = request;
  if (typeof params !== "object" || params === null || !("shape" in params)) return undefined;
  return typeof params.shape === "string" && shapePattern.test(params.shape) ? params.shape : undefined;
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
