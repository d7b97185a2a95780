import { InvalidRequestError } from "../../../src/base/errors.js";
import type { JsonValue } from "../../../src/documents/contract.js";
import { checkBoolean, checkFunction, readMembers, shown } from "../../../src/documents/request-members.js";
import type { FailureClass } from "../../../src/tool-calls/index.js";
import { type GuardSettings, resolveGuardOptions } from "../../../src/tools/guard-options.js";
import type { GuardOptions } from "../../../src/tools/index.js";
import type { McpCallContext } from "./call-context.js";
import type { PrincipalOf } from "./principal.js";
import type { McpToolResult } from "./tool-result.js";

/** A call that has answered with an error. */
export interface McpAnsweredCall {
  readonly tool: string;
  readonly args: unknown;
}

/** Options of `guardMcpServer`. */
export interface McpGuardOptions extends Pick<GuardOptions, "scope" | "rules" | "leave" | "similar" | "clock"> {
  /** Who calls. Absent, or when it gives undefined: the client of the token, with its subject (`authInfo.extra.sub`). */
  principalOf?(context: McpCallContext): string | undefined;
  /** In which equal arguments mean the same intent, made of the call's context; undefined: `scope` counts. */
  scopeOf?(context: McpCallContext, call: { readonly tool: string; readonly args: JsonValue }): string | undefined;
  /**
   * What a result with `isError` means. Absent, or when it gives undefined: `"retryable"` for a tool with `idempotentHint`,
   * else `"completed"`, which keeps it as the result of the call.
   */
  errorResults?(result: McpToolResult, call: McpAnsweredCall): FailureClass | "completed" | undefined;
  /** Adds an optional field for a key to the arguments of guarded tools: true for `idempotency_key`, or its name. */
  readonly keyField?: boolean | string | undefined;
  /** Whether tools may still come after `connect`, which therefore does not ask whether every name in the options has one. */
  readonly toolsComeLater?: boolean | undefined;
}

/** The same, judged. */
export interface McpGuardSettings extends Pick<GuardSettings, "scope" | "rules" | "leave" | "similar" | "clock"> {
  readonly principalOf: PrincipalOf | undefined;
  readonly scopeOf: NonNullable<McpGuardOptions["scopeOf"]>;
  readonly errorResults: NonNullable<McpGuardOptions["errorResults"]>;
  /** The name of the field; undefined: there is none. */
  readonly keyField: string | undefined;
  readonly toolsComeLater: boolean;
}

const optionMembers: ReadonlySet<string> = new Set([
  "scope",
  "rules",
  "leave",
  "similar",
  "clock",
  "principalOf",
  "scopeOf",
  "errorResults",
  "keyField",
  "toolsComeLater",
]);

/** @throws InvalidRequestError */
export function resolveMcpGuardOptions(options: McpGuardOptions): McpGuardSettings {
  readMembers(options, "", "the options", optionMembers);
  const { scope, rules, leave, similar, clock } = options;
  const common = resolveGuardOptions({ scope, rules, leave, similar, clock });
  const { principalOf, scopeOf, errorResults, keyField, toolsComeLater = false } = options;
  for (const [name, value] of Object.entries({ principalOf, scopeOf, errorResults })) checkFunction(value, name);
  return {
    ...common,
    principalOf,
    scopeOf: scopeOf ?? (() => undefined),
    errorResults: errorResults ?? (() => undefined),
    keyField: keyFieldOf(keyField),
    toolsComeLater: checkBoolean(toolsComeLater, "toolsComeLater"),
  };
}

function keyFieldOf(given: unknown): string | undefined {
  if (given === undefined || given === false) return undefined;
  if (given === true) return "idempotency_key";
  if (typeof given === "string" && /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(given)) return given;
  throw new InvalidRequestError("keyField", `must be true or the name of a field, not ${shown(given)}`);
}
