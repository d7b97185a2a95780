import { MemoryLevel } from "memory-level";
import { EmbeddedStore } from "../../src/level/embedded-store.js";
import type { LevelOperation } from "../../src/level/level.js";
import type { MemoryStoreOptions } from "../../src/level/store-options.js";
import type { SeededRandom } from "../crash/seeded-random.js";

/** A batch as it stands in LevelDB's log: whole or not at all, in the order of the calls. */
export interface WrittenBatch {
  readonly operations: readonly LevelOperation[];
  /** Whether this batch, and with it everything before it, was durable when it was answered. */
  readonly synced: boolean;
}

/** What happens at one call, counted from 1. Every call is a batch. */
export interface Fault {
  readonly call: number;
  /** `stop`: the machine stands still and answers nothing any more. An error: that is the answer. */
  readonly kind: "stop" | Error;
  /** Whether the batch has reached LevelDB's log all the same. */
  readonly written: boolean;
}

/** Ways in which a disk, or a store above it, would break its promises. The checks must find each. */
export type Weakness =
  /** A sync is answered before anything is durable. */
  | { readonly kind: "lies about syncs" }
  /** Entries of this tag come in a batch of their own, behind the others. */
  | { readonly kind: "splits batches"; readonly tag: string }
  /** A batch that failed is tried again, and the second try is believed. */
  | { readonly kind: "tries again" }
  /** A failed batch is taken for done. */
  | { readonly kind: "swallows errors" };

export interface CrashDiskOptions {
  /** What is on it in the beginning. */
  readonly content?: ReadonlyMap<string, Buffer>;
  readonly fault?: Fault;
  readonly weakness?: Weakness;
  /** Holds some calls up for a few turns of the event loop, as this decides. */
  readonly delays?: SeededRandom;
}

/** LevelDB clears a range in several batches of its own; here they are small ones, to be cut often. */
const clearedAtOnce = 3;

/**
 * An engine that keeps what is written apart from what is durable. What a batch wrote is in the operating system's hands
 * until a sync has brought it, and everything before it, to the disk; only the process can see it until then. The disk
 * can stop or fail at any call, and an image of what could have survived is made from its journal.
 */
export class CrashDisk extends MemoryLevel<Buffer, Buffer> {
  readonly journal: WrittenBatch[] = [];
  /** Batches that were asked for. */
  calls = 0;
  /** Batches that were asked for after one had failed. */
  callsAfterFault = 0;
  /** Resolves when the machine has stopped. */
  readonly stopped: Promise<void>;
  readonly #options: CrashDiskOptions;
  #hasStopped = false;
  #isNew = true;
  #stop: () => void = () => {};

  constructor(options: CrashDiskOptions = {}) {
    super({ keyEncoding: "buffer", valueEncoding: "buffer", storeEncoding: "buffer" });
    this.#options = options;
    this.stopped = new Promise((resolve) => (this.#stop = resolve));
  }

  /** Opens the disk and starts a store over it. */
  async start(options: MemoryStoreOptions & Starting): Promise<EmbeddedStore> {
    await this.open();
    const isNew = this.#isNew;
    this.#isNew = false;
    const operations = !isNew
      ? []
      : [...(this.#options.content ?? [])].map(([key, value]): LevelOperation => {
          return { type: "put", key: Buffer.from(key, "latin1"), value };
        });
    if (operations.length > 0) await this.#apply(operations);
    return EmbeddedStore.start(this, { ...options, where: "the crash disk", dropped: undefined });
  }

  /** Batches of the journal that no loss of power can take. */
  get durable(): number {
    return this.journal.findLastIndex(({ synced }) => synced) + 1;
  }

  /** What a machine finds that comes back with these batches of the journal. */
  image(kept: (index: number) => boolean): Map<string, Buffer> {
    const content = new Map(this.#options.content);
    for (const [index, { operations }] of this.journal.entries()) {
      if (!kept(index)) continue;
      for (const operation of operations) {
        const key = operation.key.toString("latin1");
        if (operation.type === "put") content.set(key, operation.value);
        else content.delete(key);
      }
    }
    return content;
  }

  // The engine writes with chained batches only, which end here.
  async _batch(operations: readonly LevelOperation[], options: { readonly sync?: boolean }): Promise<void> {
    const { weakness } = this.#options;
    const sync = options.sync === true;
    if (weakness?.kind === "splits batches") {
      const isApart = ({ key }: LevelOperation): boolean => key.toString("latin1", 0, 1) === weakness.tag;
      await this.#call(
        operations.filter((operation) => !isApart(operation)),
        sync,
      );
      const apart = operations.filter(isApart);
      if (apart.length > 0) await this.#call(apart, sync);
      return;
    }
    try {
      await this.#call(operations, sync);
    } catch (error) {
      if (weakness?.kind === "tries again") return await this.#call(operations, sync);
      if (weakness?.kind !== "swallows errors") throw error;
    }
  }

  async _clear(range: object): Promise<void> {
    const keys = await this.keys<Buffer>(range).all();
    while (keys.length > 0) {
      const operations = keys.splice(0, clearedAtOnce).map((key): LevelOperation => ({ type: "del", key }));
      await this._batch(operations, {});
    }
  }

  async #call(operations: readonly LevelOperation[], sync: boolean): Promise<void> {
    this.calls += 1;
    const { fault, delays, weakness } = this.#options;
    const isFaulty = this.calls === fault?.call;
    if (fault !== undefined && this.calls > fault.call) this.callsAfterFault += 1;
    for (let turns = delays?.below(4) ?? 0; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
    if (this.#hasStopped) return await new Promise(() => {});
    // The journal has what was asked for; a batch whose sync failed is never shown to readers, but may be found later.
    const synced = sync && !isFaulty && weakness?.kind !== "lies about syncs";
    if (!isFaulty || fault.written) this.journal.push({ operations, synced });
    if (!isFaulty) return await this.#apply(operations);
    if (fault.kind !== "stop") throw fault.kind;
    this.#hasStopped = true;
    this.#stop();
    return await new Promise(() => {});
  }

  async #apply(operations: readonly LevelOperation[]): Promise<void> {
    // @ts-expect-error abstract-level keeps the hooks of its engines out of the public types
    await super._batch(operations, {});
  }
}

/** How a store is started over a disk. */
export interface Starting {
  readonly durability: "durable" | "buffered";
  readonly acceptLoss: boolean;
}
