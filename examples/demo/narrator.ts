import type { EmittedCall } from "./emitted-call.js";
import type { Answer } from "./worker-messages.js";

const marks = { fired: ".", replayed: "r", conflict: "C", error: "E" } as const;

/** Prints what happens as it happens: a mark for each answer, and a line for what is out of the ordinary. */
export class Narrator {
  readonly #start = performance.now();
  #isLineOpen = false;

  line(text: string): void {
    if (this.#isLineOpen) process.stdout.write("\n");
    this.#isLineOpen = false;
    process.stdout.write(`${this.#elapsed()} ${text}\n`);
  }

  burst(number: number, calls: number): void {
    this.line(`burst ${number}: ${calls} calls   (. fired, r replayed, C conflict)`);
  }

  answer(worker: string, call: EmittedCall, answer: Answer): void {
    if (!this.#isLineOpen) process.stdout.write(`${" ".repeat(8)}`);
    this.#isLineOpen = true;
    process.stdout.write(marks[answer.kind]);
    if (answer.kind === "fired" && answer.attempt > 1) {
      this.line(
        `${worker} took over ${describe(call)} once the dead worker's claim had lapsed: attempt ${answer.attempt}`,
      );
    }
    if (answer.kind === "conflict") this.line(`${worker} was refused ${describe(call)}: ${call.why}`);
    if (answer.kind === "error") this.line(`${worker} failed with ${describe(call)}: ${answer.message}`);
  }

  table(rows: readonly (readonly [string, string])[]): void {
    const width = Math.max(...rows.map(([name]) => name.length));
    this.line("done\n");
    for (const [name, value] of rows) process.stdout.write(`  ${name.padEnd(width)}  ${value}\n`);
    process.stdout.write("\n");
  }

  #elapsed(): string {
    return `${((performance.now() - this.#start) / 1000).toFixed(1).padStart(5)} s`;
  }
}

export function describe({ tool, args, key, turn }: EmittedCall): string {
  const what = key ?? `order ${String(args["order"])}`;
  return `${tool} for ${what} (${turn})`;
}
