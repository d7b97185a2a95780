import type {
  AcquisitionEvent,
  AcquisitionState,
  StepContext,
  ValidClaim,
  WriteEvent,
} from "../../src/tool-calls/acquisition-decisions.js";
import type { SeenRecord } from "../../src/tool-calls/record.js";
import type { CallTiming, RecordPut } from "../../src/tool-calls/transition-types.js";
import type { Ghost } from "./explorer-oracle.js";
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
}

export interface Worker {
  readonly name: string;
  readonly fingerprint: string;
  /** Runs that it may still begin. */
  readonly calls: number;
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
  /** The tool is running. */
  | { readonly at: "running"; readonly claim: ValidClaim }
  | { readonly at: "settling"; readonly claim: ValidClaim; readonly write: RecordPut };

export type Awaited =
  | { readonly kind: "write" }
  | { readonly kind: "read" }
  | { readonly kind: "change"; readonly after: number; readonly until: number };

/** A request on its way, or its answer on the way back. */
export interface Message {
  readonly id: number;
  readonly worker: string;
  /** Who hears the answer; "nobody": a copy, or what a dead or impatient worker left behind. */
  readonly for: "acquisition" | "renewal" | "settlement" | "background" | "nobody";
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
}

export interface Setting {
  readonly timing: CallTiming;
  readonly waitMs: number;
  readonly tickMs: number;
  readonly mutant: Mutant;
}

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
