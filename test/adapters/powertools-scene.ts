import * as idempotency from "@aws-lambda-powertools/idempotency";
import * as persistence from "@aws-lambda-powertools/idempotency/persistence";
import { onTestFinished, vi } from "vitest";
import { persistenceLayer } from "../../client/adapters/powertools/index.js";
import { createClient } from "../../client/index.js";
import { serve } from "../../server/index.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import type { DocumentStore } from "../../src/documents/contract.js";
import { type EmbeddedStore, openMemoryStore } from "../../src/level/index.js";

export type Layer = persistence.BasePersistenceLayer;
export type Config = ConstructorParameters<typeof idempotency.IdempotencyConfig>[0];

export interface Order {
  readonly id: string;
  readonly amount: number;
}

/** What Powertools looks at of a Lambda's context: how long the invocation may still take. */
export interface FakeContext {
  getRemainingTimeInMillis(): number;
}

export const context: FakeContext = { getRemainingTimeInMillis: () => 30_000 };

export const shape = "powertools-idempotency";

/** A process of a Lambda: a layer of its own over the store, and a handler whose effects are counted. */
export interface Lambda {
  readonly layer: Layer;
  readonly invoke: (order: Order, lambdaContext?: FakeContext) => Promise<unknown>;
}

/** What a handler does, invocation by invocation. */
export type Work = (order: Order, effect: number) => unknown;

/** A store whose clock the test moves, and what was done to the world over it. */
export class Scene {
  readonly clock: ManualClock;
  readonly store: EmbeddedStore;
  effects = 0;

  constructor(store: EmbeddedStore, clock: ManualClock) {
    this.store = store;
    this.clock = clock;
  }

  layer(store: DocumentStore = this.store): Layer {
    return persistenceLayer({ ...idempotency, ...persistence }, store);
  }

  lambda(work: Work, config: Config = {}, store: DocumentStore = this.store): Lambda {
    const layer = this.layer(store);
    const handler = async (order: Order, _context?: FakeContext): Promise<unknown> => {
      this.effects += 1;
      return work(order, this.effects);
    };
    const invoke = idempotency.makeIdempotent(handler, {
      persistenceStore: layer,
      keyPrefix: "charge",
      config: new idempotency.IdempotencyConfig({ eventKeyJmesPath: "id", ...config }),
    });
    return { layer, invoke: (order, lambdaContext = context) => invoke(order, lambdaContext) };
  }

  /** The documents of all records. */
  async records(): Promise<readonly { readonly status?: unknown }[]> {
    return (await this.store.list(shape)).documents.map(({ fields }) => fields);
  }
}

export async function openScene(): Promise<Scene> {
  const clock = new ManualClock();
  const store = await openMemoryStore({ clock });
  onTestFinished(() => store.close());
  return new Scene(store, clock);
}

/** Clients of a server over the scene's store, each with connections of its own. */
export async function clientsOf(scene: Scene, count: number): Promise<DocumentStore[]> {
  const server = await serve({ store: scene.store, port: 0, logLevel: "silent", processMetrics: false });
  const clients = Array.from({ length: count }, () => createClient<never>({ url: server.url }));
  onTestFinished(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await server.close();
  });
  return clients as unknown as DocumentStore[];
}

/** Powertools warns of missing contexts and the like on the console. */
export function silenceWarnings(): void {
  const spy = vi.spyOn(console, "warn").mockImplementation(() => {});
  onTestFinished(() => spy.mockRestore());
}

/** Something that a handler waits for until the test opens it. */
export class Gate {
  readonly opened: Promise<void>;
  open: () => void = () => {};
  readonly reached: Promise<void>;
  #reach: () => void = () => {};

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
    this.reached = new Promise((resolve) => {
      this.#reach = resolve;
    });
  }

  pass(): Promise<void> {
    this.#reach();
    return this.opened;
  }
}
