import type { StandardSchemaV1 } from "@standard-schema/spec";
import { InvalidRequestError } from "../base/errors.js";
import { checkFunction, readMembers } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";
import type { ToolCall } from "../tool-calls/index.js";
import { type CallArguments, readArguments } from "./arguments.js";
import { type GuardedCallOptions, readCallOrigin } from "./call-origin.js";
import type { ToolAnnotations } from "./classify.js";
import { changesTheWorld, type ToolEffect } from "./effect.js";
import { isStandardSchema } from "./schema.js";
import { checkRule, ruleMembers, type ToolRule } from "./tool-rule.js";

/** What the function of a tool that only reads gets besides its arguments. */
export interface ReadingCall {
  readonly tool: string;
  readonly signal: AbortSignal | undefined;
  /** What the framework or the caller gave with the call. */
  readonly options: unknown;
}

/** What the function of a guarded tool gets besides its arguments: the call that it was claimed for. */
export interface GuardedCall extends ToolCall {
  readonly options: unknown;
}

/** What the function gets, by the declared effect. */
export type CallOf<E extends ToolEffect> = E extends "none" | "reads" ? ReadingCall : GuardedCall;

/**
 * A tool, as its author declares it.
 *
 * @typeParam S the schema of the arguments, by the Standard Schema specification
 * @typeParam E the effect
 * @typeParam R what the function returns
 */
export interface ToolDefinition<S extends StandardSchemaV1, E extends ToolEffect, R>
  extends ToolRule<StandardSchemaV1.InferOutput<S>> {
  readonly name: string;
  readonly description?: string | undefined;
  readonly args: S;
  readonly effect: E;
  readonly annotations?: ToolAnnotations | undefined;
  /** The tool itself. It is entered only with valid arguments, and with side effects only under a claim. */
  readonly execute: (args: StandardSchemaV1.InferOutput<S>, call: CallOf<E>) => R;
}

/** A tool that was judged. Frameworks that look for `inputSchema`, `description` and `execute` find them. */
export interface DefinedTool<S extends StandardSchemaV1 = StandardSchemaV1, R = unknown> {
  readonly name: string;
  readonly description?: string;
  readonly args: S;
  readonly inputSchema: S;
  readonly effect: ToolEffect;
  readonly annotations?: ToolAnnotations;
  /**
   * Validates the arguments and enters the tool, if it has no side effects. One that has them is refused: `guardTools`
   * makes it callable.
   *
   * @throws InvalidRequestError
   */
  readonly execute: (args: StandardSchemaV1.InferInput<S>, options?: GuardedCallOptions) => Promise<Awaited<R>>;
  readonly [definitionKey]: Definition;
}

/** What the guard needs of a definition: its types were the author's business. */
export interface Definition extends ToolRule {
  readonly args: StandardSchemaV1;
  readonly execute: (args: never, call: never) => unknown;
}

/** Where a defined tool keeps its definition: a copy of the tool has it as well. */
const definitionKey: unique symbol = Symbol("definition");

const definitionMembers: ReadonlySet<string> = new Set([
  "name",
  "description",
  "args",
  "annotations",
  "execute",
  ...ruleMembers,
]);

/**
 * Declares a tool. With side effects it is callable only through `guardTools`; a body without a claim is one that fires
 * twice.
 *
 * The schema's output is what the function gets, and what key and fingerprint are made of: a default left out or spelled
 * out is the same call. It must be JSON, but for Dates, which count as their ISO 8601 text.
 *
 * @throws InvalidRequestError naming the member that is wrong
 */
export function defineTool<S extends StandardSchemaV1, E extends ToolEffect, R>(
  definition: ToolDefinition<S, E, R>,
): DefinedTool<S, R> {
  readMembers(definition, "", "the tool", definitionMembers);
  const { name, description, args, annotations, effect, execute } = definition;
  if (typeof name !== "string" || name === "") {
    throw new InvalidRequestError("name", `must be a name, not ${name === "" ? "empty" : kindOf(name)}`);
  }
  if (description !== undefined && typeof description !== "string") {
    throw new InvalidRequestError("description", `must be a string, not ${kindOf(description)}`);
  }
  checkSchema(args);
  if (effect === undefined) throw new InvalidRequestError("effect", "is needed: what does the tool do to the world?");
  checkRule(definition, "");
  checkFunction(execute ?? null, "execute");
  const declared: Definition = Object.freeze({ ...definition });
  const enter = async (given: unknown, options: unknown): Promise<unknown> => {
    if (changesTheWorld(effect)) {
      throw new InvalidRequestError(
        "",
        `the tool ${JSON.stringify(name)} has side effects: call it through guardTools`,
      );
    }
    const { signal } = readCallOrigin(options);
    const { value } = await readArguments(args, given);
    return enterDefined(declared, value, { tool: name, signal, options });
  };
  return Object.freeze({
    name,
    ...(description === undefined ? {} : { description }),
    args,
    inputSchema: args,
    effect,
    ...(annotations === undefined ? {} : { annotations }),
    execute: enter as DefinedTool<S, R>["execute"],
    [definitionKey]: declared,
  });
}

/** The definition of a tool that `defineTool` made; undefined for any other. */
export function definitionOf(tool: object): Definition | undefined {
  return definitionKey in tool ? (tool as DefinedTool)[definitionKey] : undefined;
}

/** Enters the function of a defined tool. */
export function enterDefined(
  { execute }: Definition,
  args: CallArguments["value"],
  call: ReadingCall | GuardedCall,
): unknown {
  return execute(args as never, call as never);
}

function checkSchema(value: unknown): void {
  if (isStandardSchema(value)) return;
  throw new InvalidRequestError("args", `must be a schema by the Standard Schema specification, not ${kindOf(value)}`);
}
