import { setImmediate as turn } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { ManualClock } from "../../src/base/manual-clock.js";
import { type EmbeddedStore, openMemoryStore } from "../../src/level/index.js";
import { type ToolCalls, type ToolCallsOptions, toolCalls } from "../../src/tool-calls/index.js";
import { FaultyNetwork } from "./faulty-network.js";

/** A store in memory, workers around it, and one clock for all that a test moves by hand. */
export interface Scene {
  readonly clock: ManualClock;
  readonly store: EmbeddedStore;
  /** A worker with its own way to the store; claim ids are its name and a number. */
  worker(name: string, options?: ToolCallsOptions): Worker;
  /** Moves the clock, in steps that let everybody act on what fell due. */
  advance(seconds: number): Promise<void>;
}

export interface Worker {
  readonly calls: ToolCalls;
  readonly network: FaultyNetwork;
}

export async function openScene(): Promise<Scene> {
  const clock = new ManualClock();
  const store = await openMemoryStore({ clock });
  onTestFinished(() => store.close());
  return {
    clock,
    store,
    worker(name, options = {}) {
      let claims = 0;
      const network = new FaultyNetwork(store);
      const newClaimId = (): string => `${name}-${++claims}`;
      return { network, calls: toolCalls(network.store, { clock, newClaimId, owner: name, ...options }) };
    },
    async advance(seconds) {
      await settled();
      // Small steps, so that what is begun by one timer has its own timers on the way.
      const step = Math.max(1, Math.min(seconds * 100, 5_000));
      for (let left = seconds * 1000; left > 0; left -= step) {
        clock.advance(Math.min(step, left));
        await settled();
      }
    },
  };
}

/** Lets everything happen that needs no passing of time. */
export async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await turn();
}

/** A tool that counts its fires and ends when the test says so. */
export class SlowTool {
  fires = 0;
  readonly #ends: ((value: unknown) => void)[] = [];
  readonly #breaks: ((error: unknown) => void)[] = [];
  readonly signals: AbortSignal[] = [];

  readonly run = (call: { readonly signal: AbortSignal }): Promise<unknown> => {
    this.fires += 1;
    this.signals.push(call.signal);
    return new Promise((resolve, reject) => {
      this.#ends.push(resolve);
      this.#breaks.push(reject);
    });
  };

  /** Ends the fire with that number, the first being 0. */
  end(fire: number, result: unknown): void {
    this.#ends[fire]?.(result);
  }

  break(fire: number, error: unknown): void {
    this.#breaks[fire]?.(error);
  }
}

/** What a promise came to: for promises that are expected to reject while others go on. */
export async function outcomeOf<T>(promise: Promise<T>): Promise<T | Error> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}
