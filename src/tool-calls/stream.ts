import { checkFunction } from "../documents/request-members.js";

/*
 * Tools that stream. The chunks go to the first caller as they come; what is stored, and replayed, is the final result:
 * the last chunk, or what `collect` makes of all of them.
 */

/** What is done with the chunks of a tool that returns an async iterable. */
export interface ChunkOptions<C = unknown, T = unknown> {
  /**
   * Makes the final result, chunk by chunk, beginning with undefined. Absent: the last chunk is the result. When the result
   * is of another type than the chunks, say which: `(count: number | undefined, chunk) => ...`.
   */
  readonly collect?: ((soFar: T | undefined, chunk: C) => T) | undefined;
  /** Gets each chunk as it comes; the next one is asked for when it has resolved. Not called for a replay. */
  readonly onChunk?: ((chunk: C) => void | Promise<void>) | undefined;
}

/** @throws InvalidRequestError */
export function checkChunkOptions(options: { readonly collect?: unknown; readonly onChunk?: unknown }): ChunkOptions {
  for (const [name, value] of Object.entries(options)) checkFunction(value, name);
  return options as ChunkOptions;
}

/** What a stream came to. */
export interface Collected {
  readonly result: unknown;
  /** What `onChunk` threw: the caller's own fault, which does not change what the tool did. */
  readonly listenerError: { readonly error: unknown } | undefined;
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    Symbol.asyncIterator in value &&
    typeof value[Symbol.asyncIterator] === "function"
  );
}

/** Reads a stream to its end, also when nobody listens any more: the tool is running, and its outcome is wanted. */
export async function collectChunks(chunks: AsyncIterable<unknown>, options: ChunkOptions): Promise<Collected> {
  const { collect, onChunk } = options;
  let result: unknown;
  let listenerError: Collected["listenerError"];
  for await (const chunk of chunks) {
    result = collect === undefined ? chunk : collect(result, chunk);
    if (onChunk === undefined || listenerError !== undefined) continue;
    try {
      await onChunk(chunk);
    } catch (error) {
      listenerError = { error };
    }
  }
  return { result, listenerError };
}

/**
 * Hands values from one who pushes to one who pulls, one at a time: `push` resolves when the value was taken, or when
 * nobody will take any more. One who pulls and leaves before the first value says so with `leave`: a generator that was not
 * begun does not notice.
 */
export class Handover<T> {
  readonly #values: { readonly value: T; readonly taken: () => void }[] = [];
  #wake: (() => void) | undefined;
  #state: "open" | "ended" | "left" = "open";

  push(value: T): Promise<void> {
    if (this.#state !== "open") return Promise.resolve();
    return new Promise((taken) => {
      this.#values.push({ value, taken });
      this.#wake?.();
    });
  }

  /** No more values will come. */
  end(): void {
    if (this.#state === "open") this.#state = "ended";
    this.#wake?.();
  }

  async *values(): AsyncGenerator<T, void> {
    try {
      for (;;) {
        const [next] = this.#values;
        if (next !== undefined) {
          yield next.value;
          this.#values.shift();
          next.taken();
        } else if (this.#state !== "open") {
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.leave();
    }
  }

  /** Nobody will take any more. */
  leave(): void {
    this.#state = "left";
    for (const { taken } of this.#values.splice(0)) taken();
    this.#wake?.();
  }
}
