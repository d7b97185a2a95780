import type { DocumentStore } from "../../src/documents/contract.js";
import { checkStored, WrongResultError } from "../checks.js";
import { claimFields, LatestWrites, type ScatteredIds } from "../claim-documents.js";
import type { Round } from "../statistics.js";

/** Claims that go on beside something else: callers that create a document if it is absent, one after the other. */
export class Claiming {
  readonly #store: DocumentStore;
  readonly #shape: string;
  readonly #ids: ScatteredIds;
  readonly #ttl: number;
  readonly #callers: number;
  #won = 0;

  constructor(
    store: DocumentStore,
    options: { readonly shape: string; readonly ids: ScatteredIds; readonly ttl: number; readonly callers: number },
  ) {
    this.#store = store;
    this.#shape = options.shape;
    this.#ids = options.ids;
    this.#ttl = options.ttl;
    this.#callers = options.callers;
  }

  /** Claims that were won, over all rounds. */
  get won(): number {
    return this.#won;
  }

  /**
   * Claims until `end` has settled, at least once a caller, and reads the last claims again.
   *
   * @throws WrongResultError when a claim is not won, and what `end` rejects with
   */
  async until(end: Promise<unknown>): Promise<Round> {
    const latenciesMs: number[] = [];
    const writes = new LatestWrites();
    let ended = false;
    const note = (): void => {
      ended = true;
    };
    end.then(note, note);
    const begun = performance.now();
    const claimAndAgain = async (): Promise<void> => {
      do {
        const id = this.#ids.next();
        const fields = claimFields(1);
        const sent = performance.now();
        const { created, revision } = await this.#store.put({
          shape: this.#shape,
          id,
          set: fields,
          ttl: this.#ttl,
          if_match: { exists: false },
        });
        latenciesMs.push(performance.now() - sent);
        if (!created) throw new WrongResultError(`the claim of ${id} was accepted, but did not create it`);
        this.#won += 1;
        writes.add({ id, fields, revision });
      } while (!ended);
    };
    await Promise.all(Array.from({ length: this.#callers }, claimAndAgain));
    const elapsedMs = performance.now() - begun;
    await end;
    await checkStored(this.#store, this.#shape, writes.list());
    return { latenciesMs, elapsedMs };
  }
}
