import type { Fields } from "../documents/contract.js";
import { decideRun, type RecordAnswer, type RunView } from "./decisions.js";
import { claimTaken } from "./errors.js";
import type { SeenRecord, ToolCallIdentity } from "./record.js";
import { earlierClaim, isChosen, mayBeFoundAgain, type RemoteClaimant, termsOf } from "./remote-claimant.js";
import type { CallTiming, HeldClaim, RecordPut, RecordWrite, SentClaim } from "./transition-types.js";
import { abandon, markFired, renew } from "./transitions.js";

/*
 * The way of a run from its beginning to the entry of the tool, or to an answer that makes the entry needless, as a
 * machine: what happened goes in, what to do next comes out. Whoever carries it out may be slow, lose answers or die;
 * test/tool-calls/explorer drives this very machine through all of that.
 *
 *   begun -> write the claim -> written -> enter
 *                            -> refused, another's claim -> wait -> read -> write the claim ...
 *                            -> no answer -> read -> the record bears our claim id -> enter
 *
 * A claim is valid until the monotonic time before it, or its last acknowledged renewal, was first sent, plus its hold.
 * The time of the answer would be wrong: it may be the second answer to a write that happened long ago.
 */

export interface Acquisition {
  readonly identity: ToolCallIdentity;
  readonly timing: CallTiming;
  readonly owner: string;
  readonly extra: Fields | undefined;
  readonly canLookUp: boolean;
  /** Monotonic milliseconds until which to wait for somebody else's claim. */
  readonly waitUntil: number;
  /** For whom the claim is made, when that is not this process. */
  readonly remote?: RemoteClaimant | undefined;
}

/** What the surroundings lend to one step. */
export interface StepContext {
  /** Monotonic milliseconds, taken right before the step; what the step asks for is done right after it. */
  readonly now: number;
  /** A fresh one. */
  readonly claimId: string;
  /** The wall clock, ISO 8601. */
  readonly at: string;
  readonly abandoned: (claimId: string) => boolean;
}

export type WriteEvent =
  | { readonly event: "written"; readonly revision: number }
  /** The condition did not hold; `current` is what is there instead. */
  | { readonly event: "refused"; readonly current: SeenRecord | undefined }
  | {
      /** Neither done nor refused by its condition. */
      readonly event: "unanswered";
      readonly error: unknown;
      /** Where the fault lies: only one of the store may be gone when the write is repeated as it is. */
      readonly fault: "store" | "access" | "request" | "size" | "record";
      /** Whether the write may have happened all the same. */
      readonly applied: "no" | "maybe";
    };

export type AcquisitionEvent =
  | { readonly event: "begun" }
  | WriteEvent
  | { readonly event: "read"; readonly seen: SeenRecord | undefined }
  | { readonly event: "read_failed"; readonly error: unknown }
  /** The caller gave up. */
  | { readonly event: "aborted"; readonly reason: unknown };

/** A claim that was acknowledged, or recognised in the record, and how long it surely holds. */
export interface ValidClaim extends HeldClaim {
  /** Monotonic milliseconds. */
  readonly validUntil: number;
  /** It was found in the record: whoever wrote it got no answer. */
  readonly recognised?: true;
}

export type AcquisitionAction =
  | { readonly action: "write"; readonly write: RecordWrite }
  | { readonly action: "read" }
  | { readonly action: "wait"; readonly after: number; readonly timeoutMs: number }
  /** The claim is valid now: enter with nothing awaited in between. */
  | { readonly action: "enter"; readonly claim: ValidClaim }
  | { readonly action: "answer"; readonly answer: CallAnswer; readonly abandon: readonly AbandonedClaim[] }
  | { readonly action: "reject"; readonly error: unknown; readonly abandon: readonly AbandonedClaim[] };

/** A record's answer, or that somebody else is still at work and the time to wait is over. */
export type CallAnswer = RecordAnswer | { readonly answer: "in_flight"; readonly seen: SeenRecord };

/** A claim that this run leaves behind unfired, and the write that takes it back. */
export interface AbandonedClaim {
  readonly claimId: string;
  readonly timing: CallTiming;
  readonly write: RecordPut;
}

export interface AcquisitionState {
  readonly acquisition: Acquisition;
  readonly stage:
    | { readonly at: "writing claim"; readonly claimId: string }
    | Preparing
    | { readonly at: "reading"; readonly failure: Failure | undefined }
    | { readonly at: "over" };
  readonly sent: readonly Sent[];
  /** Writes that got no answer. */
  readonly unanswered: number;
}

/** Claimed, but something must be written before the tool may be entered. */
interface Preparing {
  readonly at: "preparing";
  readonly claim: ValidClaim;
  readonly write: "renew" | "mark";
  /** When the write was sent: monotonic milliseconds, and by the wall clock. */
  readonly sentAt: number;
  readonly sentAtWall: string;
}

interface Sent extends SentClaim {
  readonly sentAt: number;
  /** Whether it may be in the record without this run knowing. */
  readonly open: boolean;
}

interface Failure {
  readonly error: unknown;
  readonly applied: "no" | "maybe";
}

type Step = readonly [AcquisitionState, AcquisitionAction];

/** Writes without an answer after which a run gives up. Each has already been repeated by the transport. */
const unansweredMax = 3;

/** Begins by claiming as if nobody had: a call that is new needs one round trip, and one that is not learns it from the refusal. */
export function beginAcquisition(acquisition: Acquisition, context: StepContext): Step {
  const state: AcquisitionState = { acquisition, stage: { at: "over" }, sent: [], unanswered: 0 };
  return decide(state, undefined, context);
}

/** One step. @throws Error when the event does not belong to the stage, which is a fault of whoever drives the machine */
export function stepAcquisition(state: AcquisitionState, event: AcquisitionEvent, context: StepContext): Step {
  const { stage } = state;
  if (event.event === "aborted") return reject(state, event.reason);
  switch (stage.at) {
    case "writing claim":
      return claimEnded(state, stage.claimId, event, context);
    case "preparing":
      return preparationEnded(state, stage, event, context);
    case "reading":
      if (event.event === "read_failed") return reject(state, (stage.failure ?? event).error);
      if (event.event === "read") return decide(state, event.seen, context, stage.failure);
      break;
    case "over":
      break;
  }
  throw new Error(`a run that is ${stage.at} cannot meet "${event.event}"`);
}

function decide(state: AcquisitionState, seen: SeenRecord | undefined, context: StepContext, failure?: Failure): Step {
  const decision = decideRun(seen, viewOf(state, seen, context));
  switch (decision.decision) {
    case "claim":
    case "look_up": {
      // The store refused to write, or stopped answering: the record has no answer for this caller either.
      if (failure !== undefined && (failure.applied === "no" || state.unanswered >= unansweredMax)) {
        return reject(state, failure.error);
      }
      // A late copy of a request whose claim has ended: nobody waits for its answer, and nobody would work under it.
      if (seen !== undefined && isChosen(state.acquisition.remote, seen.record.claim_id)) {
        return reject(state, claimTaken(seen.record.key, seen.record));
      }
      const { write } = decision;
      const { now } = context;
      const claimId = claimIdFor(state, context);
      const sent: Sent = { claimId, record: write.set, timing: state.acquisition.timing, sentAt: now, open: true };
      return [
        { ...state, stage: { at: "writing claim", claimId }, sent: [...state.sent, sent] },
        { action: "write", write },
      ];
    }
    case "own":
      return recognise(state, decision.seen, context);
    case "wait":
      return wait(state, decision.seen, decision.lapseInMs, context);
    case "answer":
      return [over(state), { action: "answer", answer: decision.answer, abandon: openClaims(state) }];
  }
}

function claimEnded(state: AcquisitionState, claimId: string, event: AcquisitionEvent, context: StepContext): Step {
  switch (event.event) {
    case "written": {
      const sent = state.sent.findLast((each) => each.claimId === claimId);
      if (sent === undefined) throw new Error("a claim was written that was never sent");
      return prepare(closed(state, claimId), hold(sent, sent.record, event.revision), context);
    }
    case "refused":
      return decide(closed(state, claimId), event.current, context);
    case "unanswered": {
      const next = event.applied === "no" ? closed(state, claimId) : state;
      if (event.fault !== "store") return reject(next, event.error);
      return [
        { ...next, stage: { at: "reading", failure: event }, unanswered: state.unanswered + 1 },
        { action: "read" },
      ];
    }
    default:
      throw new Error(`a claim cannot end with "${event.event}"`);
  }
}

/** The record is pending under a claim of this run, or of this claimant, whose answer was lost. */
function recognise(state: AcquisitionState, seen: SeenRecord, context: StepContext): Step {
  const { record } = seen;
  const { remote, timing } = state.acquisition;
  const sent = isChosen(remote, record.claim_id)
    ? earlierClaim(record, timing)
    : state.sent.find((each) => each.claimId === record.claim_id);
  if (sent === undefined) throw new Error("a claim was recognised that was never sent");
  const claim = hold(sent, record, record.fencing_token ?? seen.revision);
  return prepare(closed(state, sent.claimId), { ...claim, recognised: true }, context);
}

/**
 * The last gate before the tool: the claim is valid at this instant, and a record that asks for a mark has it, unless the
 * caller's tool sets the mark itself, right before its effect.
 */
function prepare(state: AcquisitionState, claim: ValidClaim, context: StepContext): Step {
  const { now, at } = context;
  const { phase, marks, fired_at } = claim.record;
  if (marks && phase === "run" && fired_at === null && !state.acquisition.identity.marks) {
    const stage: Preparing = { at: "preparing", claim, write: "mark", sentAt: now, sentAtWall: at };
    return [
      { ...state, stage },
      { action: "write", write: markFired(claim, at) },
    ];
  }
  if (now < claim.validUntil) return [over(state), { action: "enter", claim }];
  const stage: Preparing = { at: "preparing", claim, write: "renew", sentAt: now, sentAtWall: at };
  return [
    { ...state, stage },
    { action: "write", write: renew(claim, at) },
  ];
}

function preparationEnded(
  state: AcquisitionState,
  stage: Preparing,
  event: AcquisitionEvent,
  context: StepContext,
): Step {
  const { claim } = stage;
  switch (event.event) {
    case "written":
      if (stage.write === "renew") return prepare(state, prolonged(claim, stage.sentAt), context);
      return prepare(state, { ...claim, record: { ...claim.record, fired_at: stage.sentAtWall } }, context);
    case "refused":
      // Somebody took the claim over, or it was forgotten: as if this run had just come.
      return decide(state, event.current, context);
    case "unanswered": {
      const next = { ...state, unanswered: state.unanswered + 1 };
      if (event.fault !== "store" || next.unanswered >= unansweredMax) return reject(next, event.error);
      return prepare(next, claim, context);
    }
    default:
      throw new Error(`a preparation cannot end with "${event.event}"`);
  }
}

function wait(state: AcquisitionState, seen: SeenRecord, lapseInMs: number | null, context: StepContext): Step {
  const leftMs = state.acquisition.waitUntil - context.now;
  if (leftMs <= 0) {
    return [over(state), { action: "answer", answer: { answer: "in_flight", seen }, abandon: openClaims(state) }];
  }
  const timeoutMs = lapseInMs === null ? leftMs : Math.min(lapseInMs, leftMs);
  return [
    { ...state, stage: { at: "reading", failure: undefined } },
    { action: "wait", after: seen.revision, timeoutMs },
  ];
}

function reject(state: AcquisitionState, error: unknown): Step {
  return [over(state), { action: "reject", error, abandon: openClaims(state) }];
}

/** All that may stand in the record as this run's claim, and must not be waited for by anybody. */
function openClaims(state: AcquisitionState): AbandonedClaim[] {
  // Its claimant repeats the request: taken back, the claim would be lost under its hands.
  if (state.acquisition.remote?.claimId !== undefined) return [];
  const open: SentClaim[] = state.sent.filter((sent) => sent.open);
  if (state.stage.at === "preparing") open.push(state.stage.claim);
  return open.map((sent) => ({ claimId: sent.claimId, timing: sent.timing, write: abandon(sent) }));
}

/** The validity of a claim whose renewal was first sent at `sentAt`, monotonic milliseconds. */
export function prolonged(claim: ValidClaim, sentAt: number): ValidClaim {
  return { ...claim, validUntil: sentAt + claim.timing.pendingTtl * 1000 };
}

function hold(sent: Sent, record: SentClaim["record"], fencingToken: number): ValidClaim {
  const { claimId, timing, sentAt } = sent;
  return prolonged({ claimId, timing, record, fencingToken, validUntil: 0 }, sentAt);
}

function closed(state: AcquisitionState, claimId: string): AcquisitionState {
  return { ...state, sent: state.sent.map((sent) => (sent.claimId === claimId ? { ...sent, open: false } : sent)) };
}

function over(state: AcquisitionState): AcquisitionState {
  return { ...state, stage: { at: "over" } };
}

function claimIdFor(state: AcquisitionState, context: StepContext): string {
  return state.acquisition.remote?.claimId ?? context.claimId;
}

function viewOf(state: AcquisitionState, seen: SeenRecord | undefined, context: StepContext): RunView {
  const { identity, timing, owner, extra, canLookUp, remote } = state.acquisition;
  return {
    identity,
    timing,
    extra,
    canLookUp,
    claimant: { claimId: claimIdFor(state, context), owner, at: context.at, ...termsOf(remote, timing) },
    sent: (claimId) =>
      isChosen(remote, claimId) ? mayBeFoundAgain(seen) : state.sent.some((each) => each.claimId === claimId),
    abandoned: context.abandoned,
  };
}
