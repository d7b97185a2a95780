import type { SeededRandom } from "../crash/seeded-random.js";
import type { Counts } from "./counts.js";

/** One piece of work that tries to break a promise. */
export interface Trial {
  readonly name: string;
  /**
   * Works for a bounded time, a minute or so at most.
   *
   * @param random what the seed decides
   * @returns how often what was tried: a run that has tried nothing shows
   * @throws on a violation, with what repeats it
   */
  run(random: SeededRandom): Promise<Counts>;
}
