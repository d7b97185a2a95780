import type { DocumentStore } from "../../src/documents/contract.js";
import { type Saga, type SagaOptions, type StepOptions, saga } from "../../src/saga/index.js";
import { type ToolCallOutcome, type ToolCalls, toolCalls } from "../../src/tool-calls/index.js";
import type { Scene } from "../tool-calls/scene.js";

/** A definite failure, in the tool's own words. */
export class Refused extends Error {
  readonly outcome = "failed";
}

/**
 * A trip of three bookings, and the world in which they have their effects. What it is asked twice under one key has one
 * effect, as with a service that takes idempotency keys; how often it was asked is counted apart.
 */
export class Trip {
  /** Effects, in order: "flight", "undo flight". */
  readonly effects: string[] = [];
  asked = 0;
  /** Which booking is refused, by name; "undo flight" is the cancelling of one. */
  refused: ReadonlySet<string> = new Set();
  /** Options of every step. */
  options: StepOptions = {};
  readonly #keys = new Set<string>();

  readonly body = async (trip: Saga<{ readonly to: string }>): Promise<string> => {
    const done: string[] = [];
    for (const name of ["flight", "hotel", "car"]) {
      const booking = await trip.step(
        name,
        { to: trip.args.to },
        (call) => this.effect(name, call.key),
        (result, call) => this.effect(`undo ${result}`, call.key),
        this.options,
      );
      done.push(booking);
    }
    return done.join(", ");
  };

  effect(name: string, key: string): string {
    this.asked += 1;
    if (this.refused.has(name)) throw new Refused(`no ${name}`);
    if (!this.#keys.has(key)) this.effects.push(name);
    this.#keys.add(key);
    return name;
  }
}

export const options: SagaOptions<{ readonly to: string }> = {
  name: "trip",
  key: "7",
  args: { to: "Rome" },
  pendingTtl: 30,
};

export function book(calls: ToolCalls, trip: Trip): Promise<ToolCallOutcome<string>> {
  return saga(calls, { ...options, waitTimeout: 120 }, trip.body);
}

/**
 * A worker that dies at its n-th request to the store: before the request is carried out, or after. Nothing ever answers
 * it any more, so that it does nothing any more.
 */
export function mortalWorker(
  scene: Scene,
  dies: { readonly at: number; readonly when: "before" | "after" },
): ToolCalls {
  let requests = 0;
  const pass = async <T>(send: () => Promise<T>): Promise<T> => {
    requests += 1;
    if (requests > dies.at || (requests === dies.at && dies.when === "before")) return new Promise<T>(() => {});
    const answer = await send();
    return requests >= dies.at ? new Promise<T>(() => {}) : answer;
  };
  const inner: DocumentStore = scene.store;
  const store: DocumentStore = {
    limits: inner.limits,
    get: (shape, id) => pass(() => inner.get(shape, id)),
    getDocument: (shape, id) => pass(() => inner.getDocument(shape, id)),
    getMany: (keys) => pass(() => inner.getMany(keys)),
    put: (write) => pass(() => inner.put(write)),
    patch: (write) => pass(() => inner.patch(write)),
    delete: (write) => pass(() => inner.delete(write)),
    batch: (operations, given) => pass(() => inner.batch(operations, given)),
    list: (shape, given) => pass(() => inner.list(shape, given)),
    scan: (shape, given) => inner.scan(shape, given),
    watch: (given) => inner.watch(given),
    waitFor: (shape, id, given) => pass(() => inner.waitFor(shape, id, given)),
    close: () => inner.close(),
  };
  return toolCalls(store, { clock: scene.clock, owner: "mortal", pendingTtl: 30 });
}
