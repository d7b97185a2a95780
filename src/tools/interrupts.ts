import { CallParkedError, type ToolCall } from "../tool-calls/index.js";
import { isAsyncIterable } from "../tool-calls/stream.js";

/*
 * A framework that stops for a person's word throws, and runs the tool again from its first line when the word is given.
 * Such a throw is no failure: the call is parked, and the throw goes on to the framework as it is. It says that nothing
 * was done yet; a tool that has its effect before it interrupts has it again when it is resumed, unless it marks it.
 */

/** Names under which LangGraph throws. */
const interruptNames: ReadonlySet<unknown> = new Set(["GraphInterrupt", "NodeInterrupt"]);

/** Whether a throw is the interrupt of a framework, by its name. */
export function isFrameworkInterrupt(error: unknown): boolean {
  return typeof error === "object" && error !== null && interruptNames.has(Reflect.get(error, "name"));
}

/** Follows one call into its tool, and parks it when the tool interrupts. */
export class InterruptWatch {
  readonly #isInterrupt: (error: unknown) => boolean;
  #interrupt: { readonly error: unknown } | undefined;
  #attempt: number | undefined;
  #threw: { readonly error: unknown } | undefined;

  constructor(isInterrupt: (error: unknown) => boolean) {
    this.#isInterrupt = isInterrupt;
  }

  /** Enters the tool in this very turn. One that streams runs on while its chunks are read, and is followed to its end. */
  async enter(call: ToolCall, tool: () => unknown): Promise<unknown> {
    this.#attempt = call.attempt;
    let result: unknown;
    try {
      result = await tool();
    } catch (error) {
      return this.#fell(call, error);
    }
    return isAsyncIterable(result) ? this.#follow(call, result) : result;
  }

  async *#follow(call: ToolCall, chunks: AsyncIterable<unknown>): AsyncGenerator<unknown, void> {
    try {
      yield* chunks;
    } catch (error) {
      await this.#fell(call, error);
    }
  }

  /** The attempt under which the tool was begun; undefined: it was not, by this caller. */
  get attempt(): number | undefined {
    return this.#attempt;
  }

  /** Whether an error is what the tool itself threw, and no interrupt. */
  isFailure(error: unknown): boolean {
    return this.#threw !== undefined && this.#threw.error === error;
  }

  async #fell(call: ToolCall, error: unknown): Promise<never> {
    // What `park` throws in the tool is how it was parked, and no failure of the tool.
    if (error instanceof CallParkedError && error.key === call.key) throw error;
    if (!this.#isInterrupt(error)) {
      this.#threw = { error };
      throw error;
    }
    this.#interrupt = { error };
    // The run hears by itself that it was parked. Where it could not be, after the mark of the effect, the throw is
    // recorded like any other: the effect may have been.
    await call.park("interrupted by its framework").catch(() => {});
    throw error;
  }

  /** What the caller gets for what the run rejected with. */
  thrown(error: unknown): unknown {
    return this.#interrupt !== undefined && error instanceof CallParkedError ? this.#interrupt.error : error;
  }
}
