import type { ToolCallPolicy } from "../../src/tool-calls/record.js";
import { inDoubt } from "./explorer-beginnings.js";
import { noGhost, Violation } from "./explorer-ghost.js";
import { endKey, judgeEnd } from "./explorer-last-caller.js";
import { stepsFrom } from "./explorer-steps.js";
import { type Budget, type Mutant, noBudget, type Setting, type World } from "./explorer-world.js";

/*
 * Drives the product's own decisions (acquisition, settlement and the transitions) through every order in which the steps
 * of a few workers, of the messages between them and one store, and of time can happen, breadth first, so that the first
 * violation found has a shortest story.
 */

/** What a worker does. */
export interface Workload {
  /** The arguments of its calls. */
  readonly args: string;
  /** How many it may make. */
  readonly calls: number;
  /** Of its calls; `refire` when absent. */
  readonly policy?: ToolCallPolicy;
  readonly marks?: boolean;
  /** Whether it brings a look-up; as the policy asks for when absent. */
  readonly looksUp?: boolean;
  /** Rounds of a reconciler, 0 when absent. */
  readonly rounds?: number;
}

export interface Exploration {
  readonly workers: readonly Workload[];
  readonly budget: Partial<Budget>;
  readonly mutant?: Mutant;
  /** Begin with a call that an earlier run, which is no more, fired in doubt: with its effect or without. */
  readonly doubt?: "done" | "not done";
  /** The lengths of things; `small` when absent. */
  readonly lengths?: Lengths;
  /** An exploration that would need more states than this is a fault of the test. */
  readonly statesMax?: number;
}

export interface Explored {
  readonly states: number;
  /** What was violated, and the steps that lead there; undefined: nothing was. */
  readonly violation?: { readonly message: string; readonly story: readonly string[] };
}

/** One tick is a second. */
export type Lengths = Pick<Setting, "timing" | "waitMs" | "runMs">;

/** A hold of one tick, a window of two: a lapse and the end of the window are within three ticks. */
const small: Lengths = { timing: { pendingTtl: 1, completedTtl: 2, failedTtl: 1 }, waitMs: 2000, runMs: 2000 };

/** A hold that can be renewed before it is over, and a window that outlives two of them. */
export const large: Lengths = { timing: { pendingTtl: 2, completedTtl: 4, failedTtl: 2 }, waitMs: 3000, runMs: 3000 };

interface Visited {
  readonly parent: Visited | undefined;
  readonly label: string;
}

export function explore(exploration: Exploration): Explored {
  const rules: Setting = { ...(exploration.lengths ?? small), tickMs: 1000, mutant: exploration.mutant ?? {} };
  const statesMax = exploration.statesMax ?? 2_000_000;
  const parts = new Parts();
  const seen = new Set<string>();
  const ends = new Set<string>();
  const start = startOf(exploration);
  let frontier: [World, Visited][] = [[start, { parent: undefined, label: "the beginning" }]];
  seen.add(parts.fingerprintOf(start));
  while (frontier.length > 0) {
    const next: [World, Visited][] = [];
    for (const [world, visited] of frontier) {
      const steps = stepsFrom(world, rules);
      if (steps.length === 0 && !ends.has(endKey(world))) {
        ends.add(endKey(world));
        steps.push(["one more caller comes", () => afterEnd(world, rules)]);
      }
      for (const [label, take] of steps) {
        const here: Visited = { parent: visited, label };
        let after: World;
        try {
          after = take();
        } catch (error) {
          if (!(error instanceof Violation)) throw error;
          return { states: seen.size, violation: { message: error.message, story: storyOf(here) } };
        }
        const fingerprint = parts.fingerprintOf(after);
        if (seen.has(fingerprint)) continue;
        seen.add(fingerprint);
        if (seen.size > statesMax) throw new Error(`more than ${statesMax} states`);
        next.push([after, here]);
      }
    }
    frontier = next;
  }
  return { states: seen.size };
}

function afterEnd(world: World, rules: Setting): World {
  judgeEnd(world, rules);
  return world;
}

function startOf({ workers, budget, doubt }: Exploration): World {
  const empty: World = {
    now: 0,
    document: undefined,
    revision: 0,
    messages: [],
    budget: { ...noBudget, ...budget },
    ghost: noGhost,
    workers: workers.map(({ args, calls, policy = "refire", marks = false, looksUp, rounds = 0 }, index) => ({
      name: String.fromCharCode("A".charCodeAt(0) + index),
      caller: { args, policy, marks, looksUp: looksUp ?? policy === "reconcile" },
      calls,
      rounds,
      claims: 0,
      abandoned: [],
      run: { at: "idle" },
    })),
  };
  return doubt === undefined ? empty : inDoubt(empty, doubt);
}

/** Members that many objects share and few steps change. They get a number of their own; all others are written out. */
const shared: ReadonlySet<string> = new Set([
  "acquisition",
  "record",
  "set",
  "fields",
  "timing",
  "error",
  "current",
  "caller",
]);

/**
 * Numbers for equal parts of worlds, so that a world is a handful of numbers. A step changes one or two of the parts and
 * shares the others, whose numbers are known. The order of the messages and their ids mean nothing.
 */
class Parts {
  readonly #numbers = new Map<string, number>();
  readonly #known = new WeakMap<object, number>();

  fingerprintOf({ now, document, revision, workers, messages, budget, ghost }: World): string {
    let text = `${now} ${revision} ${document === undefined ? "-" : this.#numberOf(document)} ${this.#numberOf(budget)}`;
    text += ` ${this.#numberOf(ghost)}`;
    for (const worker of workers) text += ` ${this.#numberOf(worker)}`;
    const sorted = messages.map((message) => this.#numberOf(message)).sort((a, b) => a - b);
    return `${text} ${sorted.join(" ")}`;
  }

  #numberOf(part: object): number {
    const known = this.#known.get(part);
    if (known !== undefined) return known;
    const text = this.#textOf(part);
    const number = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, number);
    this.#known.set(part, number);
    return number;
  }

  #textOf(part: object): string {
    let text = "";
    for (const name of Object.keys(part)) {
      if (name === "id") continue;
      const value: unknown = Reflect.get(part, name);
      if (typeof value !== "object" || value === null) text += `${name}:${String(value)},`;
      else if (shared.has(name)) text += `${name}#${this.#numberOf(value)},`;
      else text += `${name}{${this.#textOf(value)}},`;
    }
    return text;
  }
}

function storyOf(visited: Visited): string[] {
  const story: string[] = [];
  for (let each: Visited | undefined = visited; each !== undefined; each = each.parent) story.unshift(each.label);
  return story;
}
