import type {
  AcquisitionEvent,
  AcquisitionState,
  StepContext,
  ValidClaim,
  WriteEvent,
} from "../../src/tool-calls/acquisition-decisions.js";
import type { FailureClass } from "../../src/tool-calls/failure.js";
import type { SeenRecord, ToolCallPolicy } from "../../src/tool-calls/record.js";
import type { CallTiming, RecordPut, SentClaim } from "../../src/tool-calls/transition-types.js";
import type { Ghost } from "./explorer-ghost.js";
import type { ModelWrite, StoredDocument } from "./explorer-store.js";

/* The state of the explored world. All of it is immutable, so that a step is a new world that shares most of the old one. */

export interface World {
  /** Milliseconds: the store's time and everybody's monotonic time. */
  readonly now: number;
  readonly document: StoredDocument | undefined;
  readonly revision: number;
  readonly workers: readonly Worker[];
  readonly messages: readonly Message[];
  readonly budget: Budget;
  readonly ghost: Ghost;
}

/** How much may still go wrong, or happen at all. */
export interface Budget {
  readonly ticks: number;
  /** Answers, or whole requests, that are lost. */
  readonly lost: number;
  /** Second copies of a request that arrive whenever they like. */
  readonly duplicates: number;
  readonly crashes: number;
  readonly renewals: number;
  /** Callers that give up while they wait for anything. */
  readonly aborts: number;
  /** Tools that throw instead of returning. */
  readonly throws: number;
  /** Tools that never end. */
  readonly hangs: number;
  readonly parks: number;
  readonly plans: number;
  /** Decisions of an operator. */
  readonly resolves: number;
  readonly forgets: number;
  /**
   * Words of "not done" that are true only for now, since a worker is suspended between its last look at the claim and its
   * effect.
   */
  readonly pauses: number;
}

/** What a worker's calls ask for. */
export interface Caller {
  readonly args: string;
  readonly policy: ToolCallPolicy;
  readonly marks: boolean;
  /** Whether it brings a function that finds out what an earlier run did. */
  readonly looksUp: boolean;
}

export interface Worker {
  readonly name: string;
  readonly caller: Caller;
  /** Runs that it may still begin. */
  readonly calls: number;
  /** Rounds of a reconciler that it may still go. */
  readonly rounds: number;
  /** Claim ids it has made: their number makes the next one. */
  readonly claims: number;
  /** What its process remembers of claims that it gave up. */
  readonly abandoned: readonly string[];
  readonly run: Run;
}

export type Run =
  | { readonly at: "idle" }
  /** The product's machine waits for `awaits`. */
  | { readonly at: "acquiring"; readonly machine: AcquisitionState; readonly awaits: Awaited }
  | Running
  | Looking
  /** A reconciler claims a look-up. */
  | { readonly at: "asking"; readonly sent: SentClaim; readonly sentAt: number }
  | { readonly at: "settling"; readonly write: RecordPut; readonly again?: Turn }
  /** Of the caller that comes last: what it was told. */
  | { readonly at: "answered"; readonly how: string };

/** The tool is running. */
export interface Running {
  readonly at: "running";
  readonly claim: ValidClaim;
  readonly effect: Effect;
  /** When the mark, or the renewal after it, was sent. */
  readonly sentAt?: number;
  /** When the renewal was sent that is under way beside the tool. */
  readonly renewalSentAt?: number;
  /** Until when a tool that never ends is renewed for. */
  readonly hungUntil?: number;
}

/**
 * - `unmarked`: the tool marks, and has not yet. `marking`: the mark is on its way. `prolonging`: it is written, but the
 *   claim has to be renewed.
 * - `ready`: the tool is past its last look at the claim; the effect comes whenever it comes. `done`: it came.
 */
export type Effect = "unmarked" | "marking" | "prolonging" | "ready" | "done";

/** The word about an earlier run is being found out; undefined: by a reconciler. */
export interface Looking {
  readonly at: "looking";
  readonly claim: ValidClaim;
  readonly again?: Turn;
}

/** How a caller goes on after a look-up. */
export interface Turn {
  readonly waitUntil: number;
  readonly canLookUp: boolean;
}

export type Awaited =
  | { readonly kind: "write" }
  | { readonly kind: "read" }
  | { readonly kind: "change"; readonly after: number; readonly until: number };

/** A request on its way, or its answer on the way back. */
export interface Message {
  readonly id: number;
  readonly worker: string;
  /** Who hears the answer; "nobody": a copy, or what a dead or impatient worker left behind. */
  readonly for: "acquisition" | "renewal" | "mark" | "look-up" | "settlement" | "background" | "nobody";
  readonly write: ModelWrite;
  /** Present once the store has acted on it. */
  readonly answer?: WriteEvent;
}

/** A rule taken away: what the product asks for or hears is changed on the way. */
export interface Mutant {
  readonly write?: (write: ModelWrite, seen: SeenRecord | undefined) => ModelWrite;
  readonly seen?: (seen: SeenRecord, machine: AcquisitionState) => SeenRecord;
  readonly event?: (event: AcquisitionEvent, machine: AcquisitionState) => AcquisitionEvent;
  readonly machine?: (machine: AcquisitionState, context: StepContext) => AcquisitionState;
  readonly context?: (context: StepContext) => StepContext;
  /** What a throw after the claim is taken for. */
  readonly thrown?: FailureClass;
  /** The effect is begun as soon as its mark is answered, whether the claim still holds or not. */
  readonly markSuffices?: true;
  /** Tools park also after their effect. */
  readonly parksLate?: true;
  /** A tool that never ends is renewed for ever. */
  readonly renewsForEver?: true;
}

export interface Setting {
  readonly timing: CallTiming;
  readonly waitMs: number;
  /** How long a tool may run. */
  readonly runMs: number;
  readonly tickMs: number;
  readonly mutant: Mutant;
}

/** What may happen next: a label for the story, and the world after it. */
export type Step = readonly [label: string, take: () => World];

export const noBudget: Budget = {
  ticks: 0,
  lost: 0,
  duplicates: 0,
  crashes: 0,
  renewals: 0,
  aborts: 0,
  throws: 0,
  hangs: 0,
  parks: 0,
  plans: 0,
  resolves: 0,
  forgets: 0,
  pauses: 0,
};

export function workerNamed(world: World, name: string): Worker {
  const worker = world.workers.find((each) => each.name === name);
  if (worker === undefined) throw new Error(`no worker ${name}`);
  return worker;
}

export function withWorker(world: World, worker: Worker): World {
  return { ...world, workers: world.workers.map((each) => (each.name === worker.name ? worker : each)) };
}

export function spend(world: World, name: keyof Budget): World {
  return { ...world, budget: { ...world.budget, [name]: world.budget[name] - 1 } };
}

export function send(world: World, worker: string, hearer: Message["for"], write: ModelWrite): World {
  const id = 1 + world.messages.reduce((most, message) => Math.max(most, message.id), 0);
  return { ...world, messages: [...world.messages, { id, worker, for: hearer, write }] };
}

export function withoutMessage(world: World, id: number): World {
  return { ...world, messages: world.messages.filter((message) => message.id !== id) };
}

export function withMessage(world: World, message: Message): World {
  return { ...world, messages: world.messages.map((each) => (each.id === message.id ? message : each)) };
}
