import type { FastifyInstance } from "fastify";
import { InvalidRequestError, OnceKvError } from "../src/base/errors.js";
import { admitAs, loadAs, loadOf, type ServerContext } from "./context.js";
import { isLoopback } from "./listen-address.js";

/**
 * What an address may hold: printable ASCII but `#`. Node hands other bytes on as Latin-1, and the router cuts the address
 * at a `#`: both would lead to another document than the one that was meant.
 */
const wellFormedAddress = /^[\x21\x22\x24-\x7e]+$/;

/**
 * Stands before every route of `app`, and before a body is read: a draining server takes no new request, an address is
 * well-formed, and it is known what the sender may do, and that it does not ask for too much.
 *
 * A server without tokens trusts whoever can reach it, which is meant to be this machine. A web page in a browser here
 * can reach it too once its own name has been made to point here (DNS rebinding), but its requests still carry that name.
 */
export function admitRequests(app: FastifyInstance, context: ServerContext): void {
  // Nearly every request names the same host as the one before it.
  let admittedHost: string | undefined;
  app.addHook("onRequest", (request, reply, done) => {
    try {
      if (context.drain.draining) {
        throw new OnceKvError("store_closed", "the server is shutting down", { retryAfter: 1 });
      }
      if (!wellFormedAddress.test(request.raw.url ?? "")) {
        throw new InvalidRequestError("", "the address holds characters that must be percent-encoded");
      }
      if (!context.hasTokens) {
        const { host } = request.headers;
        if (host === undefined || host !== admittedHost) requireLocalName(host);
        admittedHost = host;
      }
      const access = context.authenticate(request.headers.authorization);
      admitAs(request, access);
      const leave = access.enter(context.requestBounds, context.clock.monotonicNow());
      // Whichever way it ends, hijacked and given up ones too.
      if (leave !== undefined) reply.raw.once("close", leave);
    } catch (error) {
      done(error instanceof Error ? error : new OnceKvError("internal", String(error)));
      return;
    }
    done();
  });
}

/**
 * Stands before the routes of `app` that do what servers are asked for, once who asks is known: all of them together are
 * bounded. What operators look at is not among them, since they need it most when there is too much of everything else.
 */
export function boundLoad(app: FastifyInstance, context: ServerContext): void {
  app.addHook("onRequest", (request, reply, done) => {
    try {
      loadAs(request, context.load.begin(reply.raw, Number(request.headers["content-length"] ?? 0)));
    } catch (error) {
      done(error instanceof Error ? error : new OnceKvError("internal", String(error)));
      return;
    }
    done();
  });
  // The body is there now.
  app.addHook("preValidation", (request, _, done) => {
    try {
      loadOf(request)?.enter();
    } catch (error) {
      done(error instanceof Error ? error : new OnceKvError("internal", String(error)));
      return;
    }
    done();
  });
}

/** Throws `forbidden` unless the request names this machine. */
function requireLocalName(host: string | undefined): void {
  const name = (host ?? "").replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  if (isLoopback(name.toLowerCase())) return;
  throw new OnceKvError(
    "forbidden",
    "a server without tokens answers to 127.0.0.1, localhost and [::1] only; use one of these names, or give it tokens",
  );
}
