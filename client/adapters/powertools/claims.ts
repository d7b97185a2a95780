/*
 * Powertools gives a layer no handle of a claim: the record that ends one names the key alone. What a layer knows of its own
 * claims is what it remembers here, by key.
 */

/** A claim that a worker of this layer has made. */
export interface Claim {
  /** The revision of its record, as of the newest claim on the key. */
  readonly revision: number;
  /** Workers of this layer that are still to end a claim on the key. More than one: which of them ends it cannot be told. */
  readonly workers: number;
  /** Whether the newest worker's call was carried out, though its result could not be recorded. */
  readonly carriedOut: boolean;
}

/** Claims remembered at most, the newest: some hundred bytes each. A process works at far fewer calls at a time. */
const claimsMax = 10_000;

export class Claims {
  readonly #claims = new Map<string, Claim>();

  get(key: string): Claim | undefined {
    return this.#claims.get(key);
  }

  made(key: string, revision: number): void {
    const before = this.#claims.get(key);
    const others = before === undefined || before.carriedOut ? 0 : before.workers;
    this.#claims.delete(key);
    this.#claims.set(key, { revision, workers: others + 1, carriedOut: false });
    for (const oldest of this.#claims.keys()) {
      if (this.#claims.size <= claimsMax) break;
      this.#claims.delete(oldest);
    }
  }

  /** A worker has ended its claim. */
  ended(key: string): void {
    const claim = this.#claims.get(key);
    if (claim === undefined) return;
    if (claim.workers > 1) this.#claims.set(key, { ...claim, workers: claim.workers - 1 });
    else this.#claims.delete(key);
  }

  /** A worker has done its work and could not record it. */
  carriedOut(key: string): void {
    const claim = this.#claims.get(key);
    if (claim === undefined) return;
    if (claim.workers > 1) this.ended(key);
    else this.#claims.set(key, { ...claim, carriedOut: true });
  }
}
