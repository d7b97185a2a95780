import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { OnceKvError } from "../../src/base/errors.js";
import type { BatchOperation, Commit, Condition, Fields } from "../../src/documents/contract.js";
import { PreconditionFailedError } from "../../src/documents/precondition-failed.js";
import { type EmbeddedStore, type MemoryStoreOptions, openMemoryStore, openStore } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { copyOfAMoment } from "./copy-of-a-moment.js";
import { Model, type ModelChange } from "./model.js";
import { type Command, type ConditionPlan, ids, type WritePlan } from "./model-commands.js";

const shape = "model";

/** How a store is kept, and who sweeps it. */
export interface Keeping {
  readonly place: "disk" | "memory";
  /** Whether the store sweeps by itself, at any moment, and takes revisions for it. */
  readonly sweeps: boolean;
}

/** Where the store decides when to sweep, the whole history is kept, to compare each document's life. */
function optionsOf({ sweeps }: Keeping): MemoryStoreOptions {
  return sweeps ? { sweep: true, history: { maxAgeSeconds: 1e9 } } : { sweep: false };
}

/** The store beside its model. */
export class Comparison {
  readonly #folder: string;
  readonly #keeping: Keeping;
  readonly #clock: ManualClock;
  readonly #model: Model;
  /** Revisions that each id once had. */
  readonly #older = new Map<string, number>();
  #lives = 0;
  #dataDir: string;
  #store: EmbeddedStore;

  static async begin(folder: string, keeping: Keeping): Promise<Comparison> {
    await mkdir(folder);
    const dataDir = join(folder, "0");
    const clock = new ManualClock();
    const options = { clock, ...optionsOf(keeping) };
    const store = await (keeping.place === "disk" ? openStore({ dataDir, ...options }) : openMemoryStore(options));
    return new Comparison(folder, keeping, clock, dataDir, store);
  }

  private constructor(folder: string, keeping: Keeping, clock: ManualClock, dataDir: string, store: EmbeddedStore) {
    this.#folder = folder;
    this.#keeping = keeping;
    this.#clock = clock;
    this.#dataDir = dataDir;
    this.#store = store;
    this.#model = new Model(store.revision, store.now());
  }

  async run(command: Command): Promise<void> {
    switch (command.kind) {
      case "write":
        return await this.#compareWrites([command.write]);
      case "burst":
        return await this.#compareWrites(command.writes);
      case "batch": {
        const operations = command.writes.map((plan) => this.#operation(plan));
        return this.#compare(operations, await outcomeOf(this.#store.batch(operations)));
      }
      case "read":
        return await this.#compareReads();
      case "sweep":
        return await this.#sweep();
      case "advance":
        this.#clock.advance(command.ms);
        this.#model.now += command.ms;
        return;
      case "reopen":
        return await this.#reopen();
      case "crash":
        return await this.#crash();
    }
  }

  /** The state, the history and the disk, at the end. */
  async end(): Promise<void> {
    await this.#compareReads();
    await this.#compareHistory();
    const report = await this.#store.verify();
    assert.deepEqual(report.problems, []);
    await this.close();
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  /** Calls all at once: writes to one document are carried out in the order of the calls. */
  async #compareWrites(plans: readonly WritePlan[]): Promise<void> {
    const operations = plans.map((plan) => this.#operation(plan));
    const outcomes = await Promise.all(operations.map((operation) => outcomeOf(this.#call(operation))));
    for (const [index, operation] of operations.entries()) {
      const outcome = outcomes[index];
      assert.ok(outcome !== undefined);
      this.#compare([operation], outcome);
    }
  }

  async #call(operation: BatchOperation): Promise<{ revision: number; results: readonly { created: boolean }[] }> {
    if (operation.op === "check") return await this.#store.batch([operation]);
    const { op, ...write } = operation;
    const result = await (op === "put"
      ? this.#store.put({ ...write, set: operation.set })
      : op === "patch"
        ? this.#store.patch(write)
        : this.#store.delete(write));
    return { revision: result.revision, results: [result] };
  }

  #compare(operations: readonly BatchOperation[], actual: StoreOutcome): void {
    for (const { id } of operations) {
      const revision = this.#model.get(id)?.revision;
      if (revision !== undefined) this.#older.set(id, revision);
    }
    const before = this.#model.revision;
    const taken = this.#keeping.sweeps && "revision" in actual ? [actual.revision] : [];
    const expected = this.#model.write(operations, ...taken);
    const about = JSON.stringify(operations);
    if (!expected.ok) {
      assert.deepEqual(actual, { code: expected.code, failed: expected.failed }, about);
      return;
    }
    assert.ok("revision" in actual, `${about}: ${JSON.stringify(actual)}`);
    assert.deepEqual(actual.created, expected.created, about);
    if (expected.changed) assert.ok(actual.revision > before, about);
    this.#compareRevision(actual.revision, about);
  }

  /** A store that sweeps by itself may have come further than the model knows. */
  #compareRevision(actual: number, about: string): void {
    if (this.#keeping.sweeps) assert.ok(actual >= this.#model.revision, about);
    else assert.equal(actual, this.#model.revision, about);
  }

  #operation({ op, id, fields, ttl, condition }: WritePlan): BatchOperation {
    const if_match = condition === undefined ? undefined : this.#condition(id, condition);
    const options = {
      shape,
      id,
      ...(if_match === undefined ? {} : { if_match }),
    };
    const life = ttl === undefined ? {} : { ttl };
    if (op === "put") return { op, ...options, ...life, set: fields };
    if (op === "patch") return { op, ...options, ...life, merge: fields };
    if (op === "delete") return { op, ...options };
    return { op, shape, id, if_match: if_match ?? { exists: true } };
  }

  #condition(id: string, plan: ConditionPlan): Condition {
    if ("fields" in plan) return plan;
    if (plan.revision === undefined) return "exists" in plan ? { exists: plan.exists } : { exists: true };
    const own = this.#model.get(id)?.revision;
    const revision = (plan.revision === "own" ? own : this.#older.get(id)) ?? 1;
    return "exists" in plan ? { exists: plan.exists, revision } : { revision };
  }

  async #compareReads(): Promise<void> {
    const expected = this.#model.ids();
    const forward = await this.#listed(false);
    assert.deepEqual(forward, expected);
    assert.deepEqual(await this.#listed(true), expected.toReversed());
    const documents = await this.#store.getMany(ids.map((id) => ({ shape, id })));
    for (const [index, id] of ids.entries()) {
      const document = documents[index];
      const model = this.#model.get(id);
      assert.deepEqual(await this.#store.get(shape, id), model?.fields);
      if (document === undefined || model === undefined) {
        assert.equal(document, model);
        continue;
      }
      assert.deepEqual(
        [document.fields, document.revision, document.created_revision, document.expires_at],
        [
          model.fields,
          model.revision,
          model.createdRevision,
          model.deadline === 0 ? null : new Date(model.deadline).toISOString(),
        ],
      );
      const { changed } = await this.#store.waitFor(shape, id, { after: model.revision, timeout: 0 });
      assert.equal(changed, false);
    }
  }

  async #listed(reverse: boolean): Promise<string[]> {
    const found: string[] = [];
    let after: string | null | undefined;
    while (after !== null) {
      const page = await this.#store.list(shape, { limit: 2, reverse, ...(after === undefined ? {} : { after }) });
      this.#compareRevision(page.revision, "the list's revision");
      found.push(...page.documents.map((document) => document.id));
      after = page.next;
    }
    return found;
  }

  /** The sweeper comes at the end of each tenth of a second; there, the store and the model must agree. */
  async #sweep(): Promise<void> {
    const rest = (100 - (this.#model.now % 100)) % 100;
    this.#clock.advance(rest);
    this.#model.now += rest;
    const swept = await this.#store.sweep();
    if (this.#keeping.sweeps) this.#model.sweep(this.#store.revision);
    else assert.equal(swept, this.#model.sweep());
    this.#compareRevision(this.#store.revision, "after a sweep");
  }

  async #reopen(): Promise<void> {
    if (this.#keeping.place === "memory") return;
    await this.#store.close();
    await this.#open();
  }

  /** What a kill leaves: the files as they are, without the clean end. */
  async #crash(): Promise<void> {
    if (this.#keeping.place === "memory") return;
    const left = this.#dataDir;
    this.#lives += 1;
    this.#dataDir = join(this.#folder, `${this.#lives}`);
    await copyOfAMoment(left, this.#dataDir);
    await this.#store.close();
    await this.#open();
  }

  async #open(): Promise<void> {
    this.#store = await openStore({ dataDir: this.#dataDir, clock: this.#clock, ...optionsOf(this.#keeping) });
    this.#compareRevision(this.#store.revision, "after opening");
    assert.equal(this.#store.now(), this.#model.now);
  }

  async #compareHistory(): Promise<void> {
    await this.#sweep();
    const { revision } = await this.#store.put({ shape: "end", id: "end", set: {} });
    const commits: Commit[] = [];
    // History that is old has gone; what is left has no gap.
    const since = this.#store.stats().oldest_revision;
    for await (const commit of this.#store.watch({ since })) {
      if (commit.revision === revision) break;
      assert.ok(commit.revision > (commits.at(-1)?.revision ?? since));
      commits.push(commit);
    }
    const told = commits.flatMap((commit) =>
      commit.changes.map(({ type, id, document }) => {
        return { revision: commit.revision, type, id, fields: document?.fields ?? null };
      }),
    );
    if (this.#keeping.sweeps) {
      // When exactly it swept is its own business; each document must have had the same life.
      for (const id of ids) assert.deepEqual(lifeOf(id, told), lifeOf(id, this.#model.history));
      return;
    }
    const expected = this.#model.history.filter((change) => change.revision > since);
    assert.deepEqual(sweptInOrder(told), sweptInOrder(expected));
  }
}

/** All that has happened to one document. */
function lifeOf(id: string, changes: readonly ModelChange[]): [type: string, fields: Fields | null][] {
  return changes.filter((change) => change.id === id).map(({ type, fields }) => [type, fields]);
}

/** One sweep may take documents in any order; all other changes have theirs. */
function sweptInOrder(changes: readonly ModelChange[]): ModelChange[] {
  const sweeps = new Map<number, boolean>();
  for (const { revision, type } of changes) {
    sweeps.set(revision, type === "expire" && sweeps.get(revision) !== false);
  }
  return changes.toSorted((one, other) => {
    if (one.revision !== other.revision) return one.revision - other.revision;
    return sweeps.get(one.revision) === true ? one.id.localeCompare(other.id) : 0;
  });
}

type StoreOutcome =
  | { readonly revision: number; readonly created: readonly boolean[] }
  | { readonly code: string; readonly failed: readonly number[] };

async function outcomeOf(
  write: Promise<{ revision: number; results: readonly { created: boolean }[] }>,
): Promise<StoreOutcome> {
  try {
    const { revision, results } = await write;
    return { revision, created: results.map((result) => result.created) };
  } catch (error) {
    assert.ok(error instanceof OnceKvError, String(error));
    const failed = error instanceof PreconditionFailedError ? error.failures.map((failure) => failure.index) : [];
    return { code: error.code, failed };
  }
}
