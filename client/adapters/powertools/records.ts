import { OnceKvError } from "../../../src/base/errors.js";
import type { Condition, Document, DocumentStore } from "../../../src/documents/contract.js";
import { PreconditionFailedError } from "../../../src/documents/precondition-failed.js";
import { Claims } from "./claims.js";
import { hasLapsed, isCompleted, type RecordWrite, withoutResult } from "./record-document.js";

/** The records of one layer: every write is a compare-and-swap on the state that it was decided by. */
export class Records {
  readonly #store: DocumentStore;
  readonly #shape: string;
  readonly #claims = new Claims();

  constructor(store: DocumentStore, shape: string) {
    this.#store = store;
    this.#shape = shape;
  }

  read(id: string): Promise<Document | undefined> {
    return this.#store.getDocument(this.#shape, id);
  }

  /**
   * Claims a key: when it has no record, or one whose worker had to end before now.
   *
   * @param write made anew for each attempt, since what is left of the worker's time gets less
   * @returns the record that stands against it; undefined when the claim is made
   */
  async claim(id: string, write: () => RecordWrite): Promise<Document | undefined> {
    for (let condition: Condition = { exists: false }; ; ) {
      const written = await this.#put(id, write(), condition);
      if (typeof written === "number") {
        this.#claims.made(id, written);
        return undefined;
      }
      const { current } = written;
      if (current !== undefined && !hasLapsed(current)) return current;
      condition = conditionOf(current);
    }
  }

  /**
   * Records the end of a call. Where this layer remembers the claim, only over that claim or where nothing is; else over
   * any record that is not the end of a call.
   *
   * @throws OnceKvError `claim_lost` when another worker has claimed the key since; its record is as it was
   */
  async complete(id: string, write: RecordWrite): Promise<void> {
    try {
      await this.#complete(id, write);
    } catch (error) {
      this.#claims.carriedOut(id);
      throw error;
    }
    this.#claims.ended(id);
  }

  /**
   * Takes a claim back, so that the next caller begins at once. Where this layer remembers the claim: only that claim, and
   * not when the call was carried out, nor when two workers of this layer have claimed the key and it cannot be told which
   * of them is here. What stays lapses. Where it does not: whatever is there.
   */
  async remove(id: string): Promise<void> {
    const claim = this.#claims.get(id);
    this.#claims.ended(id);
    if (claim !== undefined && (claim.carriedOut || claim.workers > 1)) return;
    const condition = claim === undefined ? {} : { if_match: { revision: claim.revision } };
    try {
      await this.#store.delete({ shape: this.#shape, id, ...condition });
    } catch (error) {
      // It is somebody else's by now.
      if (!(error instanceof PreconditionFailedError)) throw error;
    }
  }

  async #complete(id: string, write: RecordWrite): Promise<void> {
    const claim = this.#claims.get(id);
    let wanted = write;
    let condition =
      claim === undefined ? endCondition(id, await this.read(id), undefined) : { revision: claim.revision };
    while (condition !== undefined) {
      try {
        const written = await this.#put(id, wanted, condition);
        if (typeof written === "number") return;
        condition = endCondition(id, written.current, claim?.revision);
      } catch (error) {
        if (!isTooLarge(error) || wanted !== write) throw error;
        // That it was carried out matters more than what came of it.
        wanted = withoutResult(write);
      }
    }
  }

  /** @returns the revision; or, when the condition does not hold, what is there */
  async #put(
    id: string,
    write: RecordWrite,
    condition: Condition,
  ): Promise<number | { readonly current: Document | undefined }> {
    try {
      return (await this.#store.put({ shape: this.#shape, id, ...write, if_match: condition })).revision;
    } catch (error) {
      if (!(error instanceof PreconditionFailedError)) throw error;
      const [failure] = error.failures;
      const known = failure !== undefined && failure.current_omitted !== true;
      return { current: known ? (failure.current ?? undefined) : await this.read(id) };
    }
  }
}

/** Under which condition the end of a call may be written over what is there; undefined: what is there stays. */
function endCondition(id: string, current: Document | undefined, claimed: number | undefined): Condition | undefined {
  if (current === undefined || current.revision === claimed) return conditionOf(current);
  if (claimed === undefined) return isCompleted(current) ? undefined : conditionOf(current);
  throw new OnceKvError(
    "claim_lost",
    `the claim on ${JSON.stringify(id)} had lapsed and another worker has taken it over: the call was carried out by both, and the record is the other's`,
  );
}

function conditionOf(current: Document | undefined): Condition {
  return current === undefined ? { exists: false } : { revision: current.revision };
}

function isTooLarge(error: unknown): boolean {
  return error instanceof OnceKvError && error.code === "too_large";
}
