import type { IncomingMessage, ServerResponse } from "node:http";

/*
 * What is used of Fastify, by its shape: nothing of Fastify is loaded, and its versions need not match.
 */

/** Of Fastify's request, what is used here. */
export interface FastifyRequestLike {
  readonly raw: IncomingMessage;
  readonly originalUrl: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
}

/** Of Fastify's reply, what is used here. */
export interface FastifyReplyLike {
  readonly raw: ServerResponse;
  readonly statusCode: number;
  code(status: number): unknown;
  header(name: string, value: string | string[]): unknown;
  removeHeader(name: string): unknown;
  getHeaders(): { readonly [name: string]: number | string | string[] | undefined };
  send(payload?: unknown): unknown;
}

/** Of Fastify's instance, what is used here. */
export interface FastifyInstanceLike {
  addHook(name: string, hook: (...given: never[]) => unknown): unknown;
  decorateRequest(name: string, value?: null): unknown;
}
