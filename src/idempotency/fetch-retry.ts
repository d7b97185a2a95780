/*
 * When a request is sent again. It has a key, so that sending it again is safe where the other side heeds keys; what is
 * decided here is only whether it can help.
 */

/** What one sending came to. */
export type Sent =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly retryAfter: number | undefined;
      readonly replayed: boolean;
    }
  /** No whole answer came. */
  | {
      readonly kind: "failed";
      /** Nothing was sent: there was no connection. */
      readonly unsent: boolean;
    };

export interface RetryBounds {
  /** Sendings after the first. */
  readonly retriesMax: number;
  /** Seconds; an answer that asks for more is given to the caller. */
  readonly retryAfterMax: number;
}

const pauseFirstMs = 200;
const pauseMsMax = 10_000;

/**
 * The pause before the request is sent again, in milliseconds; undefined: it is not. A 409 counts as "in flight" only when
 * it says when to come again: without that it is a conflict, which coming again does not end. A replay is an outcome,
 * whatever its status.
 *
 * @param tries sendings so far
 * @param random from 0 up to but not including 1
 */
export function pauseBeforeRetry(
  sent: Sent,
  tries: number,
  { retriesMax, retryAfterMax }: RetryBounds,
  random: number,
): number | undefined {
  if (tries > retriesMax || !isWorthRetrying(sent)) return undefined;
  const wanted = sent.kind === "answered" ? (sent.retryAfter ?? 0) : 0;
  if (wanted > retryAfterMax) return undefined;
  // Any part of the pause is as likely as any other, so that many clients do not come together.
  return wanted * 1000 + random * Math.min(pauseMsMax, pauseFirstMs * 2 ** Math.min(tries - 1, 16));
}

function isWorthRetrying(sent: Sent): boolean {
  if (sent.kind === "failed") return true;
  if (sent.replayed) return false;
  switch (sent.status) {
    case 409:
      return sent.retryAfter !== undefined;
    case 425:
    case 429:
    case 502:
    case 503:
    case 504:
      return true;
    default:
      return false;
  }
}

/**
 * Whether an answer tells what became of an earlier sending whose outcome is not known. Only who has looked the key up can
 * tell: a success, a replay, and the two refusals of keys, 409 and 422. Every other 4xx may come from before that look (an
 * expired token, a proxy, a bound), and says of this sending alone that it was not carried out. A 5xx says "not known"
 * itself.
 */
export function tellsOfEarlier({ status, replayed }: Extract<Sent, { readonly kind: "answered" }>): boolean {
  return replayed || status < 400 || status >= 500 || status === 409 || status === 422;
}

/** Whether a sending that came to this may have been carried out. */
export function mayBeCarriedOut(sent: Sent): boolean {
  if (sent.kind === "failed") return !sent.unsent;
  return sent.status >= 500 || sent.status === 409;
}

/**
 * Seconds from the header `Retry-After`, a number of them or a date; undefined when it says nothing of use.
 *
 * @param wallNow milliseconds since 1970
 */
export function parseRetryAfter(header: string | null, wallNow: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - wallNow) / 1000);
}
