import type { ProgressOutput } from "./progress.js";

/** Where a command's words go, and where it may read from. */
export interface Terminal {
  /** Writes lines of a result; resolves when they are on their way, so that a slow reader slows the command. */
  print(text: string): Promise<void>;
  /** Writes a line that is not a part of the result. */
  note(text: string): void;
  /** Reads the standard input to its end. @throws RangeError when it is longer, without reading it to its end */
  readInput(bytesMax: number): Promise<Buffer>;
  /** Characters in a line, when a person reads the results; undefined: a program does. */
  readonly columns: number | undefined;
  /** Where progress is shown. */
  readonly progress: ProgressOutput;
}

/** Results go to the standard output, everything else to the standard error. */
export const processTerminal: Terminal = {
  print(text) {
    return new Promise((resolve, reject) => {
      process.stdout.write(`${harmless(text)}\n`, (error) => {
        if (error === null || error === undefined) resolve();
        else reject(error);
      });
    });
  },
  note(text) {
    process.stderr.write(`${harmless(text)}\n`);
  },
  async readInput(bytesMax) {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new RangeError(`the standard input holds more than ${bytesMax} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  },
  columns: process.stdout.isTTY ? process.stdout.columns : undefined,
  progress: {
    isTerminal: process.stderr.isTTY === true,
    write: (text) => void process.stderr.write(text),
  },
};

/**
 * Control characters but for the end of a line, and the marks that turn the direction of writing. An id or a field may
 * hold them, and a terminal would obey: move the cursor, hide text. In JSON they only stand in strings, so that escaping
 * them leaves the same JSON.
 */
const obeyed = /(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** A text that a terminal shows and does not obey. */
export function harmless(text: string): string {
  return text.replace(obeyed, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** An id for people: as it is when nobody could mistake it, else in quotes. */
export function shownId(id: string): string {
  return /^[^\s"'\\\p{C}]+$/u.test(id) ? id : JSON.stringify(id);
}

/** Prints a value as JSON on one line. */
export function printJson(terminal: Terminal, value: unknown): Promise<void> {
  return terminal.print(JSON.stringify(value));
}

/** Whether the reader of the standard output has gone, as `head` does once it has enough. That is no failure. */
export function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "write" && "code" in error
    ? error.code === "EPIPE"
    : false;
}

/** Prints, as far as somebody reads it: for a command whose exit code counts without its words, too. */
export async function whileSomebodyReads(print: () => Promise<void>): Promise<void> {
  try {
    await print();
  } catch (error) {
    if (!isBrokenPipe(error)) throw error;
  }
}

/**
 * Lets a broken pipe, or a full disk behind the standard output, reject `print` instead of ending the process with a stack.
 * What cannot be written to the standard error has nowhere to be told.
 */
export function expectUnwritableOutput(): void {
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => {});
}
