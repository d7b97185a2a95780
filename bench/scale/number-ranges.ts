/*
 * What the numbers of a store's documents mean: those from 0 up were loaded, and claims and ids that are never written
 * lie apart from them. See `numbered-documents.ts`.
 */

/** The numbers of claims begin here, those of each opening of a store a stretch further. */
export const claimsFrom = 2 ** 30;

/** See `claimsFrom`. */
export const claimsStretch = 2 ** 28;

/** Ids from this number on are never written. */
export const missingFrom = 2 ** 31;

/** The shape of all of them. */
export const scaleShape = "tool-call";

/** A random number from `from`, below `from + count`. */
export function randomNumber(from: number, count: number): number {
  return from + Math.floor(Math.random() * count);
}
