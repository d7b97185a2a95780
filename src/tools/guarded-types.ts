import type { FinalResult, ToolCallOutcome } from "../tool-calls/index.js";
import type { GuardedCallOptions } from "./call-origin.js";
import type { ToolAnnotations } from "./classify.js";
import type { ToolEnvelope } from "./envelope.js";
import type { GuardOptions } from "./guard-options.js";
import type { ToolRefusal } from "./refusal.js";

/*
 * The types of guarded tools. They follow from the tool and from the options; nothing here exists at run time.
 */

/**
 * A tool of any framework: an object that is executed with arguments and the framework's own options. One without
 * `execute` is not run here, and left alone.
 */
export interface ToolLike {
  /** In a record of tools, the name there will do. */
  readonly name?: string | undefined;
  readonly execute?: ((...args: never[]) => unknown) | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
}

/** Tools by their names, or in a list. */
export type ToolSet = readonly ToolLike[] | { readonly [name: string]: ToolLike };

type Execute<T> = T extends { readonly execute?: infer F } ? Extract<F, (...args: never[]) => unknown> : never;

type ArgsOf<T> = Parameters<Execute<T>> extends readonly [] ? unknown : Parameters<Execute<T>>[0];

type OptionsOf<T> =
  Parameters<Execute<T>> extends readonly [unknown, infer O, ...unknown[]]
    ? O | GuardedCallOptions
    : GuardedCallOptions;

/** What a guarded tool answers, by the options. */
export type GuardedAnswer<R, O extends GuardOptions> =
  | (O extends { readonly envelope: false }
      ? R
      : O extends { readonly envelope: (outcome: ToolCallOutcome<unknown>) => infer E }
        ? E
        : ToolEnvelope<R>)
  | (O extends { readonly refusals: "return" } | { readonly failures: "return" } ? ToolRefusal : never);

/** A tool whose calls fire once. */
export type GuardedTool<T, O extends GuardOptions = GuardOptions> = Omit<T, "execute"> & {
  readonly execute: GuardedExecute<T, GuardedAnswer<FinalResult<ReturnType<Execute<T>>>, O>>;
};

/** A tool that may have been left alone: its answer may be the bare one. */
export type MaybeGuardedTool<T, O extends GuardOptions = GuardOptions> = [Execute<T>] extends [never]
  ? T
  : Omit<T, "execute"> & {
      readonly execute: GuardedExecute<
        T,
        FinalResult<ReturnType<Execute<T>>> | GuardedAnswer<FinalResult<ReturnType<Execute<T>>>, O>
      >;
    };

/** Every tool of a set, maybe guarded. */
export type GuardedTools<T extends ToolSet, O extends GuardOptions = GuardOptions> = {
  readonly [K in keyof T]: MaybeGuardedTool<T[K], O>;
};

/** A tool that is an async generator function stays one: its chunks, then the answer. */
type GuardedExecute<T, A> = [ReturnType<Execute<T>>] extends [never]
  ? (args: ArgsOf<T>, options?: OptionsOf<T>) => Promise<A>
  : ReturnType<Execute<T>> extends AsyncIterable<infer C>
    ? (args: ArgsOf<T>, options?: OptionsOf<T>) => AsyncGenerator<C | A, void>
    : (args: ArgsOf<T>, options?: OptionsOf<T>) => Promise<A>;
