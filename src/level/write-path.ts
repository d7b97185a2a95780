import type { AnchoredClock } from "../base/clock.js";
import { invariant, OnceKvError, TooLargeError } from "../base/errors.js";
import { engineLimits, type Limits } from "../base/limits.js";
import type { BatchResult, Fields, WriteResult } from "../documents/contract.js";
import { mergePatch } from "../documents/merge-patch.js";
import type { CheckedWrite } from "../documents/requests.js";
import { commitBytes, earlierDeadline, type StagedChange } from "./commit.js";
import { judgeConditions } from "./condition-failures.js";
import type { ShapeRules } from "./declared-shapes.js";
import {
  completeDraft,
  type Draft,
  decodeDocument,
  draftLike,
  draftOf,
  fieldsBytes,
  fieldsOf,
  isExpired,
  lifetimeOf,
  type StoredDocument,
} from "./document-codec.js";
import type { Group } from "./group.js";
import type { GroupCommit } from "./group-commit.js";
import { KeyLocks } from "./key-locks.js";
import { documentKey, documentName } from "./keys.js";
import { fromLevel } from "./level-errors.js";
import { describeRequest, Operation } from "./operation.js";
import type { Reader } from "./reader.js";
import { BatchSubmission, type Caller, SingleSubmission, type Submission } from "./submission.js";
import {
  hash128,
  type NotedResult,
  noteBytes,
  type RequestIdentity,
  type WriteIds,
  type WriteNote,
} from "./write-ids.js";

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

  /**
   * Carries out one checked operation. The caller hears of it when its commit is durable. Throws what is wrong before a
   * lock is taken.
   */
  submit(write: CheckedWrite, writeId: string | undefined, caller: Caller<WriteResult>): void {
    const operations = [this.#prepare(write, "")];
    this.#run(new SingleSubmission(operations, identify(operations, writeId), caller));
  }

  /** The same for the checked operations of a batch, in one commit. */
  submitBatch(writes: readonly CheckedWrite[], writeId: string | undefined, caller: Caller<BatchResult>): void {
    const operations = writes.map((write, index) => this.#prepare(write, `operations[${index}].`));
    this.#run(new BatchSubmission(operations, identify(operations, writeId), caller));
  }

  #prepare(write: CheckedWrite, path: string): Operation {
    const { kind, shape, id, fields } = write;
    let draft: Draft | undefined;
    if (kind === "put" && fields !== undefined) {
      this.#shapes.judge(shape, fields, `${path}set`);
      draft = this.#encode(fields, `${path}set`);
    }
    return new Operation(write, path, documentKey(shape, id), documentName(shape, id), draft);
  }

  #encode(fields: Fields, path: string): Draft {
    const draft = draftOf(fields);
    const bytes = fieldsBytes(draft);
    if (bytes > this.#limits.fieldsBytesMax) {
      throw new TooLargeError(
        path,
        `the document's fields take ${bytes} bytes; the limit is ${this.#limits.fieldsBytesMax}`,
      );
    }
    return draft;
  }

  #run(submission: Submission): void {
    const names = submission.operations.map(({ name }) => name);
    if (names.length > 1) names.sort();
    this.#locks.run(names, () => {
      try {
        this.#carryOut(submission);
      } catch (error) {
        submission.failed(fromLevel(error));
      }
    });
  }

  /** What happens under the locks. */
  #carryOut(submission: Submission): void {
    const { operations, identity } = submission;
    if (this.#groups.failure !== undefined) throw this.#groups.failure;
    if (identity !== undefined && this.#replay(submission, identity)) return;

    const now = this.#clock.now();
    this.#find(operations, now);
    submission.refusal = judgeConditions(operations, now, this.#limits);
    if (submission.refusal !== undefined) {
      this.#answerWhenDurable(latestGroup(operations), submission);
      return;
    }

    // The last place where code of the user may run (a schema judges a patch), and it may write to other documents:
    // only then is the next revision known.
    for (const operation of operations) this.#completeFields(operation);
    if (operations.length > 1) this.#checkBatchSize(operations);
    const revision = this.#groups.nextRevision;
    const changes: StagedChange[] = [];
    for (const operation of operations) this.#apply(operation, revision, now, changes);
    // A write that changes nothing names the revision that it was judged at.
    submission.revision = changes.length === 0 ? revision - 1 : revision;
    if (changes.length === 0 && identity === undefined) {
      this.#answerWhenDurable(this.#groups.newestGroup, submission);
      return;
    }

    const note = identity === undefined ? undefined : toNote(identity, submission);
    this.#groups.checkRoom(commitBytes(changes) + (note === undefined ? 0 : noteBytes(note)));
    // With a write id, a write that changes nothing is noted too: its repetition must not meet a newer document.
    if (changes.length === 0 && note !== undefined) this.#groups.stageNote(note, submission);
    else this.#groups.stage(revision, changes, submission, note);
  }

  /** Answers the same write again from its first answer; false when this write id has not been seen. */
  #replay(submission: Submission, identity: RequestIdentity): boolean {
    const staged = this.#groups.stagedNote(identity.id);
    const note = staged?.note ?? this.#writeIds.find(identity.id, this.#clock.now());
    if (note === undefined) return false;
    if (note.request === identity.request) {
      for (const [index, result] of note.results.entries()) recall(submission.operations[index], result);
      submission.revision = note.revision;
      submission.replayed = true;
    } else {
      const conflict = "this write id was used for another request; choose a new one";
      submission.refusal = new OnceKvError("write_id_conflict", conflict);
    }
    this.#answerWhenDurable(staged?.group, submission);
    return true;
  }

  /** Reads what each operation meets. */
  #find(operations: readonly Operation[], now: number): void {
    let bytes = 0;
    for (const operation of operations) {
      const staged = this.#groups.staged(operation.name);
      const document = staged === undefined ? this.#reader.readStored(operation.key) : staged.document;
      operation.staged = staged;
      if (document === undefined) continue;
      if (isExpired(document, now)) {
        operation.expired = document;
        continue;
      }
      operation.live = document;
      bytes += document.value.length;
      if (bytes > engineLimits.batchReadBytesMax) {
        throw new TooLargeError(
          "operations",
          `the documents that the batch meets take more than ${engineLimits.batchReadBytesMax} bytes; make smaller batches`,
        );
      }
    }
  }

  /** Knows what a patch leaves in the document, now that the document is known. */
  #completeFields(operation: Operation): void {
    const { write, path, live } = operation;
    if (write.kind !== "patch" || live === undefined) return;
    if (write.fields === undefined) {
      operation.draft = draftLike(live);
      return;
    }
    const merged = mergePatch(fieldsOf(live), write.fields);
    this.#shapes.judge(write.shape, merged, `${path}merge`);
    operation.draft = this.#encode(merged, `${path}merge`);
  }

  /** Does one operation, every condition being known to hold: what it changes goes to `changes`. */
  #apply(operation: Operation, revision: number, now: number, changes: StagedChange[]): void {
    const { write, key, name, draft, live, expired } = operation;
    const { kind, shape, id } = write;
    if (kind === "check") return;
    const previous = live === undefined ? undefined : lifetimeOf(live);
    const replaced = live?.expiresAt ?? expired?.expiresAt ?? 0;
    const replacedDeadline = earlierDeadline(operation.staged?.replacedDeadline ?? 0, replaced);
    if (kind === "delete") {
      if (live !== undefined) {
        changes.push({ type: "delete", key, name, shape, id, document: undefined, previous, replacedDeadline });
      }
      if (write.wantsDocument) operation.returned = live ?? null;
      return;
    }
    invariant(draft !== undefined, "a put and a patch leave fields");
    const document: StoredDocument = {
      revision,
      createdRevision: live?.createdRevision ?? revision,
      createdAt: live?.createdAt ?? now,
      updatedAt: now,
      expiresAt: this.#deadline(operation, now),
      value: draft.value,
    };
    completeDraft(key, document);
    if (expired !== undefined) {
      const ended = lifetimeOf(expired);
      changes.push({ type: "expire", key, name, shape, id, document: undefined, previous: ended, replacedDeadline });
    }
    changes.push({ type: "put", key, name, shape, id, document, previous, replacedDeadline });
    operation.expiresAt = document.expiresAt;
    operation.created = live === undefined;
    if (write.wantsDocument) operation.returned = document;
  }

  /** The fields that a batch writes and the documents that its deletes give back are bounded together. */
  #checkBatchSize(operations: readonly Operation[]): void {
    let bytes = 0;
    for (const { write, draft, live } of operations) {
      if (draft !== undefined) bytes += fieldsBytes(draft);
      if (write.kind === "delete" && write.wantsDocument) bytes += live?.value.length ?? 0;
    }
    if (bytes <= this.#limits.batchBytesMax) return;
    const limit = this.#limits.batchBytesMax;
    throw new TooLargeError("operations", `the batch's documents take ${bytes} bytes; the limit is ${limit}`);
  }

  #deadline({ write, live }: Operation, now: number): number {
    let ttlMs = write.ttlMs;
    if (ttlMs === undefined) {
      if (write.kind === "patch") return live?.expiresAt ?? 0;
      ttlMs = this.#shapes.defaultTtlMs(write.shape);
    }
    return ttlMs === null || ttlMs === undefined ? 0 : now + ttlMs;
  }

  /** No answer, a refusal included, is given before the state that it rests on is durable. */
  #answerWhenDurable(group: Group | undefined, submission: Submission): void {
    if (group === undefined) submission.durable(this.#clock);
    else if (submission.refusal === undefined) group.dependents.push(submission);
    else group.refused.push(submission);
  }
}

function identify(operations: readonly Operation[], writeId: string | undefined): RequestIdentity | undefined {
  if (writeId === undefined) return undefined;
  return { id: hash128(writeId), request: hash128(describeRequest(operations)) };
}

/** What is remembered of a write under its write id. */
function toNote({ id, request }: RequestIdentity, { revision, operations }: Submission): WriteNote {
  return { id, request, revision, results: operations.map(toNoted) };
}

function toNoted({ expiresAt, created, returned }: Operation): NotedResult {
  if (returned === undefined) return [expiresAt, created];
  return [expiresAt, created, returned === null ? null : returned.value];
}

/** Fills an operation with what a note remembers of it. */
function recall(operation: Operation | undefined, [expiresAt, created, value]: NotedResult): void {
  invariant(operation !== undefined, "a note has as many results as its request has operations");
  operation.expiresAt = expiresAt;
  operation.created = created;
  operation.returned = value === undefined || value === null ? value : decodeDocument(operation.key, value);
}

/** The newest of the groups that the found states wait for; groups become durable in order. */
function latestGroup(operations: readonly Operation[]): Group | undefined {
  let latest: Group | undefined;
  let revision = -1;
  for (const { staged } of operations) {
    const newest = staged?.group.commits.at(-1)?.revision ?? -1;
    if (staged !== undefined && newest > revision) {
      latest = staged.group;
      revision = newest;
    }
  }
  return latest;
}
