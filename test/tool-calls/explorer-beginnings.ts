import { claim, unknown } from "../../src/tool-calls/transitions.js";
import type { Ghost } from "./explorer-ghost.js";
import { apply } from "./explorer-store.js";
import { identityOf, someday } from "./explorer-worker.js";
import type { World } from "./explorer-world.js";

/* Worlds in which something has happened already, so that a short exploration gets to what is far from the beginning. */

/** A worker that is no more fired the first worker's call and left a doubt. */
export function inDoubt(world: World, truth: "done" | "not done"): World {
  const [first] = world.workers;
  if (first === undefined) throw new Error("a world without workers");
  const claimId = "Z1";
  const timing = { pendingTtl: 1, completedTtl: 2, failedTtl: 1 };
  const made = claim(identityOf(first.caller), { claimId, owner: "Z", at: someday }, timing, undefined);
  const held = { claimId, record: made.set, timing, fencingToken: 1 };
  const before = apply(made, undefined, 0, 0);
  const { document, revision } = apply(unknown(held, { name: "Error", message: "thrown" }), before.document, 1, 0);
  const ghost: Ghost = {
    ...world.ghost,
    fired: [claimId],
    claims: [claimId],
    open: [claimId],
    effects: truth === "done" ? [claimId] : [],
    latestClaim: claimId,
    latestToken: 1,
    boundUntil: Number.POSITIVE_INFINITY,
  };
  return { ...world, document, revision, ghost };
}
