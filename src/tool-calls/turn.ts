import { type Acquired, acquire, type CallContext } from "./acquiring.js";
import type { ValidClaim } from "./acquisition-decisions.js";
import { ClaimLostError } from "./errors.js";
import { lookUpUnder } from "./looking-up.js";
import type { PreparedCall } from "./request.js";
import type { Verdict } from "./transition-types.js";

/** What was done with a claim: its turn was taken, or it was the claim of a look-up. */
type Entered<T> = { readonly turn: T } | { readonly lookedUp: Promise<Verdict["kind"] | "lost"> };

/**
 * Gets the caller's turn to fire, or the record's answer. Where an earlier run left a doubt that the call's own function
 * can end, it is asked first, and what it says is written down and read again, like the word of anybody else.
 *
 * @param enter as of `acquire`; called for the claim of a run only
 * @throws as `acquire`
 */
export async function acquireTurn<T>(
  context: CallContext,
  call: PreparedCall,
  enter: (claim: ValidClaim) => T,
): Promise<Acquired<T>> {
  await context.renewalThread?.ready();
  const { maxRunTime, waitTimeout, lookUp } = call.settings;
  const waitUntil = context.clock.monotonicNow() + waitTimeout * 1000;
  const terms = { maxRunTime, signal: call.signal };
  let canLookUp = lookUp !== undefined;
  for (;;) {
    const acquired = await acquire<Entered<T>>(context, call, { waitUntil, canLookUp }, (claim) => {
      if (claim.record.phase === "run" || lookUp === undefined) return { turn: enter(claim) };
      return { lookedUp: lookUpUnder(context, claim, terms, lookUp).catch(lostOrThrow) };
    });
    if (!acquired.entered) return acquired;
    const { value } = acquired;
    if ("turn" in value) return { entered: true, value: value.turn };
    // Asked again at once it would say the same.
    if ((await value.lookedUp) === "unknown") canLookUp = false;
  }
}

/** Whoever has taken the question over, or answered it, has written down what counts. */
function lostOrThrow(error: unknown): "lost" {
  if (error instanceof ClaimLostError) return "lost";
  throw error;
}
