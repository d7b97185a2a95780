import type { AnchoredClock } from "../base/clock.js";
import type { BatchResult, WriteResult } from "../documents/contract.js";
import { toDocument } from "./document-codec.js";
import type { Dependent } from "./group.js";
import { toIso } from "./iso-time.js";
import type { Operation } from "./operation.js";
import type { RequestIdentity } from "./write-ids.js";

/** How a caller hears of its write: the two sides of a promise. */
export interface Caller<Answer> {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * A write on its way: its operations, and what its caller will be told. No answer, a refusal included, is given before
 * the state that it rests on is durable, so a submission is what waits for a group.
 */
export abstract class Submission<Answer = unknown> implements Dependent {
  readonly operations: readonly Operation[];
  readonly identity: RequestIdentity | undefined;
  readonly #caller: Caller<Answer>;
  /** The commit that the answer names. */
  revision = 0;
  /** Whether the answer is that of an earlier request with the same write id. */
  replayed = false;
  /** Why the write does not happen; undefined: it does. */
  refusal: Error | undefined = undefined;

  constructor(operations: readonly Operation[], identity: RequestIdentity | undefined, caller: Caller<Answer>) {
    this.operations = operations;
    this.identity = identity;
    this.#caller = caller;
  }

  durable(clock: AnchoredClock): void {
    if (this.refusal === undefined) this.#caller.resolve(this.answer(clock));
    else this.#caller.reject(this.refusal);
  }

  failed(error: unknown): void {
    this.#caller.reject(error);
  }

  /** What the write did, in words. */
  protected abstract answer(clock: AnchoredClock): Answer;

  protected resultOf({ write, expiresAt, created, returned }: Operation, clock: AnchoredClock): WriteResult {
    const result = { revision: this.revision, expires_at: expiresAt === 0 ? null : toIso(expiresAt), created };
    if (returned === undefined) return result;
    const document = returned === null ? null : toDocument(write.shape, write.id, returned, clock.now());
    return { ...result, document };
  }
}

/** A write of one operation. */
export class SingleSubmission extends Submission<WriteResult> {
  protected override answer(clock: AnchoredClock): WriteResult {
    const result = this.resultOf(this.operations[0] as Operation, clock);
    return this.replayed ? { ...result, replayed: true } : result;
  }
}

/** A write of several operations in one commit. */
export class BatchSubmission extends Submission<BatchResult> {
  protected override answer(clock: AnchoredClock): BatchResult {
    const results = this.operations.map((operation) => this.resultOf(operation, clock));
    const result = { revision: this.revision, results };
    return this.replayed ? { ...result, replayed: true } : result;
  }
}
