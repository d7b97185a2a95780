import { InvalidRequestError } from "../base/errors.js";
import type { Fields } from "../documents/contract.js";
import { isPlainObject } from "../documents/plain-object.js";
import { checkSignal } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";

/*
 * Two identities of a call meet here. The call identity is the framework's: a run, a thread, the id that the model gave to
 * this emission. It says where a call came from and is kept in the record for people. The intent identity is the caller's:
 * a key, or arguments within a scope. Only it decides whether two calls are one, since a second emission of the same intent
 * has a tool call id of its own.
 */

/**
 * What a caller says of one call, as the second parameter of a guarded tool. Other members are the framework's: they are
 * handed to the tool and looked at by `scopeOf`.
 */
export interface GuardedCallOptions {
  /** The caller's own key of the intent, kept since before the call. */
  readonly key?: string | undefined;
  /** In which equal arguments mean the same intent: a turn of the user, a run. */
  readonly scope?: string | undefined;
  readonly tool_call_id?: string | undefined;
  /** The same, as some frameworks spell it. */
  readonly toolCallId?: string | undefined;
  readonly run_id?: string | undefined;
  readonly runId?: string | undefined;
  readonly thread_id?: string | undefined;
  readonly threadId?: string | undefined;
  /** Ends the waiting, and is forwarded to the tool. */
  readonly signal?: AbortSignal | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** The same, read. */
export interface CallOrigin {
  readonly key: string | undefined;
  readonly scope: string | undefined;
  readonly toolCallId: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** The call identity, for the record. */
  readonly extra: Fields;
}

/** Where each part of the call identity is found. */
const identityMembers = {
  tool_call_id: ["tool_call_id", "toolCallId"],
  run_id: ["run_id", "runId"],
  thread_id: ["thread_id", "threadId"],
} as const;

/**
 * Reads what a framework or a caller gave with a call. What it does not know it leaves alone.
 *
 * @throws InvalidRequestError when a key, a scope or a signal is none
 */
export function readCallOrigin(options: unknown): CallOrigin {
  const extra: Fields = {};
  for (const [name, spellings] of Object.entries(identityMembers)) {
    const value = firstOf(options, spellings);
    if (typeof value === "string") extra[name] = value;
  }
  const toolCallId = extra["tool_call_id"];
  const signal = firstOf(options, ["signal", "abortSignal"]);
  return {
    key: textOf(options, "key"),
    scope: textOf(options, "scope"),
    toolCallId: typeof toolCallId === "string" ? toolCallId : undefined,
    signal: signal === undefined ? undefined : checkSignal(signal, "signal"),
    extra,
  };
}

/** The options for a tool that is not of this package: as they are, but with the signal that aborts when the claim is lost. */
export function withSignal(options: unknown, signal: AbortSignal): unknown {
  if (typeof options !== "object" || options === null) return options;
  const spelling = ["signal", "abortSignal"].find((name) => Reflect.get(options, name) !== undefined);
  if (spelling === undefined) return options;
  if (isPlainObject(options)) return { ...options, [spelling]: signal };
  // An object with methods and hidden state stays what it is, with one member in front of it.
  return Object.create(options, { [spelling]: { value: signal, enumerable: true } });
}

function textOf(options: unknown, name: string): string | undefined {
  const value = firstOf(options, [name]);
  if (value === undefined || typeof value === "string") return value;
  throw new InvalidRequestError(name, `must be a string, not ${kindOf(value)}`);
}

function firstOf(options: unknown, names: readonly string[]): unknown {
  if (typeof options !== "object" || options === null) return undefined;
  for (const name of names) {
    const value: unknown = Reflect.get(options, name);
    if (value !== undefined) return value;
  }
  return undefined;
}
