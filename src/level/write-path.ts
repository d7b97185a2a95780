import type { AnchoredClock } from "../base/clock.js";
import { invariant, OnceKvError, TooLargeError } from "../base/errors.js";
import { engineLimits, type Limits } from "../base/limits.js";
import type { BatchResult, Fields } from "../documents/contract.js";
import { mergePatch } from "../documents/merge-patch.js";
import type { CheckedWrite } from "../documents/requests.js";
import { commitBytes, type StagedChange } from "./commit.js";
import { judgeConditions } from "./condition-failures.js";
import type { ShapeRules } from "./declared-shapes.js";
import {
  encodeDocument,
  encodedFieldsOf,
  encodeFields,
  fieldsOf,
  isExpired,
  lifetimeOf,
  type StoredDocument,
} from "./document-codec.js";
import { answerOf, type Effect, fromNoted, toNoted } from "./effects.js";
import type { Group } from "./group.js";
import type { GroupCommit } from "./group-commit.js";
import { KeyLocks } from "./key-locks.js";
import { documentKey, documentName } from "./keys.js";
import { fromLevel } from "./level-errors.js";
import { describeRequest, type Found, type PreparedWrite } from "./prepared-write.js";
import type { Reader } from "./reader.js";
import { hash128, noteBytes, type WriteIds, type WriteNote } from "./write-ids.js";

/**
 * One write, from the checked request to its answer:
 *
 *     judge and encode (nothing is staged yet)
 *       -> take the documents' locks, in the order of their names
 *         -> look the write id up        -> the same write again: its first answer
 *         -> read each document: the staged state, else what is on disk
 *         -> evaluate every condition    -> one fails: nothing happens, all that failed are told
 *         -> stage one commit with the next revision
 *       -> release the locks
 *     -> the group becomes durable -> answer
 */

type RequestIdentity = Pick<WriteNote, "id" | "request">;

export interface WritePathOptions {
  readonly clock: AnchoredClock;
  readonly limits: Limits;
  readonly reader: Reader;
  readonly groups: GroupCommit;
  readonly writeIds: WriteIds;
  readonly shapes: ShapeRules;
}

export class WritePath {
  readonly #clock: AnchoredClock;
  readonly #limits: Limits;
  readonly #reader: Reader;
  readonly #groups: GroupCommit;
  readonly #writeIds: WriteIds;
  readonly #shapes: ShapeRules;
  readonly #locks = new KeyLocks();

  constructor(options: WritePathOptions) {
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#reader = options.reader;
    this.#groups = options.groups;
    this.#writeIds = options.writeIds;
    this.#shapes = options.shapes;
  }

  /** Locks that are held now. */
  get lockCount(): number {
    return this.#locks.size;
  }

  /** Carries out one checked operation. Resolves when its commit is durable. */
  submit(write: CheckedWrite, writeId: string | undefined): Promise<BatchResult> {
    return this.#submit([write], singlePath, writeId);
  }

  /** Carries out the checked operations of a batch as one commit. Resolves when it is durable. */
  submitBatch(writes: readonly CheckedWrite[], writeId: string | undefined): Promise<BatchResult> {
    return this.#submit(writes, (index) => `operations[${index}].`, writeId);
  }

  #submit(
    writes: readonly CheckedWrite[],
    pathOf: (index: number) => string,
    writeId: string | undefined,
  ): Promise<BatchResult> {
    // What throws in here, a lock not held yet, rejects the promise.
    return new Promise((resolve, reject) => {
      const prepared = writes.map((write, index) => this.#prepare(write, pathOf(index)));
      const identity =
        writeId === undefined ? undefined : { id: hash128(writeId), request: hash128(describeRequest(writes)) };
      const names = prepared.map(({ name }) => name);
      if (names.length > 1) names.sort();
      this.#locks.run(names, () => {
        try {
          this.#carryOut(prepared, identity, resolve, reject);
        } catch (error) {
          reject(fromLevel(error));
        }
      });
    });
  }

  #prepare(write: CheckedWrite, path: string): PreparedWrite {
    const key = documentKey(write.shape, write.id);
    const name = documentName(write.shape, write.id);
    let fields: Buffer | undefined;
    if (write.kind === "put" && write.fields !== undefined) {
      this.#shapes.judge(write.shape, write.fields, `${path}set`);
      fields = this.#encode(write.fields, `${path}set`);
    }
    return { write, path, key, name, fields };
  }

  #encode(fields: Fields, path: string): Buffer {
    const encoded = encodeFields(fields);
    if (encoded.length > this.#limits.fieldsBytesMax) {
      throw new TooLargeError(
        path,
        `the document's fields take ${encoded.length} bytes; the limit is ${this.#limits.fieldsBytesMax}`,
      );
    }
    return encoded;
  }

  /** What happens under the locks. */
  #carryOut(
    prepared: readonly PreparedWrite[],
    identity: RequestIdentity | undefined,
    resolve: (result: BatchResult) => void,
    reject: (error: unknown) => void,
  ): void {
    if (this.#groups.failure !== undefined) throw this.#groups.failure;
    if (identity !== undefined && this.#replay(prepared, identity, resolve, reject)) return;

    const now = this.#clock.now();
    const found = this.#findAll(prepared, now);
    const fault = judgeConditions(prepared, found, now, this.#limits);
    if (fault !== undefined) {
      this.#answerWhenDurable(latestGroup(found), () => reject(fault), reject);
      return;
    }

    // The last place where code of the user may run (a schema judges a patch), and it may write to other documents:
    // only then is the next revision known.
    const fields = prepared.map((one, index) => this.#finalFields(one, found[index]?.live));
    if (prepared.length > 1) this.#checkBatchSize(prepared, found, fields);
    const revision = this.#groups.nextRevision;
    const changes: StagedChange[] = [];
    const effects = prepared.map((one, index) =>
      this.#apply(one, found[index] as Found, fields[index], revision, now, changes),
    );
    // A write that changes nothing names the revision that it was judged at.
    const answered = changes.length === 0 ? revision - 1 : revision;
    const answer = (): void => resolve(answerOf(prepared, answered, effects, this.#clock.now()));
    if (changes.length === 0 && identity === undefined) {
      this.#answerWhenDurable(this.#groups.newestGroup, answer, reject);
      return;
    }

    const dependent = { durable: answer, failed: reject };
    const note =
      identity === undefined ? undefined : { ...identity, revision: answered, results: effects.map(toNoted) };
    this.#groups.checkRoom(commitBytes(changes) + (note === undefined ? 0 : noteBytes(note)));
    // With a write id, a write that changes nothing is noted too: its repetition must not meet a newer document.
    if (changes.length === 0 && note !== undefined) this.#groups.stageNote(note, dependent);
    else this.#groups.stage(revision, changes, dependent, note);
  }

  /** Answers the same write again from its first answer; false when this write id has not been seen. */
  #replay(
    prepared: readonly PreparedWrite[],
    identity: RequestIdentity,
    resolve: (result: BatchResult) => void,
    reject: (error: unknown) => void,
  ): boolean {
    const staged = this.#groups.stagedNote(identity.id);
    const note = staged?.note ?? this.#writeIds.find(identity.id, this.#clock.now());
    if (note === undefined) return false;
    if (!note.request.equals(identity.request)) {
      const conflict = "this write id was used for another request; choose a new one";
      const refuse = (): void => reject(new OnceKvError("write_id_conflict", conflict));
      this.#answerWhenDurable(staged?.group, refuse, reject);
      return true;
    }
    const effects = note.results.map((result, index) => fromNoted(result, prepared[index]?.key));
    const answer = (): void =>
      resolve({ ...answerOf(prepared, note.revision, effects, this.#clock.now()), replayed: true });
    this.#answerWhenDurable(staged?.group, answer, reject);
    return true;
  }

  #findAll(prepared: readonly PreparedWrite[], now: number): Found[] {
    let bytes = 0;
    return prepared.map((one) => {
      const found = this.#find(one, now);
      bytes += found.live?.value.length ?? 0;
      if (bytes > engineLimits.batchReadBytesMax) {
        throw new TooLargeError(
          "operations",
          `the documents that the batch meets take more than ${engineLimits.batchReadBytesMax} bytes; make smaller batches`,
        );
      }
      return found;
    });
  }

  #find({ name, key }: PreparedWrite, now: number): Found {
    const staged = this.#groups.staged(name);
    const document = staged === undefined ? this.#reader.readStored(key) : staged.document;
    const expired = document !== undefined && isExpired(document, now);
    return {
      live: expired ? undefined : document,
      expired: expired ? document : undefined,
      group: staged?.group,
    };
  }

  /** What a put or a patch leaves in the document, in its stored form; undefined for a check or a delete. */
  #finalFields({ write, path, fields }: PreparedWrite, live: StoredDocument | undefined): Buffer | undefined {
    if (write.kind !== "patch" || live === undefined) return fields;
    if (write.fields === undefined) return encodedFieldsOf(live);
    const merged = mergePatch(fieldsOf(live), write.fields);
    this.#shapes.judge(write.shape, merged, `${path}merge`);
    return this.#encode(merged, `${path}merge`);
  }

  /** Adds to `changes` what one operation does, every condition being known to hold. */
  #apply(
    { write, key }: PreparedWrite,
    { live, expired }: Found,
    fields: Buffer | undefined,
    revision: number,
    now: number,
    changes: StagedChange[],
  ): Effect {
    const { shape, id } = write;
    if (write.kind === "check") return { expiresAt: 0, created: false, document: undefined };
    if (write.kind === "delete") {
      if (live !== undefined) {
        changes.push({ type: "delete", key, shape, id, document: undefined, previous: lifetimeOf(live) });
      }
      return { expiresAt: 0, created: false, document: write.wantsDocument ? (live ?? null) : undefined };
    }
    invariant(fields !== undefined, "a put and a patch leave fields");
    const document = encodeDocument(key, fields, {
      revision,
      createdRevision: live?.createdRevision ?? revision,
      createdAt: live?.createdAt ?? now,
      updatedAt: now,
      expiresAt: this.#deadline(write, live, now),
    });
    if (expired !== undefined) {
      changes.push({ type: "expire", key, shape, id, document: undefined, previous: lifetimeOf(expired) });
    }
    changes.push({
      type: "put",
      key,
      shape,
      id,
      document,
      previous: live === undefined ? undefined : lifetimeOf(live),
    });
    return {
      expiresAt: document.expiresAt,
      created: live === undefined,
      document: write.wantsDocument ? document : undefined,
    };
  }

  /** The fields that a batch writes and the documents that its deletes give back are bounded together. */
  #checkBatchSize(
    prepared: readonly PreparedWrite[],
    found: readonly Found[],
    fields: readonly (Buffer | undefined)[],
  ): void {
    let bytes = 0;
    for (const [index, { write }] of prepared.entries()) {
      bytes += fields[index]?.length ?? 0;
      if (write.kind === "delete" && write.wantsDocument) bytes += found[index]?.live?.value.length ?? 0;
    }
    if (bytes <= this.#limits.batchBytesMax) return;
    const limit = this.#limits.batchBytesMax;
    throw new TooLargeError("operations", `the batch's documents take ${bytes} bytes; the limit is ${limit}`);
  }

  #deadline(write: CheckedWrite, live: StoredDocument | undefined, now: number): number {
    let ttlMs = write.ttlMs;
    if (ttlMs === undefined) {
      if (write.kind === "patch") return live?.expiresAt ?? 0;
      ttlMs = this.#shapes.defaultTtlMs(write.shape);
    }
    return ttlMs === null || ttlMs === undefined ? 0 : now + ttlMs;
  }

  /** No answer, a refusal included, is given before the state that it rests on is durable. */
  #answerWhenDurable(group: Group | undefined, answer: () => void, reject: (error: unknown) => void): void {
    if (group === undefined) answer();
    else group.dependents.push({ durable: answer, failed: reject });
  }
}

function singlePath(): string {
  return "";
}

/** The newest of the groups that the found states wait for; groups become durable in order. */
function latestGroup(found: readonly Found[]): Group | undefined {
  let latest: Group | undefined;
  let revision = -1;
  for (const { group } of found) {
    const newest = group?.commits.at(-1)?.revision ?? -1;
    if (group !== undefined && newest > revision) {
      latest = group;
      revision = newest;
    }
  }
  return latest;
}
