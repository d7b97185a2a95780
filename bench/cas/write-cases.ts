import type { Condition, DocumentStore } from "../../src/documents/contract.js";
import { checkRefusal, checkRefused, checkStored, type Written, WrongResultError } from "../checks.js";
import { claimFields, ExistingDocuments, LatestWrites, readAgain, ScatteredIds } from "../claim-documents.js";
import type { Comparison, MeasuredCase } from "../measure.js";

/**
 * What a condition adds to a write: each plain put beside the conditional puts that do the same work.
 *
 * - `put-new` and `create-if-absent` create a document.
 * - `put-replacing`, `put-if-revision`, `put-if-fields` and `patch` change one. `create-if-absent-refused` meets the same
 *   documents and loses, so it writes nothing and is told the winner.
 * - `batch-of-10` creates ten documents in one commit.
 */

/** Where the cases work. */
interface CasWorld {
  readonly store: DocumentStore;
  readonly shape: string;
  readonly ids: ScatteredIds;
  readonly documents: ExistingDocuments;
}

/** Losing writes that are tried after each round of a case that wins. */
const triedAfterRound = 4;

/** Operations of the case `batch-of-10`. */
const batchSize = 10;

/** Makes the cases over a store. `shape` must hold nothing yet. */
export async function writeComparisons(
  store: DocumentStore,
  options: { readonly shape: string; readonly callers: number },
): Promise<readonly Comparison[]> {
  const { shape, callers } = options;
  const ids = new ScatteredIds();
  const documents = await ExistingDocuments.create(store, { shape, ids, count: Math.max(256, callers + readAgain) });
  const world: CasWorld = { store, shape, ids, documents };
  return [
    [creating(world, "put-new", undefined), creating(world, "create-if-absent", { exists: false }, "put-new")],
    [
      replacing(world, "put-replacing", undefined),
      replacing(world, "put-if-revision", {
        holds: ({ revision }) => ({ revision }),
        fails: ({ revision }) => ({ revision: revision - 1 }),
      }),
      replacing(world, "put-if-fields", {
        holds: ({ fields: { attempt = 0 } }) => ({ fields: { status: "pending", attempt } }),
        fails: ({ fields: { attempt = 0 } }) => ({ fields: { status: "completed", attempt } }),
      }),
      patching(world),
      losing(world),
    ],
    [batching(world)],
  ];
}

/** Puts documents that are not there yet. */
function creating(
  world: CasWorld,
  name: string,
  condition: Condition | undefined,
  comparedWith?: string,
): MeasuredCase {
  const { store, shape, ids } = world;
  const writes = new LatestWrites();
  return {
    name,
    ...(comparedWith === undefined ? {} : { comparedWith }),
    async once() {
      const id = ids.next();
      const fields = claimFields(1);
      const write = { shape, id, set: fields, ...(condition === undefined ? {} : { if_match: condition }) };
      const begun = performance.now();
      const result = await store.put(write);
      const tookMs = performance.now() - begun;
      if (!result.created) throw new WrongResultError(`${name}: ${id} was there already`);
      writes.add({ id, fields, revision: result.revision });
      return tookMs;
    },
    async check() {
      await checkStored(store, shape, writes.list());
      if (condition === undefined) return;
      for (const winner of writes.list().slice(0, triedAfterRound)) {
        const { id } = winner;
        await checkRefused(store, { shape, id, set: claimFields(2), if_match: condition }, winner);
      }
    },
  };
}

/** Conditions on a document: one that holds, and one that does not. */
interface Conditions {
  holds(document: Written): Condition;
  fails(document: Written): Condition;
}

/** Puts documents that are there. */
function replacing(world: CasWorld, name: string, conditions: Conditions | undefined): MeasuredCase {
  const { store, shape, documents } = world;
  let attempt = 0;
  return {
    name,
    ...(conditions === undefined ? {} : { comparedWith: "put-replacing" }),
    async once() {
      const document = documents.take();
      const { id } = document;
      const fields = claimFields(++attempt);
      const condition = conditions?.holds(document);
      const write = { shape, id, set: fields, ...(condition === undefined ? {} : { if_match: condition }) };
      const begun = performance.now();
      const result = await store.put(write);
      const tookMs = performance.now() - begun;
      const { revision } = result;
      if (result.created || revision <= document.revision) {
        throw new WrongResultError(`${name}: ${id} had to be replaced, but the answer is ${JSON.stringify(result)}`);
      }
      documents.giveBack({ id, fields, revision });
      return tookMs;
    },
    async check() {
      await checkStored(store, shape, documents.latest());
      if (conditions === undefined) return;
      for (const winner of documents.latest().slice(-triedAfterRound)) {
        const { id } = winner;
        await checkRefused(store, { shape, id, set: claimFields(-1), if_match: conditions.fails(winner) }, winner);
      }
    },
  };
}

/** Merges two members into documents that are there. */
function patching(world: CasWorld): MeasuredCase {
  const { store, shape, documents } = world;
  let attempt = 1_000_000;
  return {
    name: "patch",
    comparedWith: "put-replacing",
    async once() {
      const { id, fields, revision: before } = documents.take();
      const merge = { status: "pending", attempt: ++attempt };
      const begun = performance.now();
      const { created, revision } = await store.patch({ shape, id, merge });
      const tookMs = performance.now() - begun;
      if (created || revision <= before) throw new WrongResultError(`patch: ${id} had to be changed, not created`);
      documents.giveBack({ id, fields: { ...fields, ...merge }, revision });
      return tookMs;
    },
    check: () => checkStored(store, shape, documents.latest()),
  };
}

/** Creates several documents in one commit. */
function batching(world: CasWorld): MeasuredCase {
  const { store, shape, ids } = world;
  const writes = new LatestWrites();
  return {
    name: `batch-of-${batchSize}`,
    async once() {
      const created = Array.from({ length: batchSize }, (_, attempt) => ({
        id: ids.next(),
        fields: claimFields(attempt),
      }));
      const operations = created.map(({ id, fields: set }) => {
        return { op: "put" as const, shape, id, set, if_match: { exists: false } };
      });
      const begun = performance.now();
      const { revision, results } = await store.batch(operations);
      const tookMs = performance.now() - begun;
      if (results.length !== batchSize || results.some((result) => !result.created || result.revision !== revision)) {
        throw new WrongResultError(`batch-of-${batchSize}: the answer is ${JSON.stringify(results)}`);
      }
      for (const { id, fields } of created) writes.add({ id, fields, revision });
      return tookMs;
    },
    check: () => checkStored(store, shape, writes.list()),
  };
}

/** Tries to create documents that are there. */
function losing(world: CasWorld): MeasuredCase {
  const { store, shape, documents } = world;
  return {
    name: "create-if-absent-refused",
    comparedWith: "put-replacing",
    async once() {
      const document = documents.take();
      const write = { shape, id: document.id, set: claimFields(-1), if_match: { exists: false } };
      let outcome: unknown;
      const begun = performance.now();
      try {
        outcome = await store.put(write);
      } catch (error) {
        outcome = error;
      }
      const tookMs = performance.now() - begun;
      checkRefusal(outcome, document);
      documents.giveBack(document);
      return tookMs;
    },
    check: () => checkStored(store, shape, documents.latest()),
  };
}
