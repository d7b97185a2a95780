import type { Clock } from "../src/base/clock.js";
import type { DocumentStore } from "../src/documents/contract.js";
import { isInDoubt } from "../src/tool-calls/decisions.js";
import { seenRecordOf } from "../src/tool-calls/record.js";
import { serverLimits } from "./limits.js";

/** How many calls need somebody to find out what became of them. */
export interface CountedReviews {
  readonly open: number;
  /** False: there are more records than one count looks at, and there may be more reviews. */
  readonly complete: boolean;
}

/** Records that are read at once: the event loop is free between two pages. */
const pageRecords = 200;

/**
 * Counts the calls in doubt, in the background. A question is answered at once with the latest count, and begins the next
 * one if that is old: a server that nobody asks reads nothing, and a scrape waits for no scan.
 */
export class ReviewCount {
  readonly #store: DocumentStore;
  readonly #clock: Clock;
  readonly #shape: string;
  #latest: CountedReviews | undefined;
  #begunAt = Number.NEGATIVE_INFINITY;
  #counting: Promise<void> | undefined;

  constructor(store: DocumentStore, clock: Clock, shape: string) {
    this.#store = store;
    this.#clock = clock;
    this.#shape = shape;
  }

  /** undefined: nothing was counted yet. */
  latest(): CountedReviews | undefined {
    const now = this.#clock.monotonicNow();
    if (this.#counting === undefined && now - this.#begunAt >= serverLimits.reviewCountMs) {
      this.#begunAt = now;
      this.#counting = this.#count().finally(() => {
        this.#counting = undefined;
      });
    }
    return this.#latest;
  }

  /** Resolves when no count is under way. */
  async idle(): Promise<void> {
    await this.#counting;
  }

  /** Never rejects: a store that cannot be read leaves the count as it was. */
  async #count(): Promise<void> {
    let open = 0;
    let looked = 0;
    let after: string | undefined;
    try {
      do {
        const page = await this.#store.list(this.#shape, {
          limit: pageRecords,
          ...(after === undefined ? {} : { after }),
        });
        for (const document of page.documents) {
          const seen = seenRecordOf(document);
          if (seen !== undefined && isInDoubt(seen)) open += 1;
        }
        looked += page.documents.length;
        after = page.next ?? undefined;
        await new Promise((resolve) => setImmediate(resolve));
      } while (after !== undefined && looked < serverLimits.reviewRecordsMax);
      this.#latest = { open, complete: after === undefined };
    } catch {
      return;
    }
  }
}
