/** A queue between something that pushes and one reader that reads at its own pace. */
export class EventQueue<T> implements AsyncIterable<T> {
  readonly #items: { readonly item: T; readonly weight: number }[] = [];
  readonly #weightMax: number;
  #weight = 0;
  #closed = false;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  /** @param weightMax what may wait to be read; beyond it the reader gets an error */
  constructor(weightMax: number) {
    this.#weightMax = weightMax;
  }

  push(item: T, weight: number): void {
    if (this.#closed) return;
    this.#weight += weight;
    if (this.#weight > this.#weightMax) {
      this.#failure = new Error(`more than ${this.#weightMax} bytes wait to be read`);
      this.#closed = true;
    } else {
      this.#items.push({ item, weight });
    }
    this.#wake?.();
  }

  /** What was pushed before is read to its end. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    for (;;) {
      const first = this.#items.shift();
      if (first !== undefined) {
        this.#weight -= first.weight;
        yield first.item;
      } else if (this.#closed) {
        if (this.#failure !== undefined) throw this.#failure;
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
