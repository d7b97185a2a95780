import { OnceKvError } from "../src/base/errors.js";
import { systemCode } from "./address.js";
import type { Refusal } from "./problem.js";

/**
 * What to do when a request was not answered as it should be: a pure decision, carried out by `transport.ts`.
 *
 * Sending the same request again is safe for reads, and for writes because each carries an id by which the server knows
 * it again and repeats its first answer. What must never happen is a guess: once a request that may have been applied
 * has gone unanswered, only an answer that settles that very write may end the call with anything but "outcome unknown".
 */
export type Fault =
  /** Nothing was sent: no connection could be made. */
  | { readonly kind: "unsent"; readonly cause: unknown }
  /** It was sent, in part at least, and no whole answer came. */
  | { readonly kind: "lost"; readonly cause: unknown }
  /** It was answered, but not with what was asked for. */
  | ({ readonly kind: "refused" } & Refusal);

export interface RetryState {
  /** Requests sent so far, this one included. */
  readonly attempt: number;
  /** Since the call began. */
  readonly elapsedMs: number;
  readonly budgetMs: number;
  /** Whether the call writes. */
  readonly write: boolean;
  /** Whether an earlier request of this call may have been applied. */
  readonly mayBeApplied: boolean;
  /** Nothing is sent again once the client closes. */
  readonly closing: boolean;
}

export type RetryDecision =
  | { readonly kind: "retry"; readonly delayMs: number }
  /** The caller is told: that the server cannot be reached, that the outcome is not known, or what the server said. */
  | { readonly kind: "give_up"; readonly as: "unavailable" | "outcome_unknown" | "refusal" };

/** @param random from 0 up to but not including 1 */
export function decideRetry(fault: Fault, state: RetryState, random: number): RetryDecision {
  if (!state.closing && isWorthRetrying(fault)) {
    const delayMs = retryAfterMs(fault) + backoffMs(state.attempt, random);
    if (state.elapsedMs + delayMs <= state.budgetMs) return { kind: "retry", delayMs };
  }
  if (state.write && (state.mayBeApplied || mayHaveApplied(fault)) && !settlesTheWrite(fault)) {
    return { kind: "give_up", as: "outcome_unknown" };
  }
  return { kind: "give_up", as: fault.kind === "refused" ? "refusal" : "unavailable" };
}

const backoffFirstMs = 50;
const backoffMsMax = 2000;

/** Doubles with every attempt, and any part of it is as likely as any other, so that many clients do not come together. */
export function backoffMs(attempt: number, random: number): number {
  return random * Math.min(backoffMsMax, backoffFirstMs * 2 ** Math.min(attempt - 1, 16));
}

/** Whether this fault leaves it open that its request was applied. */
export function mayHaveApplied(fault: Fault): boolean {
  switch (fault.kind) {
    case "unsent":
      return false;
    case "lost":
      return true;
    case "refused":
      // The store says itself when it does not know, and a fault in the server can come after the commit. A proxy that gave up on the server behind it does not know either;
      // what it refuses by itself it has not passed on.
      return fault.fromStore
        ? fault.error.code === "outcome_unknown" || fault.error.code === "internal"
        : fault.status >= 500 || fault.status === 408;
  }
}

/** Whether the fault is an answer to this very write, by its id, or depends on nothing but the request itself. */
function settlesTheWrite(fault: Fault): boolean {
  if (fault.kind !== "refused" || !fault.fromStore) return false;
  switch (fault.error.code) {
    case "precondition_failed":
    case "not_found":
    case "write_id_conflict":
    case "invalid_request":
    case "too_large":
      return true;
    default:
      return false;
  }
}

function isWorthRetrying(fault: Fault): boolean {
  switch (fault.kind) {
    case "unsent":
      return !isPermanent(fault.cause);
    case "lost":
      return true;
    case "refused":
      return fault.fromStore
        ? fault.error.retryable && (fault.error.status === 503 || fault.error.code === "rate_limited")
        : [408, 429, 502, 503, 504].includes(fault.status);
  }
}

/** A certificate that is wrong stays wrong, and so does a request that could not be formed. */
function isPermanent(cause: unknown): boolean {
  if (cause instanceof OnceKvError) return true;
  const code = systemCode(cause);
  return (
    code !== undefined &&
    /^(?:CERT_|EPROTO|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|UND_ERR_INVALID)/.test(code)
  );
}

function retryAfterMs(fault: Fault): number {
  return fault.kind === "refused" ? (fault.retryAfter ?? 0) * 1000 : 0;
}

/**
 * Seconds from the header `Retry-After`, a number of them or a date; undefined when it says nothing of use.
 *
 * @param wallNow milliseconds since 1970
 */
export function parseRetryAfter(header: string | undefined, wallNow: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - wallNow) / 1000);
}
