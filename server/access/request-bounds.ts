import { InvalidRequestError } from "../../src/base/errors.js";

const perSecondMax = 1_000_000;
const atOnceMax = 1_000_000;

/** Judges a rate. @throws InvalidRequestError */
export function checkPerSecond(value: unknown, path: string): number {
  if (typeof value === "number" && value > 0 && value <= perSecondMax) return value;
  throw new InvalidRequestError(path, `must be a number of requests above 0, at most ${perSecondMax}`);
}

/** Judges a number of requests at the same time. @throws InvalidRequestError */
export function checkAtOnce(value: unknown, path: string): number {
  if (Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= atOnceMax) return Number(value);
  throw new InvalidRequestError(path, `must be a whole number of requests from 1 to ${atOnceMax}`);
}
