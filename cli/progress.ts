import type { Clock } from "../src/base/clock.js";

/** Where progress is shown. */
export interface ProgressOutput {
  /** A line that may be replaced by the next; a log file wants few of them, each on its own. */
  readonly isTerminal: boolean;
  write(text: string): void;
}

const terminalEveryMs = 200;
const fileEveryMs = 5000;

/** Tells how far a long piece of work has come: at once on a terminal, every few seconds elsewhere. */
export class Progress {
  readonly #what: string;
  readonly #output: ProgressOutput;
  readonly #clock: Clock;
  #lastShown: number;
  #isLineOpen = false;

  /** @param what as in "documents written" */
  constructor(what: string, output: ProgressOutput, clock: Clock) {
    this.#what = what;
    this.#output = output;
    this.#clock = clock;
    this.#lastShown = clock.monotonicNow();
  }

  /** Takes note of the number reached; shows it if it is time to. */
  reached(count: number): void {
    const now = this.#clock.monotonicNow();
    const { isTerminal } = this.#output;
    if (now - this.#lastShown < (isTerminal ? terminalEveryMs : fileEveryMs)) return;
    this.#lastShown = now;
    const text = `${count.toLocaleString("en-US")} ${this.#what}`;
    this.#output.write(isTerminal ? `\r${text}` : `${text}\n`);
    this.#isLineOpen = isTerminal;
  }

  /** Leaves the line, so that what is said next begins a new one. */
  end(): void {
    if (this.#isLineOpen) this.#output.write("\n");
    this.#isLineOpen = false;
  }
}

/** Runs `work` and shows its progress. */
export async function withProgress<Result>(
  what: string,
  output: ProgressOutput,
  clock: Clock,
  work: (onProgress: (count: number) => void) => Promise<Result>,
): Promise<Result> {
  const progress = new Progress(what, output, clock);
  try {
    return await work((count) => progress.reached(count));
  } finally {
    progress.end();
  }
}
