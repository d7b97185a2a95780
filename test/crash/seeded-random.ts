import { randomInt } from "node:crypto";

/** Random numbers that a seed repeats: set `SEED` to the one that a failed run has printed. */
export class SeededRandom {
  readonly seed: number;
  #state: number;

  constructor(seed: number = Number(process.env["SEED"] ?? randomInt(2 ** 31))) {
    this.seed = seed;
    this.#state = seed;
  }

  /** From 0 up to but not including 1 (the generator is mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 up to but not including `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }
}
