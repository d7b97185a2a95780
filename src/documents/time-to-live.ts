import { InvalidRequestError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import { shown } from "./request-members.js";

/**
 * Judges a ttl in seconds and returns it in whole milliseconds, at least 1; null, for ever, stays null.
 *
 * @throws InvalidRequestError for everything else: 0, a negative number, NaN, text, and what is beyond
 * `limits.ttlSecondsMin` and `limits.ttlSecondsMax`
 */
export function checkTtl(value: unknown, path: string, limits: Limits): number | null {
  if (value === null) return null;
  if (typeof value !== "number" || !(value >= limits.ttlSecondsMin && value <= limits.ttlSecondsMax)) {
    throw new InvalidRequestError(
      path,
      `must be ${limits.ttlSecondsMin} to ${limits.ttlSecondsMax} seconds, or null for ever, not ${shown(value)}`,
    );
  }
  return Math.max(1, Math.round(value * 1000));
}
