import { inspect, isDeepStrictEqual } from "node:util";
import type { SeededRandom } from "../crash/seeded-random.js";
import { addCounts, type Counts } from "../torture/counts.js";
import { checkLinearizable } from "./checker.js";
import { settle } from "./commits-of-writes.js";
import { countsOf, untried } from "./counting.js";
import { documentModel, partsOf } from "./document-model.js";
import { fewDocuments, manyDocuments, type Scale } from "./planning.js";
import { checkRealTimeOrder } from "./real-time-order.js";
import { type RecordedHistory, Recorder } from "./recorder.js";
import { Violation } from "./violation.js";
import { checkFollowed, checkWalk } from "./walks.js";
import type { Weakness } from "./weakened-store.js";

/** Every so many histories the server is killed in the middle of one. */
const killEvery = 4;

/** Every so many there are many documents, with long lists. */
const manyEvery = 4;

/** What histories came to. */
export interface Judged {
  /** Of the first history that is wrong; undefined: none is. */
  readonly violation: Violation | undefined;
  readonly counts: Counts;
}

/**
 * Records histories one after the other, and judges each; ends with the first that is wrong.
 *
 * @param count so many at least; where something has not been tried by then, up to four times as many
 */
export async function judgeHistories(random: SeededRandom, count: number, weakness?: Weakness): Promise<Judged> {
  const recorder = await Recorder.open(random, weakness);
  let counts: Counts = {};
  const all = (): Counts => ({ ...counts, cuts: recorder.cuts, "watches resumed": recorder.resumed });
  try {
    for (let round = 0; round < count || (round < 4 * count && untried(all()).length > 0); round++) {
      const scale = round % manyEvery === 1 ? manyDocuments : fewDocuments;
      const recorded = await recorder.record(round % killEvery === killEvery - 1, scale);
      counts = addCounts(counts, judge(recorded, scale));
      counts = addCounts(counts, countsOf(recorded));
    }
    return { violation: undefined, counts: all() };
  } catch (error) {
    if (error instanceof Violation) return { violation: error, counts: all() };
    throw error;
  } finally {
    await recorder.close();
  }
}

/** Judges one history by all rules. @throws Violation */
function judge({ recorded, history, states, walks, followed, end }: RecordedHistory, scale: Scale): Counts {
  for (const { request, output, again } of recorded) {
    if (again === undefined || isDeepStrictEqual(output, again)) continue;
    throw new Violation("commits", `${inspect(request)} was answered ${inspect(output)}, and again ${inspect(again)}`);
  }
  const { operations, applied, lost } = settle(history, states, end);
  checkRealTimeOrder(operations, states);
  for (const walk of walks) checkWalk(walk, states, end);
  for (const walk of followed) checkFollowed(walk, states);
  // Of many documents, which one list after the other holds together, the search would take too long.
  if (scale.documents <= fewDocuments.documents) {
    for (const part of partsOf(operations.map(({ operation }) => operation))) {
      const verdict = checkLinearizable(documentModel, part);
      if (verdict.linearizable !== true) throw new Violation("search", inspect(verdict, { depth: 8 }));
    }
  }
  return { "unknown outcomes that were applied": applied, "unknown outcomes that were not": lost };
}
