import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCommand } from "./model-commands.js";
import { Comparison, type Keeping } from "./zz-comparison.js";
import { temporaryFolder } from "./temporary-folder.js";

/** Runs commands against the store and its model; a slow machine makes fewer runs instead of a failing test. */
async function compareAtRandom(keeping: Keeping, numRuns: number, timeLimitMs: number): Promise<void> {
  const folder = await temporaryFolder();
  const end = performance.now() + timeLimitMs;
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anyCommand, { minLength: 1, maxLength: 40, size: "max" }), async (commands) => {
      if (performance.now() > end) return;
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

describe("zz", () => { test("zz", async () => { await compareAtRandom({ place: "memory", sweeps: true }, 5000, 90000); }, 200000); });
