import { InvalidRequestError } from "../../../src/base/errors.js";
import { kindOf } from "../../../src/documents/value-kind.js";
import { authInfoOf, type McpCallContext } from "./call-context.js";

/*
 * A key is its caller's own: two principals who send the same key, or the same arguments, mean two intents, and neither
 * may get the other's result. So whoever calls is part of the scope of every call, beside the scopes that server and client
 * give. So is the name of the server: tools of two servers may be called the same, and mean different things. The scope is
 * the text of a JSON list, in which no two different scopes look alike.
 */

/** Says who calls; undefined: the token decides, and without one all callers are one. */
export type PrincipalOf = (context: McpCallContext) => string | undefined;

/** Who calls: what the program says, else the token's client with the subject of a JWT, else nobody. */
export type Principal = string | readonly [client: string, subject?: string] | null;

/** @throws InvalidRequestError when the program's own function gives something else than a name */
export function principalOfCall(context: McpCallContext, principalOf: PrincipalOf | undefined): Principal {
  const given: unknown = principalOf?.(context);
  if (given !== undefined) {
    if (typeof given === "string" && given !== "") return given;
    throw new InvalidRequestError(
      "principalOf",
      given === ""
        ? "must not make an empty string: it would be the same principal for all"
        : `must make a string or undefined, not ${kindOf(given)}`,
    );
  }
  const authInfo = authInfoOf(context);
  if (authInfo === undefined) return null;
  const { clientId, extra } = authInfo;
  const subject = subjectOf(extra?.["sub"]);
  return subject === undefined ? [clientId] : [clientId, subject];
}

/** @throws InvalidRequestError for a subject that cannot be told from another: its bearer would be the same principal as others */
function subjectOf(sub: unknown): string | undefined {
  // A verifier that looks its user up puts the number of a row here, or nothing.
  if (sub === undefined || sub === null || sub === "") return undefined;
  if (typeof sub === "string") return sub;
  if (typeof sub === "bigint" || (typeof sub === "number" && Number.isFinite(sub))) return String(sub);
  throw new InvalidRequestError("authInfo.extra.sub", `must be a string or a number, not ${kindOf(sub)}`);
}

/**
 * The scope of a call.
 *
 * @param server the name of the server; null: calls of all servers count as one's
 * @param ofServer the tool's, or the guard's; null: none
 * @param ofClient what came in the `_meta` of the request
 */
export function scopeOfCall(
  server: string | null,
  principal: Principal,
  ofServer: string | null,
  ofClient: string | undefined,
): string {
  return JSON.stringify([server, principal, ofServer, ofClient ?? null]);
}
