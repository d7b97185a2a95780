import type { SeenRecord } from "../../src/tool-calls/record.js";
import { type Ghost, type Times, Violation } from "./explorer-ghost.js";
import { living, type StoredDocument } from "./explorer-store.js";

/* What must hold of fires, of effects, and of what callers are told. */

/** The tool is entered: by the holder, in its claim's life, once, and not while an earlier run may have had its effect. */
export function judgeFire(
  ghost: Ghost,
  claimId: string,
  document: StoredDocument | undefined,
  now: number,
  times: Times,
): Ghost {
  if (ghost.fired.includes(claimId)) throw new Violation("two fires in one claim");
  const found = requireHeld("fire", claimId, document, now, times);
  const others = ghost.open.filter((each) => each !== claimId && !ghost.endedUnfired.includes(each));
  if (found.policy !== "refire" && others.length > 0) throw new Violation("a fire after a doubt that nobody has ended");
  // Without marks the claim itself counts as the mark. Under refire nobody asks.
  const counts = found.policy !== "refire" && !found.marks && !ghost.open.includes(claimId);
  const open = counts ? [...ghost.open, claimId] : ghost.open;
  return { ...ghost, open, fired: [...ghost.fired, claimId] };
}

/** The tool that marks begins its effect: the mark stands in the record, and the claim is alive. */
export function judgeBegin(claimId: string, document: StoredDocument | undefined, now: number, times: Times): void {
  const found = requireHeld("effect", claimId, document, now, times);
  if (found.marks && found.fired_at === null) throw new Violation("an effect before its mark");
}

/** The effect comes. Under review and reconcile there is one, and one more for each word that it can no longer come. */
export function judgeEffect(ghost: Ghost, claimId: string, policy: string): Ghost {
  if (policy === "refire" || !ghost.claims.includes(claimId)) return ghost;
  const effects = [...ghost.effects, claimId];
  if (effects.length > 1 + ghost.hasty) throw new Violation("an effect too many");
  return { ...ghost, effects };
}

function requireHeld(
  what: string,
  claimId: string,
  document: StoredDocument | undefined,
  now: number,
  times: Times,
): StoredDocument["fields"] {
  const found = living(document, now);
  if (found?.fields.claim_id !== claimId || found.fields.status !== "pending") {
    throw new Violation(`${what} by somebody who does not hold the claim`);
  }
  if (now - found.updatedAt >= times.holdMs) throw new Violation(`${what} in a claim that had lapsed`);
  return found.fields;
}

/** A caller waits for the record as it is, unless that has changed since it was looked at. */
export function judgeWait(
  ghost: Ghost,
  after: number,
  sent: readonly string[],
  abandoned: readonly string[],
  document: StoredDocument | undefined,
  now: number,
): void {
  const target = living(document, now);
  const found = target?.fields;
  if (target?.revision !== after || found?.status !== "pending") return;
  const claimId = found.claim_id ?? "";
  if (sent.includes(claimId)) throw new Violation("a run waits for its own claim");
  if (abandoned.includes(claimId) && ghost.endedUnfired.includes(claimId)) {
    throw new Violation("a process waits for a claim that it gave up itself");
  }
}

/** A caller gets a stored result: the one that a completion of the same arguments has stored. */
export function judgeReplay(ghost: Ghost, args: string, seen: SeenRecord): void {
  const completion = ghost.completions.find((each) => each.revision === seen.revision);
  if (completion?.args !== args) throw new Violation("other arguments got a replay");
  if (completion.result !== seen.record.result) throw new Violation("the replay differs from what was completed");
}
