import type { JsonValue } from "../documents/contract.js";
import { type CallContext, isoNow } from "./acquiring.js";
import type { ValidClaim } from "./acquisition-decisions.js";
import { answerCaller } from "./answers.js";
import { encodeError } from "./error-codec.js";
import { ClaimLostError } from "./errors.js";
import { classOf, outcomeFor } from "./failure.js";
import { Holding, type ToolCall } from "./holding.js";
import type { PreparedCall } from "./request.js";
import type { ToolCallOutcome } from "./result.js";
import { ownOutcome } from "./result-keeping.js";
import { type ChunkOptions, collectChunks, isAsyncIterable } from "./stream.js";
import type { RecordPut } from "./transition-types.js";
import { complete, fail, release, unknown } from "./transitions.js";
import { acquireTurn } from "./turn.js";

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
  const acquired = await acquireTurn(context, call, (claim) => enterTool(context, call, claim, tool, chunks));
  return acquired.entered ? acquired.value : answerCaller(context, acquired.answer, call.identity.fingerprint);
}

/** Enters the tool in this very turn; everything that waits comes after. */
function enterTool(
  context: CallContext,
  call: PreparedCall,
  claim: ValidClaim,
  tool: Tool<unknown>,
  chunks: ChunkOptions,
): Promise<ToolCallOutcome<unknown>> {
  const holding = new Holding(context, call, claim);
  context.observer.fired(holding.claim);
  const running = runTool(tool, holding.toolCall(), chunks);
  const settled = running.then((ended) => holding.parking ?? recordEnd(context, call, holding, ended));
  // A tool that does not heed its signal must not keep its caller for ever. If it ends after all, its outcome is still
  // written, and accepted unless somebody took over.
  const overdue = new Promise<never>((_, reject) => {
    holding.lease.onOverdue(() => {
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
  holding: Holding,
  ended: Ended,
): Promise<ToolCallOutcome<unknown>> {
  if (ended.how === "threw") {
    await holding.settle(endOfThrow(context, call, holding, ended.error), ended.error);
    throw ended.error;
  }
  const { timing } = call.settings;
  const kept = await context.results.keep(ended.result, call.identity.tool, timing.completedTtl);
  const settled = await holding.settle(complete(holding.claim, kept.stored, isoNow(context.clock)));
  if (ended.listenerError !== undefined) throw ended.listenerError.error;
  return ownOutcome(settled, kept);
}

function endOfThrow(context: CallContext, call: PreparedCall, holding: Holding, thrown: unknown): RecordPut {
  const { tool, key } = call.identity;
  const { claim } = holding;
  // It was told not to begin its effect, and that is what it has thrown.
  if (holding.endedBeforeEffect(thrown)) return release(claim, encodeError(thrown));
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
