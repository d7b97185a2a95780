import type { Writable } from "node:stream";

/** A stream that is written to at its own pace. Once it has failed or closed, what is written is dropped. */
export class Sink {
  readonly #stream: Writable;
  /** Until the stream takes more. One for all who wait, however many there are. */
  #drained: Promise<void> | undefined;
  #broken = false;
  /** Resolves when nothing can be written any more. */
  readonly broken: Promise<void>;

  constructor(stream: Writable) {
    this.#stream = stream;
    this.broken = new Promise((resolve) => {
      const end = (): void => {
        this.#broken = true;
        resolve();
      };
      stream.on("error", end);
      stream.on("close", end);
    });
  }

  /** Resolves when more may be written; never rejects. */
  write(bytes: Buffer): Promise<void> {
    if (this.#broken || this.#stream.writableEnded) return Promise.resolve();
    if (this.#stream.write(bytes)) return Promise.resolve();
    this.#drained ??= this.#untilDrained();
    return this.#drained;
  }

  /** Resolves when everything that was written is on its way, or lost. */
  flush(): Promise<void> {
    if (this.#broken) return Promise.resolve();
    return Promise.race([this.broken, new Promise<void>((resolve) => this.#stream.write("", () => resolve()))]);
  }

  async #untilDrained(): Promise<void> {
    const drained = new Promise<void>((resolve) => {
      this.#stream.once("drain", resolve);
    });
    await Promise.race([drained, this.broken]);
    this.#drained = undefined;
  }
}
