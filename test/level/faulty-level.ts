import { MemoryLevel } from "memory-level";
import { EmbeddedStore } from "../../src/level/embedded-store.js";
import type { LevelOperation } from "../../src/level/level.js";
import type { MemoryStoreOptions } from "../../src/level/store-options.js";

/**
 * A memory engine whose disk can be held up or made to fail: a batch waits at the gate while it is closed, and fails
 * while a fault is set. With `applyBeforeFault` the batch reaches the disk and the failure is in the answer.
 */
export class FaultyLevel extends MemoryLevel<Buffer, Buffer> {
  fault: Error | undefined;
  applyBeforeFault = false;
  /** Batches that have begun. */
  batches = 0;
  #gate: Promise<void> = Promise.resolve();
  #open: () => void = () => {};
  #readGate: Promise<void> = Promise.resolve();

  constructor() {
    super({ keyEncoding: "buffer", valueEncoding: "buffer", storeEncoding: "buffer" });
  }

  /** From now on batches wait. */
  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  /** The next read of several documents waits, as it stood when it was asked for; the function lets it through. */
  holdNextGetMany(): () => void {
    let letGo = (): void => {};
    this.#readGate = new Promise((resolve) => {
      letGo = resolve;
    });
    return letGo;
  }

  // Sweeping reads this way.
  async _getMany(keys: readonly Buffer[], options: object): Promise<(Buffer | undefined)[]> {
    const gate = this.#readGate;
    this.#readGate = Promise.resolve();
    // @ts-expect-error abstract-level keeps the hooks of its engines out of the public types
    const values = (await super._getMany(keys, options)) as (Buffer | undefined)[];
    await gate;
    return values;
  }

  /** Lets the waiting batches through. */
  letGo(): void {
    this.#open();
    this.#gate = Promise.resolve();
  }

  // The engine writes with chained batches only, which end here.
  async _batch(operations: readonly LevelOperation[], options: object): Promise<void> {
    this.batches += 1;
    await this.#gate;
    if (this.fault !== undefined && !this.applyBeforeFault) throw this.fault;
    // @ts-expect-error abstract-level keeps the hooks of its engines out of the public types
    await super._batch(operations, options);
    if (this.fault !== undefined) throw this.fault;
  }
}

/** A store over a faulty disk. */
export async function openFaultyStore(
  options: MemoryStoreOptions = {},
): Promise<{ store: EmbeddedStore; level: FaultyLevel }> {
  const level = new FaultyLevel();
  await level.open();
  const store = await EmbeddedStore.start(level, {
    ...options,
    where: "a faulty disk",
    durability: "durable",
    acceptLoss: false,
    dropped: undefined,
  });
  return { store, level };
}

/** Lets everything that waits for no clock and no gate run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** What a promise has come to by now. */
export async function stateOf(promise: Promise<unknown>): Promise<"pending" | "resolved" | "rejected"> {
  await settle();
  return Promise.race([
    promise.then(
      () => "resolved" as const,
      () => "rejected" as const,
    ),
    new Promise<"pending">((resolve) => setImmediate(() => resolve("pending"))),
  ]);
}
