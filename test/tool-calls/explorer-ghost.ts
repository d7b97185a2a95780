/*
 * What the oracle remembers of a story: it sees everything at once, the store's document, its time and who fired what, and
 * asks no function of the product.
 */

/** Something happened that must never happen. */
export class Violation extends Error {}

export interface Ghost {
  /** Claims under which the tool was entered. */
  readonly fired: readonly string[];
  /** Claims whose run ended without entering the tool. */
  readonly endedUnfired: readonly string[];
  /** The claim of a run that was accepted last, unless somebody has decided about the record since. */
  readonly latestClaim: string | null;
  /** The revision of the last claim. */
  readonly latestToken: number;
  /** Until when the key is bound to its arguments, its attempt counted and its outcome remembered. */
  readonly boundUntil: number;
  /** The accepted completions: under which revision, for which arguments, with which result. */
  readonly completions: readonly { readonly revision: number; readonly args: string; readonly result: unknown }[];
  /** The claims of the call that the key is bound to now. */
  readonly claims: readonly string[];
  /** Those of them that may have had their effect, as far as the record and true words about it go. */
  readonly open: readonly string[];
  /** Those of them that have had it. */
  readonly effects: readonly string[];
  /** Accepted words of "not done" that were true only for now. */
  readonly hasty: number;
  /** Whether somebody decreed that the call has failed. */
  readonly decreed: boolean;
}

export const noGhost: Ghost = {
  fired: [],
  endedUnfired: [],
  latestClaim: null,
  latestToken: 0,
  boundUntil: 0,
  completions: [],
  claims: [],
  open: [],
  effects: [],
  hasty: 0,
  decreed: false,
};

/** What is left when the key is bound to nothing any more. */
export function unbound(ghost: Ghost): Ghost {
  return { ...ghost, latestClaim: null, claims: [], open: [], effects: [], hasty: 0, decreed: false };
}

export interface Times {
  readonly holdMs: number;
  readonly windowMs: number;
  readonly failedMs: number;
}
