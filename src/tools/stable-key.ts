import { InvalidRequestError } from "../base/errors.js";
import { kindOf } from "../documents/value-kind.js";

/*
 * A key that changes from try to try recognises no retry, and says so to nobody: every call is then a new one. Random keys
 * and fast clocks give themselves away when the key is made twice; a slower clock by naming a moment near now.
 */

/** How near to now a moment in a key must be to be taken for a clock's, in milliseconds. */
const nearMs = 5 * 60_000;

/**
 * Calls a function that makes a key, or a scope, of the arguments.
 *
 * @param make called twice
 * @param path names what is made: "key"
 * @param argsText the arguments' JSON: a moment that stands there as well is the caller's, and the same for a retry
 * @param now the wall clock, milliseconds since 1970
 * @throws InvalidRequestError when it makes no text, or one that a retry would not have; what `make` throws
 */
export function makeStable(make: () => unknown, path: string, argsText: string, now: number): string {
  const made = make();
  const again = make();
  if (typeof made !== "string") throw new InvalidRequestError(path, `must make a string, not ${kindOf(made)}`);
  if (made === "") throw new InvalidRequestError(path, "must not make an empty string");
  if (made !== again) {
    throw new InvalidRequestError(path, "is another one each time it is made: no retry would be recognised");
  }
  const moment = momentNear(made, argsText, now);
  if (moment === undefined) return made;
  throw new InvalidRequestError(
    path,
    `contains the time, ${JSON.stringify(moment)}: no retry would be recognised. Make it of the arguments`,
  );
}

/** A moment within five minutes of now that stands in a text and not in the arguments; undefined: there is none. */
export function momentNear(text: string, argsText: string, now: number): string | undefined {
  for (const [written] of text.matchAll(momentPattern)) {
    const moment = instantOf(written);
    if (Math.abs(moment - now) <= nearMs && !argsText.includes(written)) return written;
  }
  return undefined;
}

/** Seconds or milliseconds since 1970 with no other digit next to them, and ISO 8601. */
const momentPattern = /(?<!\d)(?:\d{10}|\d{13}|\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?Z?)(?!\d)/g;

function instantOf(written: string): number {
  if (written.includes("T")) return Date.parse(written.endsWith("Z") ? written : `${written}Z`);
  return Number(written) * (written.length === 10 ? 1000 : 1);
}
