import { InvalidRequestError, TooLargeError } from "../src/base/errors.js";
import type { Limits } from "../src/base/limits.js";
import type { ToolCallRequest } from "../src/tool-calls/index.js";
import type { ClaimBody } from "./schemas/tool-call-requests.js";

/** Options of TypeScript callers, and what they are called in requests. */
const requestWords: { readonly [option: string]: string } = {
  pendingTtl: "pending_ttl",
  completedTtl: "completed_ttl",
  failedTtl: "failed_ttl",
  waitTimeout: "wait",
  target: "key",
  id: "key",
};

/** Seconds to wait for somebody else's claim, and to remember an outcome, where the request does not say. */
const defaultWait = 30;
const defaultCompletedTtl = 3600;

/** The request of a claim, as TypeScript callers put it. @throws InvalidRequestError */
export function callRequest(body: ClaimBody, limits: Limits): ToolCallRequest & { readonly waitTimeout: number } {
  const { pending_ttl, completed_ttl, failed_ttl, wait, owner: _owner, claim_id: _claimId, ...call } = body;
  return {
    ...call,
    ...(pending_ttl === undefined ? {} : { pendingTtl: pending_ttl }),
    ...(completed_ttl === undefined ? {} : { completedTtl: completed_ttl }),
    ...(failed_ttl === undefined ? {} : { failedTtl: failed_ttl }),
    waitTimeout:
      wait === undefined
        ? Math.min(defaultWait, completed_ttl ?? defaultCompletedTtl)
        : checkWait(wait, "wait", limits),
  };
}

/** Judges how long somebody wants to wait, in seconds; 0 is not at all. @throws InvalidRequestError */
export function checkWait(seconds: number, path: string, limits: Limits): number {
  if (seconds >= 0 && seconds <= limits.waitSecondsMax) return seconds;
  throw new InvalidRequestError(path, `must be 0 to ${limits.waitSecondsMax} seconds, not ${seconds}`);
}

/** Carries `work` out; what it finds wrong with a request is said with the names that requests have here. */
export async function inRequestWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // What was sent is a part of the record, whose fields are what the store has judged.
    if (error instanceof TooLargeError && error.path === "set") {
      throw new TooLargeError(
        "",
        error.message.replace(/^set: the document's fields take/, "the record of the call takes"),
      );
    }
    if (!(error instanceof InvalidRequestError)) throw error;
    const { path = "", message } = error;
    const problem = path !== "" && message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message;
    const word = requestWords[path];
    if (word === undefined) throw error;
    throw new InvalidRequestError(word, reworded(problem), { cause: error });
  }
}

function reworded(text: string): string {
  return text.replace(/\b[a-z]+(?:[A-Z][a-z]+)?\b/g, (word) => requestWords[word] ?? word);
}
