import assert from "node:assert/strict";
import { test } from "vitest";
import { growing } from "../soak/levelling.js";
import { soak, soakTrial } from "../soak/soak-trial.js";
import { SeededRandom } from "./seeded-random.js";

test("under a mixed load memory, handles and disk level off", async () => {
  const counts = await soakTrial.run(new SeededRandom(3));
  assert.equal(counts["stretches"], 9);
});

test("a leak is found: of memory, of watches that nobody ends, and of a past that is never cut off the disk", async () => {
  const leaks = { memory: "heap", watches: "watches", disk: "disk" } as const;
  for (const leak of ["memory", "watches", "disk"] as const) {
    const grown = growing(await soak(3, { stretches: 9, rounds: 15, leak }));
    assert.ok(
      grown.some((measure) => measure.startsWith(`${leaks[leak]} grows`)),
      `${leak}: ${grown.join()}`,
    );
  }
});
