import type { SeededRandom } from "../crash/seeded-random.js";
import { checkLinearizable, type Verdict } from "./checker.js";
import { documentModel, type Input, type Output, partsOf } from "./document-model.js";
import type { Weakness } from "./history-server.js";
import { Recorder } from "./recorder.js";

/** Every so many histories the server is killed in the middle of one. */
const killEvery = 4;

/** What histories came to. */
export interface Judged {
  /** The first history that is not linearizable, or could not be judged; undefined: all are. */
  readonly violation: Verdict<Input, Output> | undefined;
  readonly histories: number;
  readonly kills: number;
  /** Connections that were cut. */
  readonly cuts: number;
  /** Writes whose outcome nobody knows. */
  readonly unknown: number;
}

/** Records histories one after the other, and judges each; ends with the first that is not linearizable. */
export async function judgeHistories(random: SeededRandom, count: number, weakness?: Weakness): Promise<Judged> {
  const recorder = await Recorder.open(random, weakness);
  try {
    const sums = { histories: 0, kills: 0, unknown: 0 };
    for (let round = 0; round < count; round++) {
      const { history, kills, unknown } = await recorder.record(round % killEvery === killEvery - 1);
      sums.histories += 1;
      sums.kills += kills;
      sums.unknown += unknown;
      for (const part of partsOf(history)) {
        const verdict = checkLinearizable(documentModel, part);
        if (verdict.linearizable !== true) return { ...sums, violation: verdict, cuts: recorder.cuts };
      }
    }
    return { ...sums, violation: undefined, cuts: recorder.cuts };
  } finally {
    await recorder.close();
  }
}
