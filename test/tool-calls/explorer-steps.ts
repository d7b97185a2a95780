import type { AcquisitionEvent } from "../../src/tool-calls/acquisition-decisions.js";
import { stepSettlement } from "../../src/tool-calls/settlement-decisions.js";
import type { RecordPut } from "../../src/tool-calls/transition-types.js";
import { complete, fail, renew, unknown } from "../../src/tool-calls/transitions.js";
import { judgeAccepted, judgeRefused } from "./explorer-oracle.js";
import { apply, living, seenOf } from "./explorer-store.js";
import { advance, begin, post, read, someday, timesOf } from "./explorer-worker.js";
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

function changed(world: World, after: number, until: number): boolean {
  return (living(world.document, world.now)?.revision ?? 0) !== after || world.now >= until;
}
