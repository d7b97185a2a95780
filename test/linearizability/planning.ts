import type { SeededRandom } from "../crash/seeded-random.js";
import { conditionForms, type PlannedCondition } from "./conditions.js";
import type { PlannedChange, PlannedOperation } from "./history-client.js";
import type { Sending } from "./store-requests.js";

/** How many documents there are, and what clients do with them. */
export interface Scale {
  readonly documents: number;
  readonly operationsEach: number;
  /** Documents of the largest batches and of reads of many. */
  readonly together: number;
  /** Documents on a page. */
  readonly limit: number;
}

/** Few documents, which all clients fight for. */
export const fewDocuments: Scale = { documents: 3, operationsEach: 10, together: 3, limit: 2 };

/** So many that a list takes many pages, between which much is written. */
export const manyDocuments: Scale = { documents: 40, operationsEach: 30, together: 8, limit: 6 };

type Deal<Card> = () => Card;

/** Makes plans for clients. What is rare comes from decks that are shuffled, so that all of it comes equally often. */
export class Planner {
  readonly #random: SeededRandom;
  readonly #condition: Deal<PlannedCondition>;
  readonly #kind: Deal<"put" | "patch" | "renew" | "delete" | "check">;
  readonly #operation: Deal<"read" | "read_many" | "walk" | "one" | "batch">;
  readonly #sending: Deal<Sending>;
  #values = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
    this.#condition = this.#deck(
      conditionForms.flatMap((form) => {
        const fits = { form, fits: true };
        // What nobody has seen fits nothing, so that what is to fit is tried more often.
        return form === "none" ? [fits, fits, fits, fits] : [fits, fits, { form, fits: false }];
      }),
    );
    this.#kind = this.#deck(["put", "put", "put", "put", "patch", "patch", "renew", "delete", "check"]);
    this.#operation = this.#deck(["read", "read", "read_many", "walk", "one", "one", "one", "one", "batch", "batch"]);
    this.#sending = this.#deck(["client", "single", "single", "bare", "bare"]);
  }

  /**
   * What one client does.
   *
   * @param prefix of the ids of all documents
   * @param isFirst begins with a write of many of them, so that there is something to begin with
   */
  plan(prefix: string, scale: Scale, isFirst: boolean): readonly PlannedOperation[] {
    const { documents, operationsEach, together, limit } = scale;
    const first = isFirst ? [this.#filling(prefix, documents)] : [];
    const others = Array.from({ length: operationsEach }, (): PlannedOperation => {
      const ids = this.#shuffled(Array.from({ length: documents }, (_, index) => `${prefix}${index}`));
      const several = ids.slice(0, 2 + this.#random.below(together - 1));
      const kind = this.#operation();
      if (kind === "walk") return { kind, prefix, reverse: this.#random.below(3) === 0, limit };
      const chosen = kind === "read" || kind === "one" ? ids.slice(0, 1) : several;
      return kind === "read" || kind === "read_many" ? { kind: "read", ids: chosen } : this.#write(chosen);
    });
    return [...first, ...others];
  }

  #filling(prefix: string, documents: number): PlannedOperation {
    const changes = Array.from({ length: documents }, (_, index): PlannedChange => {
      return { id: `${prefix}${index}`, kind: "put", fields: { value: ++this.#values }, planned: none };
    });
    return {
      kind: "write",
      changes: changes.filter((_, index) => index === 0 || this.#random.below(4) > 0),
      sending: "client",
      again: false,
    };
  }

  #write(ids: readonly string[]): PlannedOperation {
    // With a condition on each a batch would hardly ever happen.
    const conditions = ids.map((_, index) => (index === 0 ? this.#condition() : none));
    const changes = ids.map((id, index) => this.#change(id, conditions[index] ?? none, ids.length > 1));
    const sending = this.#sending();
    // Without a write id a second sending is a second write.
    return { kind: "write", changes, sending, again: sending !== "bare" && this.#random.below(5) === 0 };
  }

  #change(id: string, planned: PlannedCondition, isBatch: boolean): PlannedChange {
    const value = ++this.#values;
    // Patches of what is absent would spoil most batches.
    const kind = isBatch && planned === none && this.#random.below(4) > 0 ? "put" : this.#kind();
    if (kind === "delete" || (kind === "check" && isBatch && planned !== none)) return { id, kind, planned };
    const ttl = this.#random.below(3) === 0 ? 10 + this.#random.below(80) : undefined;
    if (kind === "renew") return { id, kind: "patch", ttl: this.#random.below(3) === 0 ? null : (ttl ?? 40), planned };
    const lasting = ttl === undefined ? {} : { ttl };
    if (kind === "patch") {
      const merge = { note: this.#random.below(3) === 0 ? null : value, value };
      return { id, kind, merge, ...lasting, planned };
    }
    const fields = this.#random.below(2) === 0 ? { value } : { value, note: value };
    return { id, kind: "put", fields, ...lasting, planned };
  }

  #deck<Card>(cards: readonly Card[]): Deal<Card> {
    let left: Card[] = [];
    return () => {
      if (left.length === 0) left = this.#shuffled(cards);
      const [card] = left.splice(0, 1);
      if (card === undefined) throw new Error("the deck is empty");
      return card;
    };
  }

  #shuffled<Card>(cards: readonly Card[]): Card[] {
    const shuffled = [...cards];
    for (let index = shuffled.length - 1; index > 0; index--) {
      const other = this.#random.below(index + 1);
      const [one, two] = [shuffled[index], shuffled[other]];
      if (one === undefined || two === undefined) continue;
      shuffled[index] = two;
      shuffled[other] = one;
    }
    return shuffled;
  }
}

const none: PlannedCondition = { form: "none", fits: true };
