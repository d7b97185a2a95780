import { Bench } from "tinybench";
import type { Round } from "./statistics.js";

/** One operation that is repeated and timed. */
export interface MeasuredCase {
  readonly name: string;
  /** The case of the same comparison that does the same work without what this one adds. */
  readonly comparedWith?: string;
  /**
   * Carries out one operation, checks its answer, and tells how many milliseconds the operation alone took. Called by
   * several callers at a time.
   */
  once(): Promise<number>;
  /** Runs after each round, untimed. Throws when the store does not hold what the operations have written. */
  check(): Promise<void>;
}

/** Cases that are compared with one another, and so measured in turns. */
export type Comparison = readonly MeasuredCase[];

/** How long to measure. */
export interface RoundPlan {
  /** Rounds of each case before those that count: code is compiled and caches fill. */
  readonly warmupRounds: number;
  readonly rounds: number;
  /** Milliseconds during which operations of one round are begun; 0: `operationsPerCaller` alone ends it. */
  readonly roundMs: number;
  /** Operations after which a round ends early; 0: the time alone ends it. */
  readonly operationsPerCaller: number;
}

/**
 * Measures the cases of a comparison round by round, all of them in each round and every other time in reverse order, so
 * that whatever else the machine is doing meanwhile, and whatever the store does in the background, hits all of them alike.
 *
 * @returns the rounds of each case, in the order of the cases
 */
export function measureInterleaved(
  cases: Comparison,
  plan: RoundPlan & { readonly callers: number; readonly signal?: AbortSignal | undefined },
): Promise<Round[][]> {
  return inTurns(cases, plan, async (one) => {
    const round = await measureRound(one, plan);
    await one.check();
    return round;
  });
}

/** The same for whatever has rounds: `measure` carries out one round and its checks. */
export async function inTurns<Case>(
  cases: readonly Case[],
  plan: Pick<RoundPlan, "warmupRounds" | "rounds"> & { readonly signal?: AbortSignal | undefined },
  measure: (one: Case) => Promise<Round>,
): Promise<Round[][]> {
  const all: Round[][] = cases.map(() => []);
  for (let number = -plan.warmupRounds; number < plan.rounds; number++) {
    const order = [...cases.entries()];
    if (number % 2 !== 0) order.reverse();
    for (const [index, one] of order) {
      plan.signal?.throwIfAborted();
      const round = await measure(one);
      if (number >= 0) all[index]?.push(round);
    }
  }
  return all;
}

/** How often a round is begun that the machine was too busy for: its time was over before its first operation began. */
const attemptsAtRound = 5;

/**
 * One round by tinybench, with its concurrency within a task: so many callers, each of which begins its next operation
 * when the last one has been answered and checked. Two things it cannot know by itself. The latency of an operation is
 * handed to it, since it would include the check. And its throughput is that of one caller (the inverse of the latency),
 * so the time of the whole round is taken here.
 */
export async function measureRound(one: MeasuredCase, plan: RoundPlan & { readonly callers: number }): Promise<Round> {
  for (let attempt = 1; attempt <= attemptsAtRound; attempt++) {
    const round = await tryRound(one, plan);
    if (round !== undefined) return round;
  }
  throw new Error(`${one.name}: the machine is too busy; ${attemptsAtRound} times a round was over before it began`);
}

async function tryRound(one: MeasuredCase, plan: RoundPlan & { readonly callers: number }): Promise<Round | undefined> {
  const bench = new Bench({
    concurrency: "task",
    threshold: plan.callers,
    time: plan.roundMs,
    iterations: plan.operationsPerCaller * plan.callers,
    warmup: false,
    retainSamples: true,
    throws: true,
  });
  let begun = 0;
  let ended = 0;
  bench.add(one.name, async () => ({ overriddenDuration: await one.once() }), {
    async: true,
    beforeAll: () => {
      begun = performance.now();
    },
    afterAll: () => {
      ended = performance.now();
    },
  });
  await bench.run().catch((error: unknown) => {
    // Several callers met an error. The first one tells enough, and each of them ends the run.
    throw error instanceof AggregateError ? error.errors[0] : error;
  });
  const result = bench.getTask(one.name)?.result;
  // What tinybench leaves behind when it has run nothing.
  if (result?.state === "started") return undefined;
  const samples = result?.state === "completed" ? result.latency.samples : undefined;
  if (samples === undefined) throw new Error(`${one.name}: the round ended as ${result?.state}, without samples`);
  return { latenciesMs: samples, elapsedMs: ended - begun };
}
