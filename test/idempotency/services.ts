import { createServer } from "node:http";
import { Readable } from "node:stream";
import express, { type Request, type Response } from "express";
import fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import {
  expressIdempotency,
  fastifyIdempotency,
  type IdempotencyOptions,
  type IdempotentCall,
  idempotencyOf,
  keepRawBody,
} from "../../src/idempotency/index.js";
import { listen } from "./loopback.js";

/** What a handler of either framework answers. */
export interface HandlerAnswer {
  readonly status: number;
  readonly headers?: { readonly [name: string]: string };
  readonly body: string | Buffer | Readable;
}

/** A handler of either framework. */
export type Handler = (call: IdempotentCall | undefined, body: unknown) => HandlerAnswer | Promise<HandlerAnswer>;

/** The options but for those that look at a framework's request. Who calls is the header `x-caller`. */
export type ServiceOptions = Omit<IdempotencyOptions<never>, "callerOf" | "keys">;

/** Starts a service whose every route has that handler. @returns its port */
export type StartService = (handler: Handler, options: ServiceOptions) => Promise<number>;

export const startFastify: StartService = async (handler, options) => {
  const app = fastify();
  app.addContentTypeParser("application/octet-stream", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  app.register(fastifyIdempotency, {
    callerOf: (request: FastifyRequest) => headerOf(request.headers["x-caller"]),
    ...options,
  });
  const route = async (request: FastifyRequest, reply: FastifyReply) => {
    const { status, headers = {}, body } = await handler(idempotencyOf(request), request.body);
    return reply.code(status).headers(headers).send(body);
  };
  app.register(async (scope) => {
    scope.all("/*", route);
  });
  await app.ready();
  return listen(app.server);
};

export const startExpress: StartService = async (handler, options) => {
  const app = express();
  app.use(express.json({ verify: keepRawBody }), express.raw());
  app.use(expressIdempotency({ callerOf: (request: Request) => headerOf(request.headers["x-caller"]), ...options }));
  app.use(async (request: Request, response: Response) => {
    const { status, headers = {}, body } = await handler(idempotencyOf(request), request.body);
    response.status(status).set(headers);
    if (body instanceof Readable) body.pipe(response);
    else response.send(body);
  });
  // What Express itself would write to the console.
  app.use((_error: unknown, _request: Request, response: Response, _next: unknown) => {
    response.status(500).send("it went wrong");
  });
  return listen(createServer(app));
};

function headerOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
