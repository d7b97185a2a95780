import {
  type AcquisitionAction,
  type AcquisitionEvent,
  type AcquisitionState,
  beginAcquisition,
  type StepContext,
  stepAcquisition,
  type ValidClaim,
} from "../../src/tool-calls/acquisition-decisions.js";
import type { ToolCallIdentity } from "../../src/tool-calls/record.js";
import { type Times, Violation } from "./explorer-ghost.js";
import { judgeFire, judgeReplay, judgeWait } from "./explorer-oracle-effects.js";
import { type ModelWrite, seenOf } from "./explorer-store.js";
import {
  type Caller,
  type Message,
  type Run,
  type Setting,
  send,
  type Turn,
  type Worker,
  type World,
  withWorker,
} from "./explorer-world.js";

/* A worker that carries out what the product's machine asks for, with the mutant of the setting in between. */

/** Makes up times for people, which decide nothing. */
export const someday = "2026-01-01T00:00:00.000Z";

/** The caller that comes when all else is over. */
export const lastCaller = "last";

/** More claims than any caller needs who gets somewhere. */
const claimsMax = 12;

/** Begins a call, or goes on with it after a look-up. */
export function begin(world: World, worker: Worker, turn: Turn, setting: Setting): World {
  const { waitUntil, canLookUp } = turn;
  const acquisition = {
    identity: identityOf(worker.caller),
    timing: setting.timing,
    owner: worker.name,
    extra: undefined,
    canLookUp,
    waitUntil,
  };
  const [machine, action] = beginAcquisition(acquisition, contextOf(world, worker, setting));
  return carryOut(withWorker(world, worker), worker, machine, action, setting);
}

export function read(world: World, worker: Worker, run: Extract<Run, { at: "acquiring" }>, setting: Setting): World {
  return advance(world, worker, run.machine, { event: "read", seen: seenOf(world.document, world.now) }, setting);
}

export function advance(
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
      const isClaim = ["claim", "claim_again", "look_up"].includes(action.write.transition);
      if (worker.claims > claimsMax) throw new Violation("a caller claims over and over and gets nowhere");
      const next = acquiring({ kind: "write" }, isClaim ? worker.claims + 1 : worker.claims);
      return post(next, worker.name, "acquisition", action.write, setting);
    }
    case "read":
      return acquiring({ kind: "read" });
    case "wait": {
      const sent = machine.sent.map((each) => each.claimId);
      judgeWait(world.ghost, action.after, sent, worker.abandoned, world.document, world.now);
      return acquiring({ kind: "change", after: action.after, until: world.now + action.timeoutMs });
    }
    case "enter":
      return enter(world, worker, machine, action.claim, setting);
    case "answer":
    case "reject": {
      if (action.action === "answer") judgeAnswer(world, worker, action.answer, machine);
      const ids = action.abandon.map((each) => each.claimId);
      const how = action.action === "answer" ? action.answer.answer : "rejected";
      const run: Run = worker.name === lastCaller ? { at: "answered", how } : { at: "idle" };
      let next: World = {
        ...withWorker(world, { ...worker, abandoned: [...worker.abandoned, ...ids], run }),
        ghost: { ...world.ghost, endedUnfired: [...world.ghost.endedUnfired, ...ids] },
      };
      for (const { write } of action.abandon) next = post(next, worker.name, "background", write, setting);
      return next;
    }
  }
}

/** The tool, or the look-up that the claim was made for. */
function enter(world: World, worker: Worker, machine: AcquisitionState, claim: ValidClaim, setting: Setting): World {
  const { looksUp, marks } = worker.caller;
  if (claim.record.phase !== "run" && looksUp) {
    const { waitUntil, canLookUp } = machine.acquisition;
    return withWorker(world, { ...worker, run: { at: "looking", claim, again: { waitUntil, canLookUp } } });
  }
  const ghost = judgeFire(world.ghost, claim.claimId, world.document, world.now, timesOf(setting));
  const effect = claim.record.marks && marks && claim.record.fired_at === null ? "unmarked" : "ready";
  return withWorker({ ...world, ghost }, { ...worker, run: { at: "running", claim, effect } });
}

function judgeAnswer(
  world: World,
  worker: Worker,
  answer: Extract<AcquisitionAction, { action: "answer" }>["answer"],
  machine: AcquisitionState,
): void {
  const { args } = worker.caller;
  const { record } = answer.seen;
  if (answer.answer === "completed") judgeReplay(world.ghost, args, answer.seen);
  if (answer.answer === "conflict" && record.fingerprint === args) {
    throw new Violation("equal arguments met a conflict");
  }
  if (answer.answer !== "conflict" && record.fingerprint !== args) {
    throw new Violation("other arguments got an answer that is not theirs");
  }
  if (answer.answer === "in_flight" && world.now < machine.acquisition.waitUntil) {
    throw new Violation("a caller was sent away before its time");
  }
  if (answer.answer === "needs_review" && record.policy === "refire") {
    throw new Violation("a call that may be fired again needs a review");
  }
}

export function post(world: World, name: string, hearer: Message["for"], write: ModelWrite, setting: Setting): World {
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

function contextOf(world: World, worker: Worker, setting: Setting): StepContext {
  const context: StepContext = {
    now: world.now,
    claimId: claimIdOf(worker),
    at: someday,
    abandoned: (claimId) => worker.abandoned.includes(claimId),
  };
  return setting.mutant.context?.(context) ?? context;
}

/** A fresh claim id. */
export function claimIdOf(worker: Worker): string {
  return `${worker.name}${worker.claims + 1}`;
}

export function identityOf({ args, policy, marks }: Caller): ToolCallIdentity {
  return { tool: "t", key: "t:k", fingerprint: args, intent: 0, policy, marks };
}

export function timesOf(setting: Setting): Times {
  const { pendingTtl, completedTtl, failedTtl } = setting.timing;
  return { holdMs: pendingTtl * 1000, windowMs: completedTtl * 1000, failedMs: failedTtl * 1000 };
}
