import { Handover } from "../../../src/tool-calls/stream.js";

/*
 * The SDK reads a tool's chunks while it runs, if what `execute` returned can be iterated in the turn in which it was
 * returned. Whether a tool will stream is known only when it is entered, and that is later: its claim comes first. So the
 * answer is a promise and can be iterated as well, and chunks are kept for a reader only where there is one.
 */

/** The chunks of one call, on their way from the tool to whoever reads them. */
export class LiveChunks {
  #reader: Handover<unknown> | undefined;
  #any = false;

  /** Whether a reader got a chunk. */
  get any(): boolean {
    return this.#any;
  }

  /** The tool's chunks, handed to the reader as they pass, at its pace. One that leaves does not end the tool. */
  async *through(chunks: AsyncIterable<unknown>): AsyncGenerator<unknown, void> {
    for await (const chunk of chunks) {
      if (this.#reader !== undefined) {
        this.#any = true;
        await this.#reader.push(chunk);
      }
      yield chunk;
    }
  }

  /** The chunks as they come, to the end of the call. For one reader, who begins before the tool does. */
  read(ended: Promise<unknown>): AsyncGenerator<unknown, void> {
    const reader = new Handover<unknown>();
    this.#reader = reader;
    const end = (): void => reader.end();
    ended.then(end, end);
    return reader.values();
  }

  /** The reader wants no more, also where it never began. */
  leave(): void {
    this.#reader?.leave();
  }
}
