import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OnceKvError } from "../../src/base/errors.js";
import type { ManualClock } from "../../src/base/manual-clock.js";
import type { BatchOperation, BatchResult, WriteIdentity } from "../../src/documents/contract.js";
import { PreconditionFailedError } from "../../src/documents/precondition-failed.js";
import { readBackup } from "../../src/level/backup-file.js";
import { decodeDocument, fieldsOf } from "../../src/level/document-codec.js";
import type { EmbeddedStore } from "../../src/level/index.js";
import { parseDocumentKey } from "../../src/level/keys.js";
import type { MemoryStoreOptions } from "../../src/level/store-options.js";
import type { CrashDisk, Starting } from "./crash-disk.js";
import { type Call, type Script, type Step, shape } from "./script.js";

/** An acknowledged write with a write id, and its answer. */
export interface Acknowledged {
  readonly call: Call;
  readonly answer: Answer;
}

/** What a write was told. */
export type Answer =
  | {
      readonly kind: "done";
      readonly revision: number;
      readonly created: readonly boolean[];
      readonly expires: readonly (string | null)[];
      readonly replayed: boolean;
    }
  | { readonly kind: "refused"; readonly code: string; readonly failed: readonly number[] };

/** How far a script has come on a disk. */
export interface Played {
  /** The newest revision that anybody was told. */
  readonly revision: number;
  /** Acknowledged first writes that carry a write id. */
  readonly remembered: readonly Acknowledged[];
  /** Writes with a write id that got no answer, or an unknown outcome. */
  readonly doubtful: readonly Call[];
  readonly answers: number;
  readonly failures: number;
  readonly backups: number;
}

/**
 * Options of all stores here. Where it is durable the history is so short that the log is cut several times in a script;
 * in a buffered store a batch that was lost in the middle can be told only while the log reaches back to it.
 */
export function storeOptions(clock: ManualClock, durability: "durable" | "buffered"): MemoryStoreOptions & Starting {
  const history = durability === "durable" ? { history: { maxBytes: 20_000 } } : {};
  return { clock, sweep: false, durability, acceptLoss: false, ...history };
}

/** Plays a script on a disk until its end, or until the disk stops; every answer on the way is compared with the model. */
export async function play(
  script: Script,
  disk: CrashDisk,
  clock: ManualClock,
  durability: "durable" | "buffered",
): Promise<Played> {
  const player = new Player(script, disk, clock, durability);
  await Promise.race([player.play(), disk.stopped]);
  return player;
}

class Player implements Played {
  revision = 0;
  readonly remembered: Acknowledged[] = [];
  readonly doubtful: Call[] = [];
  answers = 0;
  failures = 0;
  backups = 0;
  readonly #script: Script;
  readonly #disk: CrashDisk;
  readonly #clock: ManualClock;
  readonly #durability: "durable" | "buffered";
  #failed = false;

  constructor(script: Script, disk: CrashDisk, clock: ManualClock, durability: "durable" | "buffered") {
    this.#script = script;
    this.#disk = disk;
    this.#clock = clock;
    this.#durability = durability;
  }

  async play(): Promise<void> {
    let store: EmbeddedStore;
    try {
      store = await this.#start();
    } catch (error) {
      assert.ok(error instanceof Error);
      this.failures += 1;
      return;
    }
    for (const step of this.#script.steps) {
      if (step.kind === "reopen") {
        // A mark of the clock may have failed, before or while the store closed, of which no caller hears.
        if (this.#failed || store.stats().failed || !(await this.#close(store)) || store.stats().failed) break;
        try {
          store = await this.#start();
        } catch (error) {
          assert.ok(error instanceof Error);
          this.failures += 1;
          return;
        }
        continue;
      }
      await this.#step(store, step);
    }
    await this.#close(store);
  }

  #start(): Promise<EmbeddedStore> {
    return this.#disk.start(storeOptions(this.#clock, this.#durability));
  }

  /** Whether the end is clean. */
  async #close(store: EmbeddedStore): Promise<boolean> {
    if (this.#failed) await this.#compareReads(store);
    try {
      await store.close();
      return true;
    } catch (error) {
      assert.ok(error instanceof OnceKvError && error.code === "store_failed", String(error));
      this.failures += 1;
      return false;
    }
  }

  async #step(store: EmbeddedStore, step: Step): Promise<void> {
    if (step.kind === "advance") {
      this.#clock.advance(step.ms);
      // Lets the mark of the clock, which may have fallen due, begin.
      await new Promise((resolve) => setImmediate(resolve));
    } else if (step.kind === "sweep") {
      await store.sweep().catch((error: unknown) => this.#fails(error));
    } else if (step.kind === "backup") {
      await this.#backup(store);
    } else if (step.kind === "writes") {
      await Promise.all(step.calls.map((call) => this.#call(store, call)));
    }
  }

  async #call(store: EmbeddedStore, call: Call): Promise<void> {
    let answer: Answer;
    if (call.writeId !== undefined && !call.isRepetition) this.doubtful.push(call);
    try {
      answer = await answerOf(store, call);
    } catch (error) {
      return this.#fails(error);
    }
    const place = this.doubtful.indexOf(call);
    if (place >= 0) this.doubtful.splice(place, 1);
    this.answers += 1;
    const about = JSON.stringify(call.operations);
    if (this.#failed) {
      // What stands on disk can still be told; nothing can be done any more.
      const changes = call.expected.ok && call.expected.changed && !call.isRepetition;
      if (answer.kind === "done" && changes) assert.ok(answer.replayed || answer.revision <= store.revision, about);
      return;
    }
    if (!call.expected.ok) {
      const { code, failed } = call.expected;
      assert.deepEqual(answer, { kind: "refused", code, failed }, about);
      return;
    }
    assert.ok(answer.kind === "done", `${about}: ${JSON.stringify(answer)}`);
    assert.deepEqual(answer.created, call.expected.created, about);
    assert.equal(answer.revision, call.expected.revision, about);
    assert.equal(answer.replayed, call.isRepetition, about);
    this.revision = Math.max(this.revision, answer.revision);
    if (call.writeId !== undefined && !call.isRepetition) this.remembered.push({ call, answer });
  }

  #fails(error: unknown): void {
    assert.ok(error instanceof OnceKvError, String(error));
    assert.match(error.code, /^(outcome_unknown|store_failed)$/, error.message);
    this.failures += 1;
    this.#failed = true;
  }

  /** Reads go on after a failure, and show what was durable before it. */
  async #compareReads(store: EmbeddedStore): Promise<void> {
    const state = this.#script.states.get(store.revision) ?? assert.fail(`revision ${store.revision} never was`);
    for (const [id, expected] of state) {
      if (expected.deadline !== 0 && expected.deadline <= store.now()) continue;
      assert.deepEqual(await store.get(shape, id), expected.fields, `${id} after a failure`);
    }
    assert.ok(store.revision >= this.revision, `${store.revision} is shown, ${this.revision} was acknowledged`);
  }

  async #backup(store: EmbeddedStore): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), "oncekv-image-"));
    try {
      const file = join(folder, "backup");
      const summary = await store.backup(file);
      const state = this.#script.states.get(summary.revision) ?? assert.fail(`a backup of ${summary.revision}`);
      const taken = Date.parse(summary.taken_at);
      const found = new Map<string, unknown>();
      for await (const item of readBackup(file)) {
        if (!("key" in item)) continue;
        found.set(parseDocumentKey(item.key).id, fieldsOf(decodeDocument(item.key, item.value)));
      }
      const living = [...state].filter(([, { deadline }]) => deadline === 0 || deadline > taken);
      assert.deepEqual(found, new Map(living.map(([id, { fields }]) => [id, fields])), "a backup");
      this.backups += 1;
    } finally {
      await rm(folder, { recursive: true });
    }
  }
}

/** Makes a write. Throws when it has failed; a refusal is an answer. */
export async function answerOf(store: EmbeddedStore, { operations, writeId }: Call): Promise<Answer> {
  try {
    const identity = writeId === undefined ? {} : { write_id: writeId };
    const { revision, results, replayed } = await written(store, operations, identity);
    const created = results.map((result) => result.created);
    const expires = results.map((result) => result.expires_at);
    return { kind: "done", revision, created, expires, replayed: replayed === true };
  } catch (error) {
    const failed = error instanceof PreconditionFailedError ? error.failures.map(({ index }) => index) : [];
    if (!(error instanceof OnceKvError) || !/^(precondition_failed|not_found)$/.test(error.code)) throw error;
    return { kind: "refused", code: error.code, failed };
  }
}

/** A write of one document goes alone, all others in a batch. */
async function written(
  store: EmbeddedStore,
  operations: readonly BatchOperation[],
  identity: WriteIdentity,
): Promise<BatchResult> {
  const [only] = operations;
  if (only === undefined || only.op === "check" || operations.length > 1) return store.batch(operations, identity);
  const { op, ...write } = only;
  const result = await (op === "put"
    ? store.put({ ...write, set: only.set, ...identity })
    : op === "patch"
      ? store.patch({ ...write, ...identity })
      : store.delete({ ...write, ...identity }));
  return { ...result, results: [result] };
}
