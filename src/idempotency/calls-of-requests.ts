import type { IdempotentCall } from "./held-request.js";

const calls = new WeakMap<object, IdempotentCall>();

/**
 * The call under which a request's handler runs: the same as `request.idempotency`, with its type.
 *
 * @param request Fastify's or Express's
 * @returns undefined for a request that is not covered, or brought no key
 */
export function idempotencyOf(request: object): IdempotentCall | undefined {
  return calls.get(request);
}

/** Gives the handler its call. */
export function attachCall(request: object, call: IdempotentCall): void {
  calls.set(request, call);
  Reflect.set(request, "idempotency", call);
}
