import { InvalidRequestError } from "../base/errors.js";
import { canonicalJson } from "../documents/canonical-json.js";
import type { CallArguments } from "./arguments.js";
import type { CallOrigin } from "./call-origin.js";
import { makeStable } from "./stable-key.js";
import type { ScopeRule, ToolRule } from "./tool-rule.js";

/*
 * What makes two calls the same intent: a key, or equal arguments within a scope. Equal arguments alone do not: "remind
 * Ann" said on two days is meant twice. Whoever means them to be enough everywhere says so with a scope of null.
 */

/** The intent of a call, as `calls.run` wants it. */
export interface Intent {
  readonly key: string | undefined;
  readonly scope: string | undefined;
}

/** Where a scope may come from when neither the call nor the tool has one. */
export interface ScopeSource {
  /** What the guard's `scopeOf` says. */
  readonly ofOptions: () => unknown;
  /** The guard's own. */
  readonly ofAll: string | null | undefined;
}

/**
 * Finds a call's key and scope. The nearest word counts: the call's own, the tool's, the framework's options, the guard's.
 *
 * @param now the wall clock, milliseconds since 1970
 * @throws InvalidRequestError when there is neither a key nor a scope, or one that a retry would not have
 */
export function intentOf(
  rule: Pick<ToolRule, "key" | "scope">,
  args: CallArguments,
  origin: CallOrigin,
  source: ScopeSource,
  now: number,
): Intent {
  const text = canonicalJson(args.identity, "args");
  const of = (make: (args: never) => unknown, path: string): string => {
    return makeStable(() => make(structuredClone(args.value) as never), path, text, now);
  };
  const key = origin.key ?? (rule.key === undefined ? undefined : of(rule.key, "key"));
  const scope = scopeOf(rule.scope, origin, source, of);
  if (key === undefined && scope === undefined) {
    throw new InvalidRequestError(
      "scope",
      "is needed where there is no key: without it, equal arguments would mean the same intent for as long as calls are " +
        "remembered. Give the turn or the run, or null if the arguments alone name the intent",
    );
  }
  refuseEmission(key, "key", origin);
  refuseEmission(scope ?? undefined, "scope", origin);
  return { key, scope: scope ?? undefined };
}

/**
 * For frameworks in which no call brings a key or a scope along: refuses a guard under which every call of a tool would be
 * refused, and only the model would hear of it.
 *
 * @throws InvalidRequestError
 */
export function checkIntentSource(
  tool: string,
  rule: Pick<ToolRule, "key" | "scope"> | undefined,
  options: { readonly scope?: string | null | undefined; readonly scopeOf?: unknown },
): void {
  if (options.scope !== undefined || options.scopeOf !== undefined) return;
  if (rule?.key !== undefined || rule?.scope !== undefined) return;
  throw new InvalidRequestError(
    "scope",
    `is needed for the tool ${JSON.stringify(tool)}, or scopeOf, or a rule with its key: a turn or a run, or null if the ` +
      "arguments alone name the intent",
  );
}

/** null: everywhere; undefined: nobody has said. */
function scopeOf(
  rule: ScopeRule | undefined,
  origin: CallOrigin,
  source: ScopeSource,
  of: (make: (args: never) => unknown, path: string) => string,
): string | null | undefined {
  if (origin.scope !== undefined) return origin.scope;
  if (typeof rule === "function") return of(rule, "scope");
  if (rule !== undefined) return rule;
  const ofOptions = source.ofOptions();
  if (ofOptions === undefined) return source.ofAll;
  if (typeof ofOptions === "string") return ofOptions;
  throw new InvalidRequestError("scopeOf", "must make a string or undefined");
}

/** An id that is new for every emission would make each of them an intent of its own. */
function refuseEmission(value: string | undefined, path: string, { toolCallId }: CallOrigin): void {
  if (value === undefined || value !== toolCallId) return;
  throw new InvalidRequestError(
    path,
    "is the tool call id: that is new when the model emits the same call again, so that it would fire again",
  );
}
