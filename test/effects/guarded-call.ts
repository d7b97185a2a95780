import { setTimeout as pause } from "node:timers/promises";
import type { DocumentStore } from "../../src/documents/contract.js";
import {
  CallInFlightError,
  NeedsReviewError,
  type ToolCallOutcome,
  type ToolCallRequest,
  type ToolCalls,
  toolCalls,
} from "../../src/tool-calls/index.js";

/**
 * What stands between a doubt and a second effect: `keyed`, the service takes the key; `bare`, nothing, so that only one fire a
 * claim is promised; `review`, somebody has to look.
 */
export type Mode = "keyed" | "bare" | "review";

/** Seconds for which a claim is not renewed before it lapses. */
export const leaseSeconds = 1;

/** The calls of a process, short-lived so that doubts come up. */
export function shortLivedCalls(store: DocumentStore): ToolCalls {
  return toolCalls(store, {
    pendingTtl: leaseSeconds,
    failedTtl: 1,
    waitTimeout: 3,
    maxRunTime: 30,
    completedTtl: 3600,
  });
}

export function requestOf(key: string): ToolCallRequest & { readonly key: string } {
  const mode = modeOf(key);
  return { tool: "have_effect", key, args: { key }, policy: mode === "review" ? "review" : "refire" };
}

export function modeOf(key: string): Mode {
  return key.split("-")[0] as Mode;
}

/** How a call ended for its caller. */
export type Settled =
  | {
      readonly key: string;
      readonly receipt: number;
      readonly wasReplay: boolean;
      /** False: the store was out of reach behind the fire, so that another caller may have fired and kept another receipt. */
      readonly persisted: boolean;
    }
  | { readonly key: string; readonly review: true };

/** Calls until there is an answer: a result, or that somebody has to find out. */
export async function callUntilSettled(calls: ToolCalls, serviceUrl: string, key: string): Promise<Settled> {
  for (;;) {
    try {
      const outcome = await runOnce(calls, serviceUrl, key);
      const { result, was_replay: wasReplay, persisted } = outcome;
      return { key, receipt: result.receipt, wasReplay, persisted };
    } catch (error) {
      if (error instanceof NeedsReviewError) return { key, review: true };
      // The store or the service cannot be reached, the claim was lost, somebody else is at work: the same call again.
      if (!(error instanceof CallInFlightError)) await pause(100);
    }
  }
}

function runOnce(
  calls: ToolCalls,
  serviceUrl: string,
  key: string,
): Promise<ToolCallOutcome<{ readonly receipt: number }>> {
  return calls.run(requestOf(key), async (call) => {
    const response = await fetch(serviceUrl, {
      method: "POST",
      headers: modeOf(key) === "keyed" ? call.headers : {},
      body: JSON.stringify({ key, token: call.fencingToken }),
      signal: call.signal,
    });
    return (await response.json()) as { readonly receipt: number };
  });
}
