import type { SeededRandom } from "../crash/seeded-random.js";

/** One bounded piece of work that attacks a promise. */
export interface Trial {
  readonly name: string;
  /** Throws on a violation, with all that is needed to repeat it; answers how often what was tried. */
  run(random: SeededRandom): Promise<{ readonly [what: string]: number }>;
}
