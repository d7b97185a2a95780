import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCommand } from "./model-commands.js";
import { Comparison, type Keeping } from "./model-comparison.js";
import { temporaryFolder } from "./temporary-folder.js";

/** Runs commands against the store and its model; a slow machine makes fewer runs instead of a failing test, but more than one. */
async function compareAtRandom(keeping: Keeping, numRuns: number, timeLimitMs: number): Promise<void> {
  const folder = await temporaryFolder();
  const end = performance.now() + timeLimitMs;
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anyCommand, { minLength: 1, maxLength: 40, size: "max" }), async (commands) => {
      if (performance.now() > end && runs > 1) return;
      runs += 1;
      const comparison = await Comparison.begin(join(folder, `run-${runs}`), keeping);
      try {
        for (const command of commands) await comparison.run(command);
        await comparison.end();
      } finally {
        await comparison.close();
      }
    }),
    { numRuns },
  );
  expect(runs).toBeGreaterThan(1);
}

describe("the embedded store against a model", () => {
  test("random writes, time, sweeps, reopens and crashes: never to be told apart from a plain map", async () => {
    await compareAtRandom({ place: "disk", sweeps: false }, 40, 4500);
  });

  test("the same while the store sweeps by itself", async () => {
    await compareAtRandom({ place: "disk", sweeps: true }, 40, 4500);
  });

  test("the same in memory, more often", async () => {
    await compareAtRandom({ place: "memory", sweeps: false }, 150, 2500);
    await compareAtRandom({ place: "memory", sweeps: true }, 150, 2500);
  });
});
