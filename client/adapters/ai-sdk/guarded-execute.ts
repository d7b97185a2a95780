import type { ToolCall } from "../../../src/tool-calls/index.js";
import { isAsyncIterable } from "../../../src/tool-calls/stream.js";
import { noteEntered } from "../../../src/tools/entered-calls.js";
import type { ToolLike } from "../../../src/tools/index.js";
import { LiveChunks } from "./live-chunks.js";
import { isRefusal } from "./model-output.js";

/*
 * One call on its way from the SDK through the guard into the tool. The guard wants what identifies the call, the tool wants
 * the SDK's own options, and its chunks are wanted out here: so what the guard is given carries the rest with it.
 */

/** Where the options that go through the guard keep what is only for the two ends. */
const carried: unique symbol = Symbol("carried");

interface Carried {
  /** As the SDK gave them. */
  readonly options: unknown;
  readonly live: LiveChunks;
}

type Execute = (...args: unknown[]) => unknown;

/** The tool as the guard enters it: with the SDK's options, and with its chunks going out to their reader. */
export function enterable(name: string, tool: ToolLike): ToolLike {
  const { execute } = tool as { execute: Execute };
  return {
    name,
    ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
    execute: async (input: unknown, passed: unknown, call: ToolCall): Promise<unknown> => {
      const { options, live } = carriedBy(passed);
      // The claim's signal aborts with the caller's own, and is there also where the caller has none.
      const own = { ...(options as object | undefined), abortSignal: call.signal };
      noteEntered(own, call);
      const result = await Reflect.apply(execute, tool, [input, own, call]);
      return isAsyncIterable(result) ? live.through(result) : result;
    },
  };
}

/** What the SDK gave, of what the guard was given. */
export function optionsOf(passed: unknown): unknown {
  return carriedBy(passed).options;
}

/**
 * What stands in the place of the tool's `execute`.
 *
 * @param guarded the same for the enterable tool, under the guard
 * @param bare whether answers are bare results: then the last chunk is the answer
 */
export function guardedExecute(execute: unknown, guarded: Execute, bare: boolean): Execute {
  const mayStream = Object.prototype.toString.call(execute) !== "[object AsyncFunction]";
  return (input, options) => {
    const live = new LiveChunks();
    const answer = guarded(input, {
      ...(options as object | undefined),
      [carried]: { options, live },
    }) as Promise<unknown>;
    return mayStream ? Object.assign(answer, iterable(answer, live, bare)) : answer;
  };
}

function iterable(answer: Promise<unknown>, live: LiveChunks, bare: boolean): AsyncIterable<unknown> {
  // Whoever iterates meets the error at the end; the promise itself may have nobody who looks at it.
  answer.catch(() => {});
  async function* chunksAndAnswer(chunks: AsyncIterable<unknown>): AsyncGenerator<unknown, void> {
    yield* chunks;
    const last = await answer;
    if (!(bare && live.any) || isRefusal(last)) yield last;
  }
  // The reader is known from here on, and not only when it asks for the first chunk.
  return { [Symbol.asyncIterator]: () => leavable(chunksAndAnswer(live.read(answer)), () => live.leave()) };
}

/** A generator that was not begun does not notice that its reader leaves. */
function leavable(generator: AsyncGenerator<unknown, void>, leave: () => void): AsyncGenerator<unknown, void> {
  const end = generator.return.bind(generator);
  return Object.assign(generator, {
    return(value: undefined): Promise<IteratorResult<unknown, void>> {
      leave();
      return end(value);
    },
  });
}

function carriedBy(passed: unknown): Carried {
  const found = (passed as { readonly [carried]?: Carried })[carried];
  return found ?? { options: passed, live: new LiveChunks() };
}
