import type { ToolCallRecord } from "./record.js";

/*
 * What a throw says about the effect. A wrong "failed" or "retryable" costs a doubled effect or a lost one, a wrong
 * "unknown" only a question; so only what is certain is classed, and the rest is unknown.
 */

/**
 * - `failed`: definite, no effect, and trying again would fail again. Stored, and answered to later callers.
 * - `retryable`: certainly not done. Released at once.
 * - `unknown`: it may have been done.
 */
export type FailureClass = "failed" | "retryable" | "unknown";

/** What the classifier may look at besides the error. */
export interface FailedCall {
  readonly tool: string;
  readonly key: string;
  readonly attempt: number;
}

/** Classes what a tool threw; undefined: no opinion, `classifyFailure` decides. */
export type FailureClassifier = (error: unknown, call: FailedCall) => FailureClass | undefined;

/** How far the chain of causes is followed. */
const causesMax = 8;

/**
 * The default classifier. It looks at the error and then along its causes; the first that says something decides:
 *
 * - an `outcome` of `"failed"`, `"retryable"` or `"unknown"` on the error is the tool's own word;
 * - an HTTP status (`status`, `statusCode`, `response.status`): 4xx is `failed`, but 425 and 429 are `retryable` (the
 *   server says that it did not process the request), and 408 and 409 are `unknown` (409 may mean that the same
 *   Idempotency-Key is being worked on). All of 5xx is `unknown`: gateways say 502, 503 and 504 after the server behind
 *   them has acted as well as before;
 * - an error of the network that happened before anything was sent (the name was not found, the connection was refused or
 *   could not be opened) is `retryable`;
 * - everything else, timeouts, aborts and resets included, is `unknown`.
 *
 * It takes a tool to have one effect, made by the request that failed. A tool whose second request fails may have had the
 * effect of the first: give each effect its own call, or a classifier of your own.
 */
export function classifyFailure(error: unknown): FailureClass {
  let current = error;
  for (let depth = 0; depth < causesMax && isObject(current); depth++) {
    const found = ownWord(current) ?? byStatus(current) ?? byNetworkCode(current);
    if (found !== undefined) return found;
    current = read(current, "cause");
  }
  return "unknown";
}

/** The class of a throw: the given classifier's, or the default's. A classifier that throws itself knows nothing. */
export function classOf(error: unknown, call: FailedCall, classifier: FailureClassifier | undefined): FailureClass {
  let given: unknown;
  try {
    given = classifier?.(error, call);
  } catch {
    return "unknown";
  }
  return isFailureClass(given) ? given : classifyFailure(error);
}

/**
 * What is written for a throw of that class. Without marks the claim itself counts as the mark of the effect. With them,
 * what is thrown before the mark certainly had no effect, which is enough for a record that lets the next caller fire.
 */
export function outcomeFor(failure: FailureClass, record: ToolCallRecord): FailureClass {
  if (failure !== "unknown" || !record.marks || record.fired_at !== null) return failure;
  return record.policy === "refire" ? "failed" : "unknown";
}

function ownWord(error: object): FailureClass | undefined {
  const outcome = read(error, "outcome");
  return isFailureClass(outcome) ? outcome : undefined;
}

function byStatus(error: object): FailureClass | undefined {
  const response = read(error, "response");
  const status = [
    read(error, "status"),
    read(error, "statusCode"),
    isObject(response) && read(response, "status"),
  ].find((each) => typeof each === "number");
  if (typeof status !== "number" || status < 400 || status > 599) return undefined;
  if (status === 425 || status === 429) return "retryable";
  return status >= 500 || status === 408 || status === 409 ? "unknown" : "failed";
}

/** Codes that say by themselves that no connection came about. */
const unconnectedCodes: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function byNetworkCode(error: object): FailureClass | undefined {
  if (unconnectedCodes.has(read(error, "code"))) return "retryable";
  // The others (ETIMEDOUT, EHOSTUNREACH) happen on open connections too: only the system call tells.
  const systemCall = read(error, "syscall");
  return systemCall === "connect" || systemCall === "getaddrinfo" ? "retryable" : undefined;
}

function isFailureClass(value: unknown): value is FailureClass {
  return value === "failed" || value === "retryable" || value === "unknown";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** A member of an object that may be anything: a getter that throws has nothing to say. */
function read(object: object, name: string): unknown {
  try {
    return Reflect.get(object, name);
  } catch {
    return undefined;
  }
}
