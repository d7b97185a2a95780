import {
  type AcquisitionAction,
  type AcquisitionEvent,
  type AcquisitionState,
  beginAcquisition,
  type StepContext,
  stepAcquisition,
} from "../../src/tool-calls/acquisition-decisions.js";
import type { ToolCallIdentity } from "../../src/tool-calls/record.js";
import { judgeFire, judgeReplay, judgeWait, type Times, Violation } from "./explorer-oracle.js";
import { type ModelWrite, seenOf } from "./explorer-store.js";
import { type Message, type Run, type Setting, send, type Worker, type World, withWorker } from "./explorer-world.js";

/* A worker that carries out what the product's machine asks for, with the mutant of the setting in between. */

/** Makes up times for people, which decide nothing. */
export const someday = "2026-01-01T00:00:00.000Z";

export function begin(world: World, worker: Worker, setting: Setting): World {
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
    claimId: `${worker.name}${worker.claims + 1}`,
    at: someday,
    abandoned: (claimId) => worker.abandoned.includes(claimId),
  };
  return setting.mutant.context?.(context) ?? context;
}

function identityOf(worker: Worker): ToolCallIdentity {
  return { tool: "t", key: "t:k", fingerprint: worker.fingerprint, intent: 0, policy: "refire", marks: false };
}

export function timesOf(setting: Setting): Times {
  const { pendingTtl, completedTtl, failedTtl } = setting.timing;
  return { holdMs: pendingTtl * 1000, windowMs: completedTtl * 1000, failedMs: failedTtl * 1000 };
}
