import type { Trial } from "../torture/trial.js";
import { judgeHistories } from "./judging.js";

/** Histories in one piece of work. */
const count = 20;

/** Histories over HTTP, under kills, cut connections and a moved clock, are linearizable, lists and watches included. */
export const historiesTrial: Trial = {
  name: "histories",
  run: async (random) => {
    const { violation, counts } = await judgeHistories(random, count);
    if (violation !== undefined) throw violation;
    return counts;
  },
};
