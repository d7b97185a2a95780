import { isDeepStrictEqual } from "node:util";
import type { ToolCalls } from "../../src/tool-calls/index.js";
import { WrongResultError } from "../checks.js";
import { readAgain } from "../claim-documents.js";
import type { MeasuredCase } from "../measure.js";
import { checkOutcome, Effects, mailCall, mailResult, mustNotFire } from "./effects.js";

/**
 * What the protocol costs around a tool that takes no time: `run-fresh` claims, enters the tool and completes, which
 * are two conditional writes; `run-replay` finds the call completed and gives its result.
 */

/** Fresh calls that are made once more after each round. */
const replayedAfterRound = 4;

/** Calls that have not been made before. */
export function freshCalls(calls: ToolCalls, numbers: CallNumbers): MeasuredCase {
  const effects = new Effects();
  let made: number[] = [];
  return {
    name: "run-fresh",
    async once() {
      const number = numbers.next();
      const request = mailCall(number);
      const tool = effects.tool(number);
      const begun = performance.now();
      const outcome = await calls.run(request, tool);
      const tookMs = performance.now() - begun;
      checkOutcome(outcome, { number, wasReplay: false });
      made.push(number);
      return tookMs;
    },
    async check() {
      effects.checkOnce(made);
      await Promise.all(made.slice(-readAgain).map((number) => checkRecord(calls, number)));
      for (const number of made.slice(-replayedAfterRound)) {
        checkOutcome(await calls.run(mailCall(number), mustNotFire), { number, wasReplay: true });
      }
      made = [];
    },
  };
}

/** Calls that have been made already. */
export async function replayedCalls(calls: ToolCalls, numbers: CallNumbers, count: number): Promise<MeasuredCase> {
  const effects = new Effects();
  const made = Array.from({ length: count }, () => numbers.next());
  await Promise.all(made.map((number) => calls.run(mailCall(number), effects.tool(number))));
  effects.checkOnce(made);
  let turn = 0;
  return {
    name: "run-replay",
    async once() {
      const number = made[turn++ % count] as number;
      const request = mailCall(number);
      const begun = performance.now();
      const outcome = await calls.run(request, mustNotFire);
      const tookMs = performance.now() - begun;
      checkOutcome(outcome, { number, wasReplay: true });
      return tookMs;
    },
    check: async () => void (await Promise.all(made.slice(0, readAgain).map((number) => checkRecord(calls, number)))),
  };
}

/** Numbers of calls, none twice. */
export class CallNumbers {
  #last = 0;

  next(): number {
    return ++this.#last;
  }
}

async function checkRecord(calls: ToolCalls, number: number): Promise<void> {
  const document = await calls.get(mailCall(number));
  const { status, attempt, result } = document?.fields ?? {};
  if (status === "completed" && attempt === 1 && isDeepStrictEqual(result, mailResult(number))) return;
  throw new WrongResultError(`call ${number} must be recorded as completed, but is ${JSON.stringify(document)}`);
}
