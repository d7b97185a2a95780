import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import type { Fields } from "../../../src/documents/contract.js";
import { isPlainObject } from "../../../src/documents/plain-object.js";
import { memberOf } from "./runtime.js";

/*
 * LangGraph runs a task again from its beginning when a person has answered, and hands out the answers by order: the n-th
 * interrupt() of a task gets the n-th answer. A guarded call that is replayed does not come to its interrupts any more, and
 * calls that look into a store overtake each other. Either way an answer would go to another question than the person saw.
 * So the guarded calls of a task run one after the other, in the order in which they were made, and one that is not entered
 * again passes over what it had counted when it was: its answers, and the subgraphs and tasks that are told apart by order.
 */

/** What LangGraph counts in a task, each by the name of its member; `interruptCounter` counts from -1. */
const counters = ["interruptCounter", "subgraphCounter", "callCounter"] as const;

/** Where a task stands, in the order of `counters`. */
export type Position = readonly number[];

/** How far a call took its task, as it is kept with its result. */
export type Passed = Fields & { readonly task: string; readonly counts: number[] };

/** The member of what stands among a task's answers behind those of a call whose record cannot say how many they were. */
const endMember = "oncekv_end_of";

interface Lane {
  last: Promise<unknown>;
}

/** What is known of a task while it runs: one object of the framework stands for it. */
interface TaskMemory extends Lane {
  /** Calls that are counted already in this run of the task, by their keys: up to which interrupt. */
  readonly counted: Map<string, number>;
}

const memories = new WeakMap<object, TaskMemory>();

/** The guarded call in which the code runs: a call within it does not wait for it, but for others within it. */
const running = new AsyncLocalStorage<Lane & { readonly scratchpad: object }>();

/** Runs a call when those before it in its task are over, whatever became of them. Outside of a task it runs at once. */
export function inTurn<R>(config: unknown, run: () => Promise<R>): Promise<R> {
  const scratchpad = scratchpadOf(config);
  if (scratchpad === undefined) return run();
  const outer = running.getStore();
  const lane: Lane = outer?.scratchpad === scratchpad ? outer : memoryOf(scratchpad);
  const ended = lane.last.then(() => running.run({ scratchpad, last: Promise.resolve() }, run));
  lane.last = ended.catch(() => {});
  return ended;
}

/** The task of the graph in which a call is made; undefined: there is none. */
export function taskOf(config: unknown): Task | undefined {
  const scratchpad = scratchpadOf(config);
  const configurable = memberOf(config, "configurable");
  const id = memberOf(configurable, "__pregel_task_id");
  return scratchpad === undefined || typeof id !== "string" ? undefined : new Task(id, scratchpad, configurable);
}

/** A task, as seen by one guarded call in it. */
export class Task {
  readonly #id: string;
  readonly #scratchpad: object;
  readonly #configurable: unknown;

  constructor(id: string, scratchpad: object, configurable: unknown) {
    this.#id = id;
    this.#scratchpad = scratchpad;
    this.#configurable = configurable;
  }

  /** Where the task stands now. */
  position(): Position {
    return counters.map((name) => Number(memberOf(this.#scratchpad, name) ?? 0));
  }

  /** How far it went since then; undefined: nowhere. */
  passedSince(position: Position): Passed | undefined {
    const counts = this.position().map((now, index) => now - (position[index] ?? 0));
    return counts.every((count) => count <= 0) ? undefined : { task: this.#id, counts };
  }

  /** Remembers that what this record passed is counted in this run of the task. */
  noteCounted(key: string): void {
    memoryOf(this.#scratchpad).counted.set(key, this.#interrupts);
  }

  /** Passes over what a call passed that is not entered again. What passed in another task, or is counted, does not count. */
  passOver(key: string, passed: unknown): void {
    const counts = memberOf(passed, "counts");
    const before = memoryOf(this.#scratchpad).counted.get(key);
    // A task that is retried counts from its beginning again.
    const isCounted = before !== undefined && before <= this.#interrupts;
    if (isCounted || memberOf(passed, "task") !== this.#id || !Array.isArray(counts)) return;
    const [interrupts = 0, ...others] = counts.map(Number);
    for (let passedNow = 0; passedNow < interrupts; passedNow++) this.#passAnswer();
    this.#add(others);
    this.noteCounted(key);
  }

  /** Forgets where the call ended earlier, since it is entered again. */
  forgetEnd(name: string): void {
    const { resume } = this.#answers;
    const end = this.#endOf(name);
    if (end !== -1) resume?.splice(end, 1);
  }

  /** Sets a mark behind the answers of a call whose record cannot say how many they were. The framework keeps it with them. */
  markEnd(name: string, position: Position): void {
    const passed = this.passedSince(position);
    const { resume, send } = this.#answers;
    if (passed === undefined || resume === undefined) return;
    resume.splice(this.#interrupts + 1, 0, { [endMember]: name, counts: passed.counts.slice(1) });
    this.#interrupts += 1;
    send([["__resume__", [...resume]]]);
  }

  /** Passes over the answers of a call that ended there in an earlier run of the task, and is not entered again. */
  passMarkedEnd(name: string): void {
    const end = this.#endOf(name);
    if (end === -1) return;
    const mark = this.#answers.resume?.[end];
    this.#interrupts = end;
    this.#add((memberOf(mark, "counts") as readonly unknown[] | undefined) ?? []);
  }

  get #interrupts(): number {
    return Number(memberOf(this.#scratchpad, "interruptCounter"));
  }

  set #interrupts(count: number) {
    Reflect.set(this.#scratchpad, "interruptCounter", count);
  }

  get #answers(): { readonly resume: unknown[] | undefined; readonly send: (writes: readonly unknown[]) => void } {
    const [resume, send] = [memberOf(this.#scratchpad, "resume"), memberOf(this.#configurable, "__pregel_send")];
    return {
      resume: Array.isArray(resume) ? resume : undefined,
      send: (writes) => void (typeof send === "function" && Reflect.apply(send, undefined, [writes])),
    };
  }

  /** What interrupt() does when its answer is there, for an interrupt that is not made again. */
  #passAnswer(): void {
    const { resume, send } = this.#answers;
    this.#interrupts += 1;
    if (resume === undefined) return;
    if (resume.length <= this.#interrupts) {
      // After a crash the answer may not have been taken yet. Where it is gone its place must be held.
      const isWaiting = memberOf(this.#scratchpad, "nullResume") !== undefined;
      const take = memberOf(this.#scratchpad, "consumeNullResume");
      resume.push(isWaiting && typeof take === "function" ? Reflect.apply(take, this.#scratchpad, []) : null);
    }
    send([["__resume__", resume.slice(0, this.#interrupts + 1)]]);
  }

  #add(counts: readonly unknown[]): void {
    for (const [index, name] of counters.slice(1).entries()) {
      const now = memberOf(this.#scratchpad, name);
      if (typeof now === "number") Reflect.set(this.#scratchpad, name, now + Number(counts[index] ?? 0));
    }
  }

  #endOf(name: string): number {
    const next = this.#interrupts + 1;
    const { resume = [] } = this.#answers;
    return resume.findIndex((answer, at) => at >= next && isPlainObject(answer) && answer[endMember] === name);
  }
}

/** A name of one call in its task, the same when the task runs again. */
export function nameInTask(tool: string, toolCallId: string | undefined, input: unknown): string {
  const text = JSON.stringify([tool, toolCallId ?? null, input ?? null]);
  return createHash("sha256").update(text).digest("base64url");
}

function memoryOf(scratchpad: object): TaskMemory {
  const known = memories.get(scratchpad);
  if (known !== undefined) return known;
  const memory: TaskMemory = { last: Promise.resolve(), counted: new Map() };
  memories.set(scratchpad, memory);
  return memory;
}

function scratchpadOf(config: unknown): object | undefined {
  const scratchpad = memberOf(memberOf(config, "configurable"), "__pregel_scratchpad");
  return typeof scratchpad === "object" && scratchpad !== null ? scratchpad : undefined;
}
