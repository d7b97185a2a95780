import { prolonged, type ValidClaim } from "../../src/tool-calls/acquisition-decisions.js";
import { type FailureClass, outcomeFor } from "../../src/tool-calls/failure.js";
import type { RecordPut } from "../../src/tool-calls/transition-types.js";
import { complete, fail, markFired, park, release, renew, unknown } from "../../src/tool-calls/transitions.js";
import { judgeBegin, judgeEffect } from "./explorer-oracle-effects.js";
import { post, someday, timesOf } from "./explorer-worker.js";
import {
  type Message,
  type Running,
  type Setting,
  type Step,
  spend,
  type Worker,
  type World,
  withWorker,
} from "./explorer-world.js";

/* A tool that runs under a claim: its mark, its effect, its renewals and its ends, as src/tool-calls/holding.ts makes them. */

const thrown = { name: "Error", message: "thrown" };

export function toolSteps(world: World, worker: Worker, run: Running, setting: Setting): Step[] {
  const { name } = worker;
  const { budget } = world;
  const { claim, effect } = run;
  const steps: Step[] = [];
  if (run.hungUntil !== undefined) return steps;
  if (budget.renewals > 0 && run.renewalSentAt === undefined) {
    steps.push([
      `${name} renews`,
      () => {
        const renewing = withWorker(spend(world, "renewals"), { ...worker, run: { ...run, renewalSentAt: world.now } });
        return post(renewing, name, "renewal", renew(claim, someday), setting);
      },
    ]);
  }
  // It awaits the mark.
  if (effect === "marking" || effect === "prolonging") return steps;
  if (effect === "unmarked") {
    steps.push([`${name} announces its effect`, () => mark(world, worker, run, setting)]);
  }
  if (effect === "ready" && claim.record.policy !== "refire") {
    steps.push([`${name}'s effect happens`, () => withEffect(world, worker, run)]);
  }
  const isDone = effect === "done" || (effect === "ready" && claim.record.policy === "refire");
  if (isDone) {
    const result = { kind: "json", value: claim.claimId } as const;
    steps.push([`${name}'s tool returns`, () => settle(world, worker, complete(claim, result, someday), setting)]);
  }
  if (budget.throws > 0) steps.push(...throwSteps(spend(world, "throws"), worker, run, setting));
  if (budget.parks > 0 && (effect !== "done" || setting.mutant.parksLate === true)) {
    const parking = spend(world, "parks");
    steps.push([`${name}'s tool parks`, () => settle(parking, worker, park(claim, "waits for Ann"), setting)]);
  }
  if (budget.hangs > 0) {
    const hungUntil = setting.mutant.renewsForEver === true ? Number.POSITIVE_INFINITY : world.now + setting.runMs;
    steps.push([
      `${name}'s tool hangs`,
      () => withWorker(spend(world, "hangs"), { ...worker, run: { ...run, hungUntil } }),
    ]);
  }
  return steps;
}

function throwSteps(world: World, worker: Worker, { claim, effect }: Running, setting: Setting): Step[] {
  const steps: Step[] = [];
  const say = (failure: FailureClass): World => settle(world, worker, endOfThrow(claim, failure), setting);
  if (effect !== "done") {
    steps.push([`${worker.name}'s tool fails`, () => say("failed")]);
    if (claim.record.policy !== "refire")
      steps.push([`${worker.name}'s tool has to be tried again`, () => say("retryable")]);
  }
  const failure = setting.mutant.thrown ?? outcomeFor("unknown", claim.record);
  steps.push([`${worker.name}'s tool ends in doubt`, () => say(failure)]);
  return steps;
}

function endOfThrow(claim: ValidClaim, failure: FailureClass): RecordPut {
  switch (failure) {
    case "failed":
      return fail(claim, thrown, someday);
    case "retryable":
      return release(claim, thrown);
    case "unknown":
      return unknown(claim, thrown);
  }
}

function withEffect(world: World, worker: Worker, run: Running): World {
  const { claimId, record } = run.claim;
  const ghost = judgeEffect(world.ghost, claimId, record.policy);
  return withWorker({ ...world, ghost }, { ...worker, run: { ...run, effect: "done" } });
}

export function settle(world: World, worker: Worker, write: RecordPut, setting: Setting): World {
  return post(
    withWorker(world, { ...worker, run: { at: "settling", write } }),
    worker.name,
    "settlement",
    write,
    setting,
  );
}

function mark(world: World, worker: Worker, run: Running, setting: Setting): World {
  const marking = withWorker(world, { ...worker, run: { ...run, effect: "marking" } });
  return post(marking, worker.name, "mark", markFired(run.claim, someday), setting);
}

/** The answer to the mark, or to the renewal after it. */
export function markAnswered(
  world: World,
  worker: Worker,
  run: Running,
  event: NonNullable<Message["answer"]>,
  setting: Setting,
): World {
  const { claim, sentAt = 0 } = run;
  if (run.effect === "marking") {
    if (event.event !== "written") return settle(world, worker, release(claim, thrown), setting);
    const marked: ValidClaim = { ...claim, record: { ...claim.record, fired_at: someday } };
    if (world.now < claim.validUntil || setting.mutant.markSuffices === true)
      return ready(world, worker, { ...run, claim: marked }, setting);
    const prolonging: Running = { ...run, claim: marked, effect: "prolonging", sentAt: world.now };
    return post(withWorker(world, { ...worker, run: prolonging }), worker.name, "mark", renew(claim, someday), setting);
  }
  const renewed = event.event === "written" ? prolonged(claim, sentAt) : claim;
  if (world.now < renewed.validUntil) return ready(world, worker, { ...run, claim: renewed }, setting);
  // `fired` rejects because the claim is lost, and the tool throws that.
  return settle(world, worker, unknown(claim, thrown), setting);
}

/** Once more, while the claim surely holds. */
export function markAgain(world: World, worker: Worker, run: Running, setting: Setting): World | undefined {
  if (run.effect !== "marking" || world.now >= run.claim.validUntil) return undefined;
  return mark(world, worker, run, setting);
}

function ready(world: World, worker: Worker, { claim, renewalSentAt }: Running, setting: Setting): World {
  judgeBegin(claim.claimId, world.document, world.now, timesOf(setting));
  const run: Running = {
    at: "running",
    claim,
    effect: "ready",
    ...(renewalSentAt === undefined ? {} : { renewalSentAt }),
  };
  return withWorker(world, { ...worker, run });
}

/** The answer to a renewal beside the tool. */
export function renewalAnswered(
  world: World,
  worker: Worker,
  { renewalSentAt = 0, ...run }: Running,
  event: NonNullable<Message["answer"]>,
): World {
  const claim = event.event === "written" ? prolonged(run.claim, renewalSentAt) : run.claim;
  return withWorker(world, { ...worker, run: { ...run, claim } });
}

/** Tools that never end are renewed, as soon as that is due, for as long as they may run. */
export function renewHung(world: World, setting: Setting): World {
  let next = world;
  for (const { name, run } of world.workers) {
    if (run.at !== "running" || run.hungUntil === undefined || world.now >= run.hungUntil) continue;
    next = post(next, name, "nobody", renew(run.claim, someday), setting);
  }
  return next;
}
