/**
 * One lock a document, first come, first served. A write holds the locks of its documents from reading them to staging
 * the new state.
 *
 * That section is synchronous, so most of the time nobody waits. It does call code of the user, though: the schema of a
 * declared shape judges a patch's merged fields there, and may itself write to the same store. Such a nested write must
 * not slip in between the outer one's read and its staging; it waits here until the outer one is staged.
 *
 * A lock exists only while it is held: an entry appears with the first holder and goes with the last, also when the
 * section throws.
 */
export class KeyLocks {
  /** The sections that wait for a name, in order of arrival; an empty list: held, and nobody waits. */
  readonly #waiting = new Map<string, (() => void)[]>();
  /**
   * The names of the only holder, when there is just one and nobody waits: nearly always. They are entered in the map
   * only when a second section comes, so that a lone write costs the map nothing.
   */
  #only: readonly string[] | undefined;

  /** Locks that are held now. */
  get size(): number {
    return this.#waiting.size + (this.#only?.length ?? 0);
  }

  /**
   * Runs `section` when all names are free, now or later, and releases them when it returns or throws. A section that
   * runs later must report its errors itself, since its caller has gone on.
   *
   * @param names each at most once, in one order that all callers share (or two batches could wait for each other)
   */
  run(names: readonly string[], section: () => void): void {
    if (this.#only === undefined && this.#waiting.size === 0) this.#runAlone(names, section);
    else this.#acquire(names, 0, section);
  }

  #runAlone(names: readonly string[], section: () => void): void {
    this.#only = names;
    try {
      section();
    } finally {
      if (this.#only === names) this.#only = undefined;
      else this.#release(names);
    }
  }

  #acquire(names: readonly string[], from: number, section: () => void): void {
    if (this.#only !== undefined) {
      for (const name of this.#only) this.#waiting.set(name, []);
      this.#only = undefined;
    }
    for (let index = from; index < names.length; index++) {
      const name = names[index] as string;
      const queue = this.#waiting.get(name);
      if (queue !== undefined) {
        queue.push(() => this.#acquire(names, index + 1, section));
        return;
      }
      this.#waiting.set(name, []);
    }
    try {
      section();
    } finally {
      this.#release(names);
    }
  }

  #release(names: readonly string[]): void {
    for (const name of names) {
      const next = this.#waiting.get(name)?.shift();
      // The lock passes to the first in line without becoming free in between.
      if (next === undefined) this.#waiting.delete(name);
      else next();
    }
  }
}
