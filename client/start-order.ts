import type { Clock } from "../src/base/clock.js";

/**
 * Keeps what a program sees in the order in which it called. A watch that is to begin "now", and a wait for "the state at
 * the call", learn from the server where that is; until then, calls made after them hold back. Otherwise
 *
 *     const commits = client.watch({ shape: "note" });
 *     await client.put({ shape: "note", id: "1", set: {} });
 *
 * could send the put on a connection that is open while the watch still makes its own, and the watch would begin after
 * the commit that it was set up to see.
 *
 * Nobody holds back for long: when the start takes longer than `patienceMs`, the one that starts fails, openly, and the
 * others go on.
 */
export class StartOrder {
  readonly #clock: Clock;
  readonly #starting = new Set<Starting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Announces a start.
   *
   * @param fail is called when the start took too long and must not happen any more
   * @returns what to call when it has happened, or has failed
   */
  begin(fail: () => void): () => void {
    let settle: () => void = () => {};
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const starting: Starting = { settled, fail };
    this.#starting.add(starting);
    return () => {
      this.#starting.delete(starting);
      settle();
    };
  }

  /** What a call that is made now must wait for; undefined when nothing is starting. */
  get earlier(): Promise<void> | undefined {
    return this.#starting.size === 0 ? undefined : this.#settled([...this.#starting]);
  }

  async #settled(starting: readonly Starting[]): Promise<void> {
    const cancel = this.#clock.setTimer(patienceMs, () => {
      for (const { fail } of starting) fail();
    });
    await Promise.all(starting.map(({ settled }) => settled));
    cancel();
  }
}

interface Starting {
  readonly settled: Promise<void>;
  readonly fail: () => void;
}

/** A start is one round trip. Far beyond that, writes are more urgent. */
const patienceMs = 2000;
