import type { EmittedCall } from "./emitted-call.js";
import type { Arrival } from "./mail-service.js";
import type { Answer } from "./worker-messages.js";

/*
 * Whether every effect happened once. What should have happened is worked out here from the calls alone, with nothing of
 * the product's: neither its keys nor its canonical JSON nor what its workers say.
 */

/** A call and what its caller was told. */
export interface AnsweredCall {
  readonly call: EmittedCall;
  readonly answer: Answer;
}

export interface Verdict {
  readonly expectedEffects: number;
  readonly effects: number;
  readonly duplicates: number;
  /** Arrivals whose key the mail service had seen; each needs a crash after the effect as its reason. */
  readonly refusedByKey: number;
  /** What is wrong, in sentences; empty: nothing. */
  readonly faults: readonly string[];
}

/** @param crashesAfterEffect workers killed between their effect and their `complete`: each may fire once more */
export function judge(
  answered: readonly AnsweredCall[],
  arrivals: readonly Arrival[],
  crashesAfterEffect: number,
): Verdict {
  const expected = expectedContents(answered.map(({ call }) => call));
  const delivered = count(arrivals.filter((arrival) => arrival.delivered).map(({ content }) => canonical(content)));
  const faults: string[] = [];
  let duplicates = 0;
  for (const [content, times] of delivered) {
    const extra = times - (expected.get(content) ?? 0);
    if (extra > 0) duplicates += extra;
    if (extra > 0) faults.push(`sent ${extra} too many: ${content}`);
  }
  for (const [content, times] of expected) {
    const missing = times - (delivered.get(content) ?? 0);
    if (missing > 0) faults.push(`sent ${missing} too few: ${content}`);
  }
  const refusedByKey = arrivals.filter((arrival) => !arrival.delivered).length;
  if (refusedByKey > crashesAfterEffect) {
    faults.push(`${refusedByKey} calls fired a second time; ${crashesAfterEffect} crashes explain no more than that`);
  }
  faults.push(...answerFaults(answered));
  return { expectedEffects: sum(expected), effects: sum(delivered), duplicates, refusedByKey, faults };
}

/** How often each content should be sent: once for each intent, however often the intent was called. */
function expectedContents(calls: readonly EmittedCall[]): Map<string, number> {
  const intents = new Map<string, string>();
  for (const call of calls) {
    // Of two calls with one key and different arguments the first is right: the other came after it was answered.
    if (!intents.has(intentOf(call))) intents.set(intentOf(call), contentOf(call));
  }
  return count(intents.values());
}

/** Everybody who meant the same must have been told of the same message, and only the mistake of a conflict. */
function answerFaults(answered: readonly AnsweredCall[]): string[] {
  const faults: string[] = [];
  const first = new Map<string, { content: string; messageId: string | undefined }>();
  for (const { call, answer } of answered) {
    const intent = first.get(intentOf(call)) ?? { content: contentOf(call), messageId: undefined };
    first.set(intentOf(call), intent);
    const isMistake = intent.content !== contentOf(call);
    if (isMistake !== (answer.kind === "conflict")) faults.push(`answered ${answer.kind}: ${describe(call)}`);
    else if (answer.kind === "error") faults.push(`ended with ${answer.message}: ${describe(call)}`);
    else if (answer.kind !== "conflict") {
      intent.messageId ??= answer.messageId;
      if (intent.messageId !== answer.messageId) faults.push(`told of another message: ${describe(call)}`);
    }
  }
  return faults;
}

function intentOf(call: EmittedCall): string {
  return call.key === undefined ? `${call.turn} ${contentOf(call)}` : `${call.tool} with the key ${call.key}`;
}

function contentOf({ tool, args }: EmittedCall): string {
  return canonical(JSON.stringify({ tool, args }));
}

/** A JSON text with all members in the order of their names. */
function canonical(json: string): string {
  return JSON.stringify(JSON.parse(json), (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

function describe({ why, tool, args }: EmittedCall): string {
  return `${tool} ${JSON.stringify(args)} (${why})`;
}

function count(contents: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const content of contents) counts.set(content, (counts.get(content) ?? 0) + 1);
  return counts;
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, times) => total + times, 0);
}
