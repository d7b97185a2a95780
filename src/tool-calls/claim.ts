import type { JsonValue } from "../documents/contract.js";
import { type CallContext, isoNow } from "./acquiring.js";
import type { ValidClaim } from "./acquisition-decisions.js";
import { answerCaller } from "./answers.js";
import { encodeError } from "./error-codec.js";
import { Holding, type ToolCall } from "./holding.js";
import type { PreparedCall } from "./request.js";
import type { ToolCallOutcome } from "./result.js";
import { ownOutcome } from "./result-keeping.js";
import type { RecordPut } from "./transition-types.js";
import { complete, fail, release, unknown } from "./transitions.js";
import { acquireTurn } from "./turn.js";

/**
 * A claim in the caller's own hands. It is renewed in the background until it is settled or has lasted `maxRunTime`; one
 * of the four ways to settle it must be taken once. Begin the effect only while `isValid()`, and `renew()` otherwise.
 */
export interface Claim<A = JsonValue> extends ToolCall<A> {
  readonly claimed: true;
  /** Renews now. @throws ClaimLostError */
  renew(): Promise<void>;
  /** Done, with this result. @throws ClaimLostError: it was done in vain as far as the record goes */
  complete<T>(result: T): Promise<ToolCallOutcome<T>>;
  /** Definitely not done, and trying again would fail again: later callers get the error until `failedTtl` is over. @throws ClaimLostError */
  fail(error: unknown): Promise<{ readonly persisted: boolean }>;
  /** Certainly not done: the next caller may claim at once. @throws ClaimLostError */
  release(error?: unknown): Promise<{ readonly persisted: boolean }>;
  /** It may have been done: the record's policy decides. @throws ClaimLostError */
  unknown(error: unknown): Promise<{ readonly persisted: boolean }>;
}

/** What somebody else's claim came to. */
export interface NotClaimed extends ToolCallOutcome<unknown> {
  readonly claimed: false;
}

/** Claims a call, or waits for and replays what another claim came to. */
export async function claimCall(context: CallContext, call: PreparedCall): Promise<Claim | NotClaimed> {
  const acquired = await acquireTurn(context, call, (claim) => handleOf(context, call, claim));
  if (acquired.entered) return acquired.value;
  return { claimed: false, ...(await answerCaller(context, acquired.answer, call.identity.fingerprint)) };
}

function handleOf(context: CallContext, call: PreparedCall, claim: ValidClaim): Claim {
  const holding = new Holding(context, call, claim);
  context.observer.fired(holding.claim);
  const endWithout = async (write: RecordPut, cause?: unknown): Promise<{ readonly persisted: boolean }> => {
    const { persisted } = await holding.settle(write, cause);
    return { persisted };
  };
  return {
    claimed: true,
    ...holding.toolCall(),
    renew: () => holding.lease.renew(),
    complete: async <T>(result: T) => {
      const kept = await context.results.keep(result, call.identity.tool, call.settings.timing.completedTtl);
      const settled = await holding.settle(complete(holding.claim, kept.stored, isoNow(context.clock)));
      return ownOutcome(settled, kept) as ToolCallOutcome<T>;
    },
    fail: (error) => endWithout(fail(holding.claim, encodeError(error), isoNow(context.clock)), error),
    release: (error) => endWithout(release(holding.claim, error === undefined ? null : encodeError(error)), error),
    unknown: (error) => endWithout(unknown(holding.claim, encodeError(error)), error),
  };
}
