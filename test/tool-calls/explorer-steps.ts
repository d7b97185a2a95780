import {
  type AcquisitionAction,
  type AcquisitionEvent,
  type AcquisitionState,
  beginAcquisition,
  type StepContext,
  stepAcquisition,
} from "../../src/tool-calls/acquisition.js";
import type { ToolCallIdentity } from "../../src/tool-calls/record.js";
import { stepSettlement } from "../../src/tool-calls/settlement.js";
import type { RecordPut } from "../../src/tool-calls/transition-types.js";
import { complete, fail, renew, unknown } from "../../src/tool-calls/transitions.js";
import {
  judgeAccepted,
  judgeFire,
  judgeRefused,
  judgeReplay,
  judgeWait,
  type Times,
  Violation,
} from "./explorer-oracle.js";
import { apply, living, type ModelWrite, seenOf } from "./explorer-store.js";
import {
  type Message,
  type Run,
  type Setting,
  send,
  spend,
  type Worker,
  type World,
  withMessage,
  withoutMessage,
  withWorker,
  workerNamed,
} from "./explorer-world.js";

/* What may happen next in a world: every step that is possible, each as the world after it. */

export type Step = readonly [label: string, take: () => World];

const someday = "2026-01-01T00:00:00.000Z";
const lostError = new Error("the answer was lost");
const thrown = { name: "Error", message: "thrown" };

export function stepsFrom(world: World, setting: Setting): Step[] {
  const steps: Step[] = [];
  for (const worker of world.workers) steps.push(...workerSteps(world, worker, setting));
  for (const message of world.messages) steps.push(...messageSteps(world, message, setting));
  const { budget } = world;
  if (budget.ticks > 0) steps.push(["time passes", () => pass(spend(world, "ticks"), setting)]);
  // When nothing else can happen, time passes for those who wait: everybody's turn must come.
  else if (steps.length === 0 && world.workers.some((worker) => worker.run.at !== "idle")) {
    steps.push(["time passes", () => pass(world, setting)]);
  }
  return steps;
}

function pass(world: World, setting: Setting): World {
  return { ...world, now: world.now + setting.tickMs };
}

function workerSteps(world: World, worker: Worker, setting: Setting): Step[] {
  const { name, run } = worker;
  const { budget } = world;
  const steps: Step[] = [];
  switch (run.at) {
    case "idle":
      if (worker.calls > 0) steps.push([`${name} calls`, () => begin(world, worker, setting)]);
      break;
    case "acquiring": {
      const { awaits } = run;
      if (awaits.kind === "read" || (awaits.kind === "change" && changed(world, awaits.after, awaits.until))) {
        steps.push([`${name} reads`, () => read(world, worker, run, setting)]);
      }
      if (awaits.kind === "read" && budget.lost > 0) {
        const event: AcquisitionEvent = { event: "read_failed", error: lostError };
        steps.push([`${name} cannot read`, () => advance(spend(world, "lost"), worker, run.machine, event, setting)]);
      }
      if (budget.aborts > 0) {
        const event: AcquisitionEvent = { event: "aborted", reason: "the caller gave up" };
        steps.push([
          `${name} gives up`,
          () => advance(unheard(spend(world, "aborts"), name, "acquisition"), worker, run.machine, event, setting),
        ]);
      }
      break;
    }
    case "running":
      steps.push(...toolSteps(world, worker, run, setting));
      break;
    case "settling":
      break;
  }
  if (budget.crashes > 0 && run.at !== "idle") {
    steps.push([`${name} crashes`, () => crash(spend(world, "crashes"), worker)]);
  }
  return steps;
}

function toolSteps(world: World, worker: Worker, run: Extract<Run, { at: "running" }>, setting: Setting): Step[] {
  const { name } = worker;
  const { claim } = run;
  const steps: Step[] = [];
  const end = (from: World, write: RecordPut): World =>
    post(withWorker(from, { ...worker, run: { at: "settling", claim, write } }), name, "settlement", write, setting);
  steps.push([
    `${name}'s tool returns`,
    () => end(world, complete(claim, { kind: "json", value: claim.claimId }, someday)),
  ]);
  if (world.budget.throws > 0) {
    const tried = spend(world, "throws");
    steps.push([`${name}'s tool fails`, () => end(tried, fail(claim, thrown, someday))]);
    steps.push([`${name}'s tool ends in doubt`, () => end(tried, unknown(claim, thrown))]);
  }
  const renewing = world.messages.some((message) => message.worker === name && message.for === "renewal");
  if (world.budget.renewals > 0 && !renewing) {
    steps.push([
      `${name} renews`,
      () => post(spend(world, "renewals"), name, "renewal", renew(claim, someday), setting),
    ]);
  }
  return steps;
}

function messageSteps(world: World, message: Message, setting: Setting): Step[] {
  const name = `${message.worker}'s ${message.write.transition}${message.for === "nobody" ? " (a copy)" : ""}`;
  const steps: Step[] = [];
  if (message.answer === undefined) {
    steps.push([`${name} arrives`, () => arrive(world, message, setting)]);
    if (world.budget.duplicates > 0 && message.for !== "nobody") {
      steps.push([
        `${name} is sent twice`,
        () => send(spend(world, "duplicates"), message.worker, "nobody", message.write),
      ]);
    }
  } else {
    const { answer } = message;
    steps.push([`${name} is answered`, () => hear(withoutMessage(world, message.id), message, answer, setting)]);
  }
  if (world.budget.lost > 0 && message.for !== "nobody") {
    const event = { event: "unanswered", error: lostError, fault: "store", applied: "maybe" } as const;
    // What has not arrived yet may still arrive, at any time or never.
    const left =
      message.answer === undefined
        ? withMessage(world, { ...message, for: "nobody" })
        : withoutMessage(world, message.id);
    steps.push([`${name} gets no answer`, () => hear(spend(left, "lost"), message, event, setting)]);
  }
  return steps;
}

function arrive(world: World, message: Message, setting: Setting): World {
  const { accepted, document, revision } = apply(message.write, world.document, world.revision, world.now);
  let { ghost } = world;
  if (accepted) ghost = judgeAccepted(ghost, message.write, world.document, document, world.now, timesOf(setting));
  else judgeRefused(ghost, message.write, document, world.now);
  const next: World = { ...world, document, revision, ghost };
  if (message.for === "nobody") return withoutMessage(next, message.id);
  const answer = accepted
    ? ({ event: "written", revision } as const)
    : ({ event: "refused", current: seenOf(document, world.now) } as const);
  return withMessage(next, { ...message, answer });
}

function hear(world: World, message: Message, event: NonNullable<Message["answer"]>, setting: Setting): World {
  const worker = workerNamed(world, message.worker);
  const { run } = worker;
  switch (message.for) {
    case "acquisition":
      if (run.at !== "acquiring") throw new Error("an answer for a run that does not wait for it");
      return advance(world, worker, run.machine, event, setting);
    case "settlement": {
      if (run.at !== "settling") throw new Error("an outcome was answered that nobody waits for");
      const idle = withWorker(world, { ...worker, run: { at: "idle" } });
      const step = stepSettlement(run.write, event);
      // The caller has its result now, and the outcome goes on trying to reach the store.
      return step.step === "again" ? send(idle, worker.name, "background", message.write) : idle;
    }
    case "background": {
      if (message.write.op !== "put") return world;
      const step = stepSettlement(message.write, event);
      return step.step === "again" ? send(world, worker.name, "background", message.write) : world;
    }
    default:
      return world;
  }
}

function begin(world: World, worker: Worker, setting: Setting): World {
  const caller: Worker = { ...worker, calls: worker.calls - 1 };
  const acquisition = {
    identity: identityOf(worker),
    timing: setting.timing,
    owner: worker.name,
    extra: undefined,
    canLookUp: false,
    waitUntil: world.now + setting.waitMs,
  };
  const [machine, action] = beginAcquisition(acquisition, contextOf(world, caller, setting));
  return carryOut(withWorker(world, caller), caller, machine, action, setting);
}

function read(world: World, worker: Worker, run: Extract<Run, { at: "acquiring" }>, setting: Setting): World {
  return advance(world, worker, run.machine, { event: "read", seen: seenOf(world.document, world.now) }, setting);
}

function advance(
  world: World,
  worker: Worker,
  machine: AcquisitionState,
  event: AcquisitionEvent,
  setting: Setting,
): World {
  const { mutant } = setting;
  const context = contextOf(world, worker, setting);
  const heard = mutant.event?.(mutateSeen(event, machine, setting), machine) ?? mutateSeen(event, machine, setting);
  const [next, action] = stepAcquisition(mutant.machine?.(machine, context) ?? machine, heard, context);
  return carryOut(world, worker, next, action, setting);
}

function carryOut(
  world: World,
  worker: Worker,
  machine: AcquisitionState,
  action: AcquisitionAction,
  setting: Setting,
): World {
  const acquiring = (awaits: Extract<Run, { at: "acquiring" }>["awaits"], claims = worker.claims): World =>
    withWorker(world, { ...worker, claims, run: { at: "acquiring", machine, awaits } });
  switch (action.action) {
    case "write": {
      const isClaim = action.write.transition === "claim" || action.write.transition === "claim_again";
      const next = acquiring({ kind: "write" }, isClaim ? worker.claims + 1 : worker.claims);
      return post(next, worker.name, "acquisition", action.write, setting);
    }
    case "read":
      return acquiring({ kind: "read" });
    case "wait": {
      const sent = machine.sent.map((each) => each.claimId);
      judgeWait(world.ghost, sent, worker.abandoned, world.document, world.now);
      return acquiring({ kind: "change", after: action.after, until: world.now + action.timeoutMs });
    }
    case "enter": {
      const ghost = judgeFire(world.ghost, action.claim.claimId, world.document, world.now, timesOf(setting));
      return withWorker({ ...world, ghost }, { ...worker, run: { at: "running", claim: action.claim } });
    }
    case "answer":
    case "reject": {
      if (action.action === "answer") judgeAnswer(world, worker, action.answer, machine);
      const ids = action.abandon.map((each) => each.claimId);
      let next: World = {
        ...withWorker(world, { ...worker, abandoned: [...worker.abandoned, ...ids], run: { at: "idle" } }),
        ghost: { ...world.ghost, endedUnfired: [...world.ghost.endedUnfired, ...ids] },
      };
      for (const { write } of action.abandon) next = post(next, worker.name, "background", write, setting);
      return next;
    }
  }
}

function judgeAnswer(
  world: World,
  worker: Worker,
  answer: Extract<AcquisitionAction, { action: "answer" }>["answer"],
  machine: AcquisitionState,
): void {
  if (answer.answer === "completed") {
    judgeReplay(world.ghost, worker.fingerprint, answer.seen);
  }
  if (answer.answer === "conflict" && answer.seen.record.fingerprint === worker.fingerprint) {
    throw new Violation("equal arguments met a conflict");
  }
  if (answer.answer === "in_flight" && world.now < machine.acquisition.waitUntil) {
    throw new Violation("a caller was sent away before its time");
  }
}

/** The process dies: it hears nothing any more and has forgotten everything; what it sent is on its way. */
function crash(world: World, worker: Worker): World {
  let next = withWorker(world, { ...worker, abandoned: [], run: { at: "idle" } });
  for (const hearer of ["acquisition", "renewal", "settlement", "background"] as const) {
    next = unheard(next, worker.name, hearer);
  }
  return next;
}

/** Nobody hears these answers any more. */
function unheard(world: World, name: string, hearer: Message["for"]): World {
  const mine = (message: Message): boolean => message.worker === name && message.for === hearer;
  return {
    ...world,
    messages: world.messages
      .filter((message) => !(mine(message) && message.answer !== undefined))
      .map((message) => (mine(message) ? { ...message, for: "nobody" } : message)),
  };
}

function post(world: World, name: string, hearer: Message["for"], write: ModelWrite, setting: Setting): World {
  const seen = seenOf(world.document, world.now);
  return send(world, name, hearer, setting.mutant.write?.(write, seen) ?? write);
}

function mutateSeen(event: AcquisitionEvent, machine: AcquisitionState, setting: Setting): AcquisitionEvent {
  const change = setting.mutant.seen;
  if (change === undefined) return event;
  if (event.event === "read" && event.seen !== undefined) return { ...event, seen: change(event.seen, machine) };
  if (event.event === "refused" && event.current !== undefined) {
    return { ...event, current: change(event.current, machine) };
  }
  return event;
}

function changed(world: World, after: number, until: number): boolean {
  return (living(world.document, world.now)?.revision ?? 0) !== after || world.now >= until;
}

function contextOf(world: World, worker: Worker, setting: Setting): StepContext {
  const context: StepContext = {
    now: world.now,
    claimId: `${worker.name}${worker.claims + 1}`,
    at: someday,
    abandoned: (claimId) => worker.abandoned.includes(claimId),
  };
  return setting.mutant.context?.(context) ?? context;
}

function identityOf(worker: Worker): ToolCallIdentity {
  return { tool: "t", key: "t:k", fingerprint: worker.fingerprint, intent: 0, policy: "refire", marks: false };
}

function timesOf(setting: Setting): Times {
  const { pendingTtl, completedTtl, failedTtl } = setting.timing;
  return { holdMs: pendingTtl * 1000, windowMs: completedTtl * 1000, failedMs: failedTtl * 1000 };
}
