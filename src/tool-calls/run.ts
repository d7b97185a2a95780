import type { JsonValue } from "../documents/contract.js";
import { acquire, type CallContext, isoNow } from "./acquiring.js";
import type { ValidClaim } from "./acquisition-decisions.js";
import { answerCaller } from "./answers.js";
import { encodeError } from "./error-codec.js";
import { ClaimLostError } from "./errors.js";
import { classOf, outcomeFor } from "./failure.js";
import { headerKeyOf } from "./keys.js";
import { Lease } from "./lease.js";
import type { PreparedCall } from "./request.js";
import { encodeResult, outcomeOf, type ToolCallOutcome } from "./result.js";
import { settle } from "./settling.js";
import { type ChunkOptions, collectChunks, isAsyncIterable } from "./stream.js";
import type { HeldClaim, RecordPut } from "./transition-types.js";
import { complete, fail, release, renew, unknown } from "./transitions.js";

/** What a tool is given: the call it is entered for. */
export interface ToolCall<A = JsonValue> {
  readonly tool: string;
  /** A copy of the arguments. */
  readonly args: A;
  /** The whole key. Whatever the tool calls should get it, so that its effect is one as well. */
  readonly key: string;
  /** 1 for the first claim of this key within its window. */
  readonly attempt: number;
  /** The revision of the claim: whoever accepts only growing ones is safe from a late holder. */
  readonly fencingToken: number;
  /** `Idempotency-Key` for a request: the key, or a hash of it when it is longer than 255 characters or not all ASCII. */
  readonly headers: { readonly "Idempotency-Key": string };
  /** Aborts when the claim is not surely held any more, when the tool has run for too long, and when the caller gives up. */
  readonly signal: AbortSignal;
  /** Whether the claim surely holds at this instant: to be asked right before an effect that comes late in a long tool. */
  isValid(): boolean;
}

/** A tool: its result, a promise of it, or a stream of chunks. */
export type Tool<R, A = JsonValue> = (call: ToolCall<A>) => R;

/** How a tool ended, and what its caller's own `onChunk` threw, if it did. */
type Ended = (
  | { readonly how: "returned"; readonly result: unknown }
  | { readonly how: "threw"; readonly error: unknown }
) & { readonly listenerError?: { readonly error: unknown } | undefined };

/** Runs a call: claims it and enters the tool, or waits for and replays what another claim came to. */
export async function runCall(
  context: CallContext,
  call: PreparedCall,
  tool: Tool<unknown>,
  chunks: ChunkOptions,
): Promise<ToolCallOutcome<unknown>> {
  const acquired = await acquire(context, call, (claim) => enterTool(context, call, claim, tool, chunks));
  return acquired.entered ? acquired.value : answerCaller(acquired.answer, call.identity.fingerprint);
}

/** Enters the tool in this very turn; everything that waits comes after. */
function enterTool(
  context: CallContext,
  call: PreparedCall,
  claim: ValidClaim,
  tool: Tool<unknown>,
  chunks: ChunkOptions,
): Promise<ToolCallOutcome<unknown>> {
  const lease = holdLease(context, call, claim);
  const running = runTool(tool, toolCallOf(call, claim, lease), chunks);
  const settled = running.then((ended) => {
    lease.end();
    return recordEnd(context, call, claim, ended);
  });
  // A tool that does not heed its signal must not keep its caller for ever. If it ends after all, its outcome is still
  // written, and accepted unless somebody took over.
  const overdue = new Promise<never>((_, reject) => {
    lease.onOverdue(() => {
      const reason = `the tool has run for more than ${call.settings.maxRunTime} seconds and has not ended`;
      reject(new ClaimLostError(call.identity.key, reason, undefined));
    });
  });
  return Promise.race([settled, overdue]);
}

/** Never rejects. The tool is entered before this returns, also when it throws at once. */
async function runTool(tool: Tool<unknown>, call: ToolCall, chunks: ChunkOptions): Promise<Ended> {
  try {
    const result = await tool(call);
    if (!isAsyncIterable(result)) return { how: "returned", result };
    return { how: "returned", ...(await collectChunks(result, chunks)) };
  } catch (error) {
    return { how: "threw", error };
  }
}

/** Writes down how the tool ended, and tells the caller. */
async function recordEnd(
  context: CallContext,
  call: PreparedCall,
  claim: HeldClaim,
  ended: Ended,
): Promise<ToolCallOutcome<unknown>> {
  const { timing } = claim;
  if (ended.how === "threw") {
    await settle(context, endOfThrow(context, call, claim, ended.error), timing, { cause: ended.error });
    throw ended.error;
  }
  const result = encodeResult(ended.result, context.limits);
  const { record, persisted } = await settle(context, complete(claim, result, isoNow(context.clock)), timing);
  if (ended.listenerError !== undefined) throw ended.listenerError.error;
  return outcomeOf(record, { was_replay: false, persisted, live: ended.result });
}

function endOfThrow(context: CallContext, call: PreparedCall, claim: HeldClaim, thrown: unknown): RecordPut {
  const { tool, key } = call.identity;
  const failure = classOf(thrown, { tool, key, attempt: claim.record.attempt }, call.settings.classify);
  const error = encodeError(thrown);
  switch (outcomeFor(failure, claim.record)) {
    case "failed":
      return fail(claim, error, isoNow(context.clock));
    case "retryable":
      return release(claim, error);
    case "unknown":
      return unknown(claim, error);
  }
}

/** Keeps the claim for as long as it is worked under. */
export function holdLease(context: CallContext, call: PreparedCall, claim: ValidClaim): Lease {
  const { records, clock, leases } = context;
  const lease: Lease = new Lease(claim, {
    clock,
    maxRunTime: call.settings.maxRunTime,
    callerSignal: call.signal,
    renew: (held) => records.write(call.identity.key, renew(held, isoNow(clock))),
    onEnd: () => leases.delete(lease),
  });
  leases.add(lease);
  return lease;
}

export function toolCallOf(call: PreparedCall, claim: ValidClaim, lease: Lease): ToolCall {
  const { tool, key } = call.identity;
  return {
    tool,
    args: call.args,
    key,
    attempt: claim.record.attempt,
    fencingToken: claim.fencingToken,
    headers: { "Idempotency-Key": headerKeyOf(key) },
    signal: lease.signal,
    isValid: () => lease.isValid(),
  };
}
