import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { FinalResult } from "../../../src/tool-calls/index.js";
import type { GuardedAnswer, ToolRefusal } from "../../../src/tools/index.js";
import type { GuardToolOptions } from "./options.js";

/*
 * The options of a tool as `tool()` of the SDK takes them, by their shape. Nothing here exists at run time.
 */

/** What the SDK gives a tool about its run. */
export interface RunContextLike {
  /** The caller's own, as given to `run`. */
  readonly context: unknown;
}

/** What the SDK gives a tool about its call. */
export interface ToolCallDetailsLike {
  readonly toolCall?:
    | { readonly callId: string; readonly name: string; readonly arguments?: string | undefined }
    | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What the tool gets: what a schema of Zod makes, and of a JSON Schema or without parameters what the SDK says. */
export type InputOf<P> = P extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<P>
  : undefined extends P
    ? string
    : unknown;

/** Functions beside `execute`, here only so that their parameters are known where they are written down. */
interface OtherFunctions<P> {
  needsApproval(runContext: RunContextLike, input: InputOf<P>, callId?: string): Promise<boolean>;
  errorFunction(runContext: RunContextLike, error: unknown, details?: ToolCallDetailsLike): unknown;
  timeoutErrorFunction(runContext: RunContextLike, error: Error, details?: ToolCallDetailsLike): unknown;
  isEnabled(given: { readonly runContext: RunContextLike; readonly agent: unknown }): boolean | Promise<boolean>;
}

/** The options of a tool, as far as they are looked at. */
export interface ToolOptionsLike<P, R, C, D> {
  readonly name?: string;
  readonly strict?: boolean;
  readonly parameters: P;
  readonly execute: (input: InputOf<P>, runContext?: C, details?: D) => R;
  readonly needsApproval?: boolean | OtherFunctions<P>["needsApproval"];
  readonly errorFunction?: OtherFunctions<P>["errorFunction"] | null;
  readonly timeoutErrorFunction?: OtherFunctions<P>["timeoutErrorFunction"];
  readonly isEnabled?: boolean | OtherFunctions<P>["isEnabled"];
}

/** What a guarded tool answers, by the options: with an output schema the bare result unless they say otherwise. */
export type AnswerOf<T, R, O extends GuardToolOptions> = T extends { readonly outputSchema: object }
  ? O extends { readonly envelope: infer E extends GuardToolOptions["envelope"] }
    ? GuardedAnswer<FinalResult<R>, { readonly envelope: E }>
    : FinalResult<R>
  : GuardedAnswer<FinalResult<R>, { readonly envelope: O["envelope"] }> | ToolRefusal;

/** Of what was written down where it is used, without the `readonly` that the SDK does not know. */
type Writable<V> = V extends (...args: never[]) => unknown
  ? V
  : V extends StandardSchemaV1
    ? V
    : V extends object
      ? { -readonly [K in keyof V]: Writable<V[K]> }
      : V;

type Lists<T> = { [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };

/** The options of a tool whose calls fire once, for `tool()`. */
export type GuardedToolOptions<T, P, A, C, D> = Lists<Omit<T, "execute" | "parameters" | "name">> & {
  name: string;
  parameters: Writable<P>;
  execute: (input: InputOf<P>, runContext?: C, details?: D) => Promise<A>;
};
