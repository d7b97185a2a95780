import { InvalidRequestError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import type { Fields, JsonValue } from "../documents/contract.js";
import { checkFields, checkJson } from "../documents/json-value.js";
import { checkBoolean, checkSignal, readMembers } from "../documents/request-members.js";
import { kindOf } from "../documents/value-kind.js";
import { fingerprintOf, keyOf } from "./keys.js";
import {
  type CallOptions,
  type CallSettings,
  callOptionNames,
  resolveCallOptions,
  type ToolCallsSettings,
} from "./options.js";
import type { ToolCallIdentity } from "./record.js";

/** The arguments as a call's functions get them: typed as they were given, or as JSON when nothing is known of them. */
export type ArgumentsOf<A> = unknown extends A ? JsonValue : A;

/**
 * What names a call.
 *
 * @typeParam A the arguments; an interface will do. That they are JSON is checked when the call is made.
 */
export interface ToolCallName<A = unknown> {
  readonly tool: string;
  /**
   * What makes this call this call: JSON. The key is derived from it, and it is compared with what the key was used for
   * before. What changes from one try to the next (a trace id, the time) does not belong here, but into the function.
   */
  readonly args: A;
  /** The caller's own key within tool and scope, or a function that makes it of the arguments. Absent: derived from them. */
  readonly key?: string | ((args: ArgumentsOf<A>) => string) | undefined;
  /** In which equal arguments mean the same intent: a turn of the user, a run, a tenant. Absent: everywhere. */
  readonly scope?: string | undefined;
}

/** One call. Its options override those given to `toolCalls`. */
export interface ToolCallRequest<A = unknown> extends ToolCallName<A>, CallOptions {
  /** false: a call that is in flight is answered at once with `CallInFlightError`, as with a `waitTimeout` of 0. */
  readonly wait?: boolean | undefined;
  /** Ends the waiting, and is forwarded to the tool. Once the tool runs, its outcome is recorded all the same. */
  readonly signal?: AbortSignal | undefined;
  /** Kept in the record, for people; no part of the key or the comparison. */
  readonly extra?: { readonly [name: string]: unknown } | undefined;
}

/** A request that was judged. */
export interface PreparedCall {
  readonly identity: ToolCallIdentity;
  /** A copy, which nobody else can change. */
  readonly args: JsonValue;
  readonly settings: CallSettings;
  readonly extra: Fields | undefined;
  readonly signal: AbortSignal | undefined;
}

const requestMembers: ReadonlySet<string> = new Set([
  "tool",
  "args",
  "key",
  "scope",
  "wait",
  "signal",
  "extra",
  ...callOptionNames,
]);

/** @throws InvalidRequestError, TooLargeError, and what `key` or `redact` throw */
export function prepareCall(request: ToolCallRequest, settings: ToolCallsSettings, limits: Limits): PreparedCall {
  const { args, key, fingerprint } = nameCall(request, limits);
  const { wait, signal, extra } = request;
  const own = wait !== undefined && !checkBoolean(wait, "wait") ? { ...request, waitTimeout: 0 } : request;
  const { redact } = settings;
  const intent = redact === undefined ? args : checkJson(redact(structuredClone(args), request.tool), "intent", limits);
  const callSettings = resolveCallOptions(settings.call, own, limits);
  const { policy, marks } = callSettings;
  return {
    identity: { tool: request.tool, key, fingerprint, intent, policy, marks },
    args,
    settings: callSettings,
    extra: extra === undefined ? undefined : checkFields(extra, "extra", limits),
    signal: signal === undefined ? undefined : checkSignal(signal, "signal"),
  };
}

/** The key and the fingerprint of a call; a whole request will do. @throws InvalidRequestError, TooLargeError, and what `key` throws */
export function nameCall<A>(
  name: ToolCallName<A>,
  limits: Limits,
): { readonly args: JsonValue; readonly key: string; readonly fingerprint: string } {
  readMembers(name, "", "the call", requestMembers);
  const { tool, scope } = name;
  if (name.args === undefined) throw new InvalidRequestError("args", "must be JSON, not undefined");
  const args = checkJson(name.args, "args", limits);
  const given: unknown = typeof name.key === "function" ? name.key(structuredClone(args) as ArgumentsOf<A>) : name.key;
  if (given !== undefined && typeof given !== "string") {
    throw new InvalidRequestError("key", `must be a string or a function that makes one, not ${kindOf(given)}`);
  }
  if (typeof name.key === "function" && given === undefined) {
    throw new InvalidRequestError("key", "must not make undefined");
  }
  const fingerprint = fingerprintOf(args);
  return { args, fingerprint, key: keyOf({ tool, scope, given, fingerprint }, limits) };
}
