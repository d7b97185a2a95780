import { inspect } from "node:util";
import type { Trial } from "../torture/trial.js";
import { judgeHistories } from "./judging.js";

/** Histories in one piece of work. */
const count = 20;

/** Histories over HTTP, under kills, cut connections and a moved clock, are linearizable. */
export const historiesTrial: Trial = {
  name: "histories",
  run: async (random) => {
    const { violation, ...counts } = await judgeHistories(random, count);
    if (violation !== undefined) throw new Error(`not linearizable: ${inspect(violation, { depth: 8 })}`);
    return counts;
  },
};
