import { InvalidRequestError } from "../../../src/base/errors.js";
import { kindOf } from "../../../src/documents/value-kind.js";

/*
 * MCP gives every request and every result a `_meta` object for what the protocol does not know, with names under a prefix.
 * A client that keeps its keys sends them there, where the model neither sees nor makes them; the result says there whether
 * it is a replay.
 */

/** Names in the `_meta` of a request. */
export const requestMeta = { key: "oncekv/idempotency_key", scope: "oncekv/scope" } as const;

/** Names in the `_meta` of a result. */
export const resultMeta = {
  was_replay: "oncekv/was_replay",
  original_called_at: "oncekv/original_called_at",
  key: "oncekv/key",
  result_omitted: "oncekv/result_omitted",
  /** Of a call without a result: the code of the error, as in docs/errors.md. */
  code: "oncekv/code",
  /** Seconds after which the same call may be made again. */
  retry_after: "oncekv/retry_after",
} as const;

/** What a client says of a call's intent. */
export interface CallMeta {
  readonly key: string | undefined;
  readonly scope: string | undefined;
}

/** @param meta the `_meta` of a request, if it has one @throws InvalidRequestError when a key or a scope is none */
export function readCallMeta(meta: unknown): CallMeta {
  return { key: textOf(meta, requestMeta.key), scope: textOf(meta, requestMeta.scope) };
}

function textOf(meta: unknown, name: string): string | undefined {
  if (typeof meta !== "object" || meta === null) return undefined;
  const value: unknown = Reflect.get(meta, name);
  if (value === undefined) return undefined;
  if (typeof value === "string" && value !== "") return value;
  const problem = value === "" ? "must not be empty" : `must be a string, not ${kindOf(value)}`;
  throw new InvalidRequestError(`_meta[${JSON.stringify(name)}]`, problem);
}
