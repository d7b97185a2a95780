import { onAbort } from "../base/abort-signal.js";
import { type Clock, systemClock } from "../base/clock.js";
import { InvalidRequestError, OutcomeUnknownError } from "../base/errors.js";
import { checkFunction, readMembers, shown } from "../documents/request-members.js";
import { ClaimLostError } from "../tool-calls/errors.js";
import { classifyFailure } from "../tool-calls/failure.js";
import type { ToolCall } from "../tool-calls/holding.js";
import {
  mayBeCarriedOut,
  parseRetryAfter,
  pauseBeforeRetry,
  type RetryBounds,
  type Sent,
  tellsOfEarlier,
} from "./fetch-retry.js";
import { type RepeatableRequest, repeatableRequest } from "./repeatable-request.js";

/** Of a call, what a request under it needs: a tool's call, a claim, or a handler's `request.idempotency`. */
export type FetchingCall = Pick<ToolCall, "key" | "headers" | "signal" | "isValid">;

/** `fetch`, or what is used in its place. */
export type FetchFunction = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface IdempotentFetchOptions {
  /** Sendings after the first, 4 when absent, at most 20. */
  readonly retries?: number | undefined;
  /** The longest `Retry-After` that is waited for, in seconds, 60 when absent; an answer that asks for more is returned. */
  readonly retryAfterMax?: number | undefined;
  /** The global `fetch` when absent. */
  readonly fetch?: FetchFunction | undefined;
  readonly clock?: Clock | undefined;
  /** From 0 up to but not including 1; `Math.random` when absent. */
  readonly random?: (() => number) | undefined;
}

/**
 * `fetch` for the effect of a call: sends its `Idempotency-Key`, the same with every retry, so that an API that heeds such
 * keys carries the request out once. Network faults, 425, 429, 502, 503, 504, and 409 with `Retry-After` (somebody is at
 * work on that key) are tried again, with growing pauses, as long as the claim surely holds.
 *
 * One call is one effect: a tool that makes two requests needs two keys, and so two calls.
 *
 * @returns the last answer, of whatever status; `wasReplayed` tells whether it is that of an earlier request
 * @throws ClaimLostError when the claim does not hold to begin with: nothing was sent
 * @throws OutcomeUnknownError when an earlier try may have been carried out and the last one does not tell: it failed, or
 * was refused with a 4xx that does not prove that the key was looked up (all but 409, 422 and replays). The status is in the
 * message, and the `status` of the cause
 * @throws InvalidRequestError, the reason of a signal, and what `fetch` throws when no more is tried
 */
export async function idempotentFetch(
  call: FetchingCall,
  input: string | URL | Request,
  init: RequestInit = {},
  options: IdempotentFetchOptions = {},
): Promise<Response> {
  const settings = resolve(options);
  const request = await repeatableRequest(input, init, call.headers["Idempotency-Key"]);
  const signal = request.signal === undefined ? call.signal : AbortSignal.any([call.signal, request.signal]);
  signal.throwIfAborted();
  if (!call.isValid()) {
    throw new ClaimLostError(call.key, "it did not surely hold when the request was to be sent", undefined);
  }
  let mayHaveActed = false;
  for (let tries = 1; ; tries++) {
    const result = await sendOnce(request, signal, settings);
    // Also an answer that arrived in time: whoever has aborted asks for no more of it.
    if (!("response" in result)) signal.throwIfAborted();
    const { sent } = result;
    const pauseMs = pauseBeforeRetry(sent, tries, settings.bounds, settings.random());
    if (pauseMs !== undefined && (await mayGoOn(call, signal, pauseMs, settings.clock))) {
      mayHaveActed ||= mayBeCarriedOut(sent);
      if ("response" in result) await result.response.body?.cancel().catch(() => {});
      continue;
    }
    if ("response" in result) {
      const { response } = result;
      if (!mayHaveActed || tellsOfEarlier(result.sent)) return response;
      await response.body?.cancel().catch(() => {});
      throw new OutcomeUnknownError(
        `an earlier try may have been carried out, and the last was answered ${response.status}, which does not tell`,
        { cause: Object.assign(new Error(`answered ${response.status}`), { status: response.status }) },
      );
    }
    if (!mayHaveActed) throw result.error;
    throw new OutcomeUnknownError("an earlier try may have been carried out; the last one failed", {
      cause: result.error,
    });
  }
}

/** Whether an answer is that of an earlier request with the same key, by its header `Idempotent-Replayed`. */
export function wasReplayed(response: Pick<Response, "headers">): boolean {
  return response.headers.get("idempotent-replayed")?.toLowerCase() === "true";
}

interface Settings {
  readonly bounds: RetryBounds;
  readonly fetch: FetchFunction;
  readonly clock: Clock;
  readonly random: () => number;
}

type Result =
  | { readonly sent: Extract<Sent, { readonly kind: "answered" }>; readonly response: Response }
  | { readonly sent: Extract<Sent, { readonly kind: "failed" }>; readonly error: unknown };

/** Rejects never. */
async function sendOnce(
  { input, init }: RepeatableRequest,
  signal: AbortSignal,
  { fetch, clock }: Settings,
): Promise<Result> {
  try {
    const response = await fetch(input, { ...init, signal });
    const retryAfter = parseRetryAfter(response.headers.get("retry-after"), clock.wallNow());
    const replayed = wasReplayed(response);
    return { sent: { kind: "answered", status: response.status, retryAfter, replayed }, response };
  } catch (error) {
    return { sent: { kind: "failed", unsent: classifyFailure(error) === "retryable" }, error };
  }
}

/** Pauses. @throws the reason of the signal */
async function mayGoOn(call: FetchingCall, signal: AbortSignal, pauseMs: number, clock: Clock): Promise<boolean> {
  signal.throwIfAborted();
  await new Promise<void>((resolve) => {
    const stop = onAbort(signal, () => {
      cancel();
      resolve();
    });
    const cancel = clock.setTimer(
      pauseMs,
      () => {
        stop();
        resolve();
      },
      { keepAlive: true },
    );
  });
  signal.throwIfAborted();
  return call.isValid();
}

const optionNames: ReadonlySet<string> = new Set(["retries", "retryAfterMax", "fetch", "clock", "random"]);

function resolve(options: IdempotentFetchOptions): Settings {
  readMembers(options, "", "the options", optionNames);
  const {
    retries = 4,
    retryAfterMax = 60,
    fetch = globalThis.fetch,
    clock = systemClock,
    random = Math.random,
  } = options;
  if (!Number.isInteger(retries) || retries < 0 || retries > 20) {
    throw new InvalidRequestError("retries", `must be an integer, 0 to 20, not ${shown(retries)}`);
  }
  if (typeof retryAfterMax !== "number" || !(retryAfterMax >= 0)) {
    throw new InvalidRequestError("retryAfterMax", `must be a number of seconds from 0, not ${shown(retryAfterMax)}`);
  }
  checkFunction(fetch, "fetch");
  checkFunction(random, "random");
  return { bounds: { retriesMax: retries, retryAfterMax }, fetch, clock, random };
}
