import { prolonged, type ValidClaim } from "../../src/tool-calls/acquisition-decisions.js";
import { decideLookUp } from "../../src/tool-calls/decisions.js";
import type { Verdict } from "../../src/tool-calls/transition-types.js";
import { abandon, lookedUp } from "../../src/tool-calls/transitions.js";
import { seenOf } from "./explorer-store.js";
import { claimIdOf, post, someday } from "./explorer-worker.js";
import {
  type Looking,
  type Message,
  type Run,
  type Setting,
  type Step,
  spend,
  type Turn,
  type Worker,
  type World,
  withWorker,
} from "./explorer-world.js";

/* Finding out what an earlier run did, in a caller's turn and by a reconciler. */

/** What can be said truly about the effect of a call. */
export interface Word {
  readonly verdict: Verdict;
  readonly world: World;
  /** "Not done", while a worker may be about to do it. */
  readonly hasty: boolean;
}

export function wordsAbout(world: World): readonly Word[] {
  const { effects } = world.ghost;
  const done = effects.at(-1);
  if (done !== undefined) {
    const verdict: Verdict = { kind: "done", result: { kind: "json", value: done } };
    return [{ verdict, world, hasty: false }];
  }
  const mayCome = world.workers.some(({ run }) => run.at === "running" && run.effect === "ready");
  if (!mayCome) return [{ verdict: { kind: "not_done" }, world, hasty: false }];
  const words: Word[] = [{ verdict: { kind: "unknown", error: null }, world, hasty: false }];
  if (world.budget.pauses > 0) {
    words.push({ verdict: { kind: "not_done" }, world: spend(world, "pauses"), hasty: true });
  }
  return words;
}

export function lookingSteps(worker: Worker, run: Looking, world: World, setting: Setting): Step[] {
  return wordsAbout(world).map(({ verdict, world: after, hasty }) => [
    `${worker.name} finds out: ${hasty ? "not done so far" : verdict.kind}`,
    () => {
      const write = lookedUp(run.claim, verdict, someday);
      const again: Turn | undefined =
        run.again === undefined
          ? undefined
          : { ...run.again, canLookUp: run.again.canLookUp && verdict.kind !== "unknown" };
      const settling: Run = { at: "settling", write, ...(again === undefined ? {} : { again }) };
      return post(
        withWorker(after, { ...worker, run: settling }),
        worker.name,
        "settlement",
        hasty ? { ...write, hasty } : write,
        setting,
      );
    },
  ]);
}

/** A reconciler comes to the record. */
export function roundSteps(world: World, worker: Worker, setting: Setting): Step[] {
  const seen = seenOf(world.document, world.now);
  if (seen === undefined || worker.rounds === 0) return [];
  const claimId = claimIdOf(worker);
  const write = decideLookUp(seen, { claimId, owner: worker.name, at: someday }, setting.timing);
  if (write === undefined) return [];
  const sent = { claimId, record: write.set, timing: setting.timing };
  const run: Run = { at: "asking", sent, sentAt: world.now };
  const asking: Worker = { ...worker, run, rounds: worker.rounds - 1, claims: worker.claims + 1 };
  return [
    [`${worker.name} comes round`, () => post(withWorker(world, asking), worker.name, "look-up", write, setting)],
  ];
}

/** The reconciler's claim is answered. */
export function askingAnswered(
  world: World,
  worker: Worker,
  { sent, sentAt }: Extract<Run, { at: "asking" }>,
  event: NonNullable<Message["answer"]>,
  setting: Setting,
): World {
  const idle: Worker = { ...worker, run: { at: "idle" } };
  if (event.event === "refused") return withWorker(world, idle);
  if (event.event === "written") {
    const claim: ValidClaim = prolonged({ ...sent, fencingToken: event.revision, validUntil: 0 }, sentAt);
    if (world.now < claim.validUntil) return withWorker(world, { ...worker, run: { at: "looking", claim } });
  }
  const { claimId } = sent;
  const given = withWorker(world, { ...idle, abandoned: [...worker.abandoned, claimId] });
  const ghost = { ...given.ghost, endedUnfired: [...given.ghost.endedUnfired, claimId] };
  return post({ ...given, ghost }, worker.name, "background", abandon(sent), setting);
}
