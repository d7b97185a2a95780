/** Tables of faults that are tried at many places: the whole of each, or at every place another fixed part of it. */
export class PartOfTable {
  readonly #share: number;
  readonly #places = new Map<string, number>();
  readonly #untried = new Map<string, Set<number>>();

  /** @param share 1 for everything; n for one case of n at a place, so that n places together have met all cases */
  constructor(share: number) {
    this.#share = share;
  }

  /** The cases for the next place of this kind. */
  at<T>(kind: string, table: readonly T[]): readonly T[] {
    const place = this.#places.get(kind) ?? 0;
    this.#places.set(kind, place + 1);
    const untried = this.#untried.get(kind) ?? new Set(table.keys());
    this.#untried.set(kind, untried);
    return table.filter((_, index) => {
      const isChosen = (index + place) % this.#share === 0;
      if (isChosen) untried.delete(index);
      return isChosen;
    });
  }

  /** Cases that no place has met, by their kind and index: there were too few places. */
  untried(): readonly string[] {
    return [...this.#untried].flatMap(([kind, indexes]) => [...indexes].map((index) => `${kind} ${index}`));
  }
}
