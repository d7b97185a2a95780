import { expect, test } from "vitest";
import { SeededRandom } from "../crash/seeded-random.js";
import { growing, type Measured } from "./levelling.js";

const mebibyte = 1024 * 1024;
const level: Measured = {
  heap: 40 * mebibyte,
  buffers: mebibyte,
  files: 30,
  resources: 10,
  watches: 2,
  disk: 250_000,
};

/** Nine stretches, each as the one given for its place. */
function stretches(at: (place: number) => Partial<Measured>): Measured[] {
  return Array.from({ length: 9 }, (_, place) => ({ ...level, ...at(place) }));
}

test.each([
  ["heap", 2.9 * mebibyte],
  ["heap", 1.1 * mebibyte],
  ["buffers", 1.5 * mebibyte],
  ["files", 12],
  ["resources", 12],
  ["watches", 12],
  ["watches", 5],
  ["disk", 25_000],
] as const)("a leak of %s, %d a stretch, is found, also under noise", (measure, leak) => {
  const found = growing(stretches((place) => ({ [measure]: level[measure] + place * leak })));
  expect(found).toEqual([expect.stringContaining(`${measure} grows from `)]);
  // The noise of one stretch, high or low, hides it no more than it makes one up.
  for (const outlier of [4, 7]) {
    const noisy = growing(
      stretches((place) => ({ [measure]: level[measure] * (place === outlier ? 0.98 : 1) + place * leak * 1.5 })),
    );
    expect(noisy, `${outlier}`).toHaveLength(1);
  }
});

test("what is level for all its noise, and what grows only at first, is no leak, whatever the seed", () => {
  for (let seed = 0; seed < 500; seed++) {
    const random = new SeededRandom(seed);
    const grown = growing(
      stretches((place) => ({
        heap: level.heap + random.below(3 * mebibyte) + Math.min(place, 2) * 10 * mebibyte,
        buffers: level.buffers + random.below(4 * mebibyte),
        files: level.files + random.below(12),
        resources: level.resources + random.below(12),
        watches: level.watches + random.below(12),
        disk: level.disk + random.below(60_000),
      })),
    );
    expect(grown, `${seed}`).toEqual([]);
  }
});

test("one stretch that lies far above the others makes no leak, wherever it is", () => {
  for (let high = 0; high < 9; high++) {
    const found = growing(stretches((place) => (place === high ? { heap: 500 * mebibyte, files: 500 } : {})));
    expect(found, `${high}`).toEqual([]);
  }
});
