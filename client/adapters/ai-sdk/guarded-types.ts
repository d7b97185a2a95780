import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { FinalResult } from "../../../src/tool-calls/index.js";
import type { GuardedAnswer, GuardedCallOptions, ToolLike, ToolRefusal } from "../../../src/tools/index.js";
import type { GuardToolsOptions } from "./options.js";

/*
 * The types of guarded tools. Everything that the SDK infers from a tool stays where it is; only what comes out is another,
 * in `execute`, and with it in `outputSchema` and `toModelOutput`. Nothing here exists at run time.
 */

/** Tools by their names, as `generateText`, `streamText` and agents take them. */
export interface ToolSetLike {
  readonly [name: string]: ToolLike;
}

type AnyFunction = (...args: never[]) => unknown;

type Execute<T> = T extends { readonly execute?: infer F } ? Extract<F, AnyFunction> : never;

type ResultOf<T> = FinalResultOfEach<ReturnType<Execute<T>>>;

/** Of a union of ways to answer, each by itself. */
type FinalResultOfEach<R> = R extends unknown ? FinalResult<R> : never;

type GuardAnswer<R, O extends Pick<GuardToolsOptions, "envelope" | "refusals" | "failures">> =
  | GuardedAnswer<R, { readonly envelope: O["envelope"] }>
  | (O extends { readonly refusals: "throw"; readonly failures: "throw" } ? never : ToolRefusal);

/** What a guarded tool answers: the last of its outputs, and what the model reads. */
export type AnswerOf<T, O extends GuardToolsOptions> = GuardAnswer<ResultOf<T>, O>;

type OptionsOf<T> =
  Parameters<Execute<T>> extends readonly [unknown, infer C, ...unknown[]] ? C : GuardedCallOptions | undefined;

type InputOf<T> = Parameters<Execute<T>> extends readonly [infer I, ...unknown[]] ? I : unknown;

/** A tool that streams yields its chunks, then the answer; whether one does is for some known only when it runs. */
type Outcome<R, A> = R extends AsyncIterable<infer C> ? AsyncIterable<C | A> : Promise<A>;

/** What the SDK calls the output: chunks are of the same type for it, and are meant wherever it is said. */
type OutputOf<T, A> = ChunkOf<ReturnType<Execute<T>>> | A;

type ChunkOf<R> = R extends AsyncIterable<infer C> ? C : never;

type GuardedMember<T, K extends keyof T, A> = K extends "execute"
  ? [Execute<T>] extends [never]
    ? T[K]
    : (input: InputOf<T>, options: OptionsOf<T>) => Outcome<ReturnType<Execute<T>>, A>
  : K extends "outputSchema"
    ? StandardSchemaV1<unknown, OutputOf<T, A>>
    : K extends "toModelOutput"
      ? T[K] extends ((question: infer Q extends object) => infer M) | undefined
        ? (question: Omit<Q, "output"> & { output: OutputOf<T, A> }) => Promise<Awaited<M>>
        : T[K]
      : T[K];

/** `args` of a defined tool is its input schema; the SDK has another use for the name, with tools of its providers. */
type MemberOf<T> = T extends { readonly type: "provider" } ? keyof T : Exclude<keyof T, "args">;

type WithAnswer<T, A> = { [K in keyof T as K & MemberOf<T>]: GuardedMember<T, K, A> };

/** The SDK's type of a tool is a union, in some members of which nothing is executed. */
type EachExecuted<T, A> = T extends unknown ? ([Execute<T>] extends [never] ? never : WithAnswer<T, A>) : never;

type Each<T, A> = T extends unknown ? ([Execute<T>] extends [never] ? T : WithAnswer<T, A>) : never;

/** A tool whose calls fire once. */
export type GuardedTool<T, O extends GuardToolsOptions = GuardToolsOptions> = EachExecuted<T, AnswerOf<T, O>>;

/** A tool that may have been left alone: its answer may be the bare one. */
export type MaybeGuardedTool<T, O extends GuardToolsOptions = GuardToolsOptions> = Each<
  T,
  ResultOf<T> | AnswerOf<T, O>
>;

/** Every tool of a set, maybe guarded. */
export type GuardedTools<T extends ToolSetLike, O extends GuardToolsOptions = GuardToolsOptions> = {
  [K in keyof T]: MaybeGuardedTool<T[K], O>;
};
