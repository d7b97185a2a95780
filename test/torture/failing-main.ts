import { runTorture } from "./torture.js";

/* As main.ts, with a trial that finds something in one piece of four. */

await runTorture([
  {
    name: "fragile",
    run: async (random) => {
      if (random.below(4) === 0) throw new Error(`found with ${random.seed}`);
      return { tried: 1 };
    },
  },
]);
