import { join } from "node:path";
import fc from "fast-check";
import { expect } from "vitest";
import { temporaryFolder } from "../store/temporary-folder.js";
import type { Account } from "./model-bank.js";
import { anyEvent } from "./model-events.js";
import { ModelRun } from "./model-run.js";
import { openSurroundings, type Place } from "./model-stores.js";

const anyAccount = (key: string): fc.Arbitrary<Account> =>
  fc.record({
    key: fc.constant(key),
    policy: fc.constantFrom("refire" as const, "review" as const, "reconcile" as const),
    marks: fc.boolean(),
  });

export interface Extent {
  readonly numRuns: number;
  /** Events in a run, at most. */
  readonly events: number;
  /** A slow machine makes fewer runs instead of a failing test, but goes on until enough has fired. */
  readonly timeLimitMs: number;
}

/** Lets anything happen to workers over a real store. A failure prints its seed and the shortest such story. */
export async function runAtRandom(place: Place, { numRuns, events, timeLimitMs }: Extent): Promise<void> {
  const folder = await temporaryFolder();
  const end = performance.now() + timeLimitMs;
  let runs = 0;
  let fires = 0;
  const happening = fc.array(anyEvent, { minLength: 1, maxLength: events, size: "max" });
  await fc.assert(
    fc.asyncProperty(anyAccount("a"), anyAccount("b"), happening, async (a, b, story) => {
      if (performance.now() > end && runs > 1 && fires > runs) return;
      runs += 1;
      const around = await openSurroundings(place, join(folder, `run-${runs}`));
      try {
        const run = new ModelRun(around, [a, b]);
        for (const event of story) await run.meet(event);
        const unsettled = await run.end();
        fires += run.bank.fireCount;
        const { breaches } = run.bank;
        const { strange } = run;
        expect({ breaches, strange, unsettled }).toEqual({ breaches: [], strange: [], unsettled: [] });
      } finally {
        await around.close();
      }
    }),
    { numRuns },
  );
  expect(runs).toBeGreaterThan(1);
  expect(fires).toBeGreaterThan(runs);
}
