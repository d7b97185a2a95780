import { newline } from "./json-rpc.js";

/** Longest line in bytes. What is longer is no message that anybody waits for, and would have to be held whole. */
export const lineBytesMax: number = 64 * 1024 * 1024;

/** A line grew beyond what is held. */
export class LineTooLongError extends Error {
  constructor(max: number) {
    super(`a line is longer than ${max} bytes`);
    this.name = "LineTooLongError";
  }
}

/** Cuts a stream of bytes into lines, each with its end, so that put together they are the same bytes. */
export class LineSplitter {
  readonly #max: number;
  /** The beginning of a line whose end has not come. */
  #begun: Buffer[] = [];
  #begunBytes = 0;

  constructor(max: number = lineBytesMax) {
    this.#max = max;
  }

  /** The lines that end in this chunk. @throws LineTooLongError */
  push(chunk: Buffer): readonly Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const part = chunk.subarray(start, end + 1);
      this.#checkLength(part.length);
      lines.push(this.#begun.length === 0 ? part : Buffer.concat([...this.#begun, part]));
      this.#begun = [];
      this.#begunBytes = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      const part = chunk.subarray(start);
      this.#checkLength(part.length);
      this.#begun.push(part);
      this.#begunBytes += part.length;
    }
    return lines;
  }

  /** What came after the last end of a line; undefined: nothing. */
  rest(): Buffer | undefined {
    return this.#begun.length === 0 ? undefined : Buffer.concat(this.#begun);
  }

  #checkLength(added: number): void {
    if (this.#begunBytes + added > this.#max) throw new LineTooLongError(this.#max);
  }
}
