import type { CallContext } from "./acquiring.js";
import { sameCall } from "./decisions.js";
import { IdempotencyConflictError } from "./errors.js";
import type { PreparedCall } from "./request.js";
import { plan } from "./transitions.js";

/**
 * Writes a call down before anybody works on it, unless it is written down already.
 *
 * @returns its key
 * @throws IdempotencyConflictError when the key is bound to other arguments, and what the store throws
 */
export async function planCall({ records }: CallContext, { identity, extra }: PreparedCall): Promise<string> {
  const { key } = identity;
  for (;;) {
    const event = await records.write(key, plan(identity, extra));
    if (event.event === "written") return key;
    // Without an answer the plan may be there all the same.
    const seen = event.event === "refused" ? event.current : await records.read(key);
    if (seen !== undefined) {
      if (!sameCall(seen.record, identity)) throw new IdempotencyConflictError(seen, identity.fingerprint);
      return key;
    }
    if (event.event === "unanswered") throw event.error;
    // It was there and has gone since.
  }
}
