import assert from "node:assert/strict";
import { test } from "vitest";
import { growing } from "../soak/levelling.js";
import { soak, soakTrial } from "../soak/soak-trial.js";
import { SeededRandom } from "./seeded-random.js";

test("under a mixed load memory, handles and disk level off", async () => {
  const counts = await soakTrial.run(new SeededRandom(3));
  assert.equal(counts["stretches"], 9);
});

test("a leak is found: of memory, and of watches that nobody ends", async () => {
  for (const leak of ["memory", "watches"] as const) {
    const grown = growing(await soak(3, { stretches: 9, rounds: 15, leak }));
    assert.ok(grown.length > 0, leak);
  }
});
