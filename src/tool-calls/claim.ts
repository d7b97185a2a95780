import { InvalidRequestError } from "../base/errors.js";
import type { JsonValue } from "../documents/contract.js";
import { acquire, type CallContext, isoNow } from "./acquiring.js";
import type { ValidClaim } from "./acquisition-decisions.js";
import { answerCaller } from "./answers.js";
import { encodeError } from "./error-codec.js";
import type { PreparedCall } from "./request.js";
import { encodeResult, outcomeOf, type ToolCallOutcome } from "./result.js";
import { holdLease, type ToolCall, toolCallOf } from "./run.js";
import { type Settled, settle } from "./settling.js";
import type { HeldClaim, RecordPut } from "./transition-types.js";
import { complete, fail, release, unknown } from "./transitions.js";

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
  const acquired = await acquire(context, call, (claim) => handleOf(context, call, claim));
  if (acquired.entered) return acquired.value;
  return { claimed: false, ...answerCaller(acquired.answer, call.identity.fingerprint) };
}

function handleOf(context: CallContext, call: PreparedCall, claim: ValidClaim): Claim {
  const lease = holdLease(context, call, claim);
  let open = true;
  const end = async (write: RecordPut, cause?: unknown): Promise<Settled> => {
    if (!open)
      throw new InvalidRequestError("", `the claim on ${JSON.stringify(call.identity.key)} was settled before`);
    open = false;
    lease.end();
    return settle(context, write, claim.timing, cause === undefined ? {} : { cause });
  };
  const endWithout = async (write: RecordPut, cause?: unknown): Promise<{ readonly persisted: boolean }> => {
    const { persisted } = await end(write, cause);
    return { persisted };
  };
  const held: HeldClaim = claim;
  return {
    claimed: true,
    ...toolCallOf(call, claim, lease),
    renew: () => lease.renew(),
    complete: async <T>(result: T) => {
      const stored = encodeResult(result, context.limits);
      const { record, persisted } = await end(complete(held, stored, isoNow(context.clock)));
      return outcomeOf(record, { was_replay: false, persisted, live: result }) as ToolCallOutcome<T>;
    },
    fail: (error) => endWithout(fail(held, encodeError(error), isoNow(context.clock)), error),
    release: (error) => endWithout(release(held, error === undefined ? null : encodeError(error)), error),
    unknown: (error) => endWithout(unknown(held, encodeError(error)), error),
  };
}
