import type { FastifyInstance } from "fastify";
import { InvalidRequestError, OnceKvError } from "../src/base/errors.js";
import { admitAs, type ServerContext } from "./context.js";

/**
 * What an address may hold: printable ASCII but `#`. Node hands other bytes on as Latin-1, and the router cuts the address
 * at a `#`: both would lead to another document than the one that was meant.
 */
const wellFormedAddress = /^[\x21\x22\x24-\x7e]+$/;

/**
 * Stands before every route of `app`, and before a body is read: a draining server takes no new request, an address is
 * well-formed, and it is known what the sender may do.
 */
export function admitRequests(app: FastifyInstance, context: ServerContext): void {
  app.addHook("onRequest", (request, _reply, done) => {
    try {
      if (context.drain.draining) {
        throw new OnceKvError("store_closed", "the server is shutting down", { retryAfter: 1 });
      }
      if (!wellFormedAddress.test(request.raw.url ?? "")) {
        throw new InvalidRequestError("", "the address holds characters that must be percent-encoded");
      }
      admitAs(request, context.authenticate(request.headers.authorization));
    } catch (error) {
      done(error instanceof Error ? error : new OnceKvError("internal", String(error)));
      return;
    }
    done();
  });
}
