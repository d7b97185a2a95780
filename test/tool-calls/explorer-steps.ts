import type { AcquisitionEvent } from "../../src/tool-calls/acquisition-decisions.js";
import { stepSettlement } from "../../src/tool-calls/settlement-decisions.js";
import { Violation } from "./explorer-ghost.js";
import { askingAnswered, lookingSteps, roundSteps } from "./explorer-look-up.js";
import { operatorSteps } from "./explorer-operator.js";
import { judgeAccepted, judgeRefused } from "./explorer-oracle.js";
import { apply, living, seenOf } from "./explorer-store.js";
import { markAgain, markAnswered, renewalAnswered, renewHung, toolSteps } from "./explorer-tool.js";
import { advance, begin, read, timesOf } from "./explorer-worker.js";
import {
  type Message,
  type Setting,
  type Step,
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

const lostError = new Error("the answer was lost");

/** Ticks after which everybody must have got an answer, when nothing goes wrong any more. */
const ticksMax = 60;

export const timePasses = "time passes";

export function stepsFrom(world: World, setting: Setting): Step[] {
  const steps: Step[] = [];
  for (const worker of world.workers) steps.push(...workerSteps(world, worker, setting));
  for (const message of world.messages) steps.push(...messageSteps(world, message, setting));
  steps.push(...operatorSteps(world, setting));
  const { budget } = world;
  if (budget.ticks > 0) steps.push([timePasses, () => pass(spend(world, "ticks"), setting)]);
  // When nothing else can happen, time passes for those who wait: everybody's turn must come.
  else if (steps.length === 0 && world.workers.some(({ run }) => run.at === "acquiring")) {
    steps.push([timePasses, () => pass(world, setting)]);
  }
  return steps;
}

function pass(world: World, setting: Setting): World {
  const now = world.now + setting.tickMs;
  if (now > ticksMax * setting.tickMs) throw new Violation("a caller waits for ever");
  let next = renewHung({ ...world, now }, setting);
  // These are never late.
  for (const message of next.messages) {
    if (!world.messages.some(({ id }) => id === message.id)) next = arrive(next, message, setting);
  }
  return next;
}

function workerSteps(world: World, worker: Worker, setting: Setting): Step[] {
  const { name, run } = worker;
  const { budget } = world;
  const steps: Step[] = [];
  switch (run.at) {
    case "idle":
      if (worker.calls > 0) {
        const turn = { waitUntil: world.now + setting.waitMs, canLookUp: worker.caller.looksUp };
        steps.push([`${name} calls`, () => begin(world, { ...worker, calls: worker.calls - 1 }, turn, setting)]);
      }
      steps.push(...roundSteps(world, worker, setting));
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
    case "looking":
      steps.push(...lookingSteps(worker, run, world, setting));
      break;
    default:
      break;
  }
  if (budget.crashes > 0 && run.at !== "idle") {
    steps.push([`${name} crashes`, () => crash(spend(world, "crashes"), worker)]);
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
    const after = spend(left, "lost");
    steps.push([`${name} gets no answer`, () => hear(after, message, event, setting)]);
    const worker = world.workers.find((each) => each.name === message.worker);
    if (message.for === "mark" && worker?.run.at === "running") {
      const again = markAgain(after, worker, worker.run, setting);
      if (again !== undefined) steps.push([`${name} gets no answer and is sent again`, () => again]);
    }
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
  if (message.for === "background") return settleInBackground(world, message, event);
  const worker = workerNamed(world, message.worker);
  const { run } = worker;
  switch (message.for) {
    case "acquisition":
      if (run.at !== "acquiring") throw new Error("an answer for a run that does not wait for it");
      return advance(world, worker, run.machine, event, setting);
    case "mark":
      if (run.at !== "running") throw new Error("a mark was answered that nobody waits for");
      return markAnswered(world, worker, run, event, setting);
    case "renewal":
      return run.at === "running" ? renewalAnswered(world, worker, run, event) : world;
    case "look-up":
      if (run.at !== "asking") throw new Error("a look-up was answered that nobody waits for");
      return askingAnswered(world, worker, run, event, setting);
    case "settlement": {
      if (run.at !== "settling") throw new Error("an outcome was answered that nobody waits for");
      const { step } = stepSettlement(run.write, event);
      // The caller has its result now, and the outcome goes on trying to reach the store.
      const next = step === "again" ? send(world, worker.name, "background", message.write) : world;
      if (run.again === undefined) return withWorker(next, { ...worker, run: { at: "idle" } });
      return begin(next, worker, run.again, setting);
    }
    case "nobody":
      return world;
  }
}

function settleInBackground(world: World, message: Message, event: NonNullable<Message["answer"]>): World {
  if (message.write.op !== "put") return world;
  const { step } = stepSettlement(message.write, event);
  return step === "again" ? send(world, message.worker, "background", message.write) : world;
}

/** The process dies: it hears nothing any more and has forgotten everything; what it sent is on its way. */
function crash(world: World, worker: Worker): World {
  let next = withWorker(world, { ...worker, abandoned: [], run: { at: "idle" } });
  for (const hearer of ["acquisition", "renewal", "mark", "look-up", "settlement", "background"] as const) {
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
