import type { CallContext } from "./acquiring.js";
import { answerCaller } from "./answers.js";
import { decideWait } from "./decisions.js";
import type { ToolCallIdentity } from "./record.js";
import type { ToolCallOutcome } from "./result.js";

/** Which call to wait for, and how long. */
export interface Awaiting {
  readonly key: string;
  /** The call whose arguments are compared; undefined: whatever has the key. */
  readonly identity: Pick<ToolCallIdentity, "tool" | "fingerprint"> | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Waits for what a call comes to, without ever claiming it.
 *
 * @returns undefined when there is no record, or it goes
 * @throws the errors of `run`, `CallInFlightError` when the time is over, what the store throws, the signal's reason
 */
export async function awaitOutcome(
  context: CallContext,
  awaiting: Awaiting,
): Promise<ToolCallOutcome<unknown> | undefined> {
  const { records, clock } = context;
  const { key, identity, timeoutMs, signal } = awaiting;
  const end = clock.monotonicNow() + timeoutMs;
  signal?.throwIfAborted();
  let seen = await records.read(key);
  for (;;) {
    signal?.throwIfAborted();
    if (seen === undefined) return undefined;
    const decision = decideWait(seen, identity);
    if (decision.decision === "answer") return answerCaller(context, decision.answer, identity?.fingerprint ?? "");
    const leftMs = end - clock.monotonicNow();
    if (leftMs <= 0) return answerCaller(context, { answer: "in_flight", seen }, "");
    const lapseInMs = decision.lapseInMs ?? leftMs;
    seen = await records.waitFor(key, { after: seen.revision, timeoutMs: Math.min(leftMs, lapseInMs), signal });
  }
}
