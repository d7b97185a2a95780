import { createHash } from "node:crypto";
import { InvalidRequestError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import { canonicalJson } from "../documents/canonical-json.js";
import type { JsonValue } from "../documents/contract.js";
import { checkIdPart } from "../documents/names.js";
import { kindOf } from "../documents/value-kind.js";

/*
 * The key of a call is the id of its record:
 *
 *     send_email:4c2d...                     derived: the tool, and the sha256 of the canonical arguments
 *     send_email:order-12345                 given
 *     turn-7/send_email:order-12345          the same in a scope
 *
 * In the tool and the scope "%", ":" and "/" are percent-encoded, so that the first ":" ends the head, and a "/" in the
 * head ends the scope: no two different calls meet.
 */

/** What a key is made of. */
export interface KeyParts {
  readonly tool: string;
  readonly scope: string | undefined;
  /** The caller's own part; undefined: derived from the arguments. */
  readonly given: string | undefined;
  /** sha256 of the canonical arguments, in hex. */
  readonly fingerprint: string;
}

/** sha256, in hex, of the one text that RFC 8785 gives a JSON value: equal for equal arguments, whatever their order. */
export function fingerprintOf(args: JsonValue): string {
  return createHash("sha256").update(canonicalJson(args, "args"), "utf8").digest("hex");
}

/**
 * The whole key. A given key that is whole already, because it was taken from an earlier outcome, stays as it is.
 *
 * @throws InvalidRequestError when a part is empty or not well-formed, or the whole is longer than an id may be
 */
export function keyOf(parts: KeyParts, limits: Limits): string {
  const head = headOf(parts.tool, parts.scope, limits);
  if (parts.given === undefined) return checkWhole(`${head}${parts.fingerprint}`, "tool", limits);
  const given = checkPart(parts.given, "key", limits);
  if (given.startsWith(head) && given.length > head.length) return given;
  if (parts.scope === undefined && isWholeInScope(given, head)) return checkWhole(given, "key", limits);
  return checkWhole(`${head}${reserved.test(given) ? `key:${given}` : given}`, "key", limits);
}

/**
 * The key as the value of an `Idempotency-Key` header: itself if a header can carry it and services take it (up to 255
 * printable ASCII characters), else a hash of it.
 */
export function headerKeyOf(key: string): string {
  if (/^[!-~](?:[ -~]{0,253}[!-~])?$/.test(key)) return key;
  return `sha256-${createHash("sha256").update(key, "utf8").digest("hex")}`;
}

/** What every key of a tool, or of a whole scope, begins with. */
export function prefixOf(tool: string | undefined, scope: string | undefined, limits: Limits): string {
  if (tool !== undefined) return headOf(tool, scope, limits);
  return scope === undefined ? "" : `${escaped(checkPart(scope, "scope", limits))}/`;
}

/** Whether a key was made for this tool in some scope: `prepare` and outcomes give it without saying which. */
function isWholeInScope(given: string, head: string): boolean {
  const slash = given.indexOf("/");
  return (
    slash > 0 &&
    !given.slice(0, slash).includes(":") &&
    given.length > slash + 1 + head.length &&
    given.startsWith(head, slash + 1)
  );
}

/** Given keys that look like a derived one, or like one that was moved out of the way of those. */
const reserved = /^(?:[0-9a-f]{64}$|key:)/;

function headOf(tool: string, scope: string | undefined, limits: Limits): string {
  const name = escaped(checkPart(tool, "tool", limits));
  return scope === undefined ? `${name}:` : `${escaped(checkPart(scope, "scope", limits))}/${name}:`;
}

function escaped(part: string): string {
  return part.replace(/[%:/]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** An empty part is more often a variable that was not set than a name. */
function checkPart(value: unknown, path: string, limits: Limits): string {
  if (value === "") throw new InvalidRequestError(path, "must not be empty");
  if (typeof value !== "string") throw new InvalidRequestError(path, `must be a string, not ${kindOf(value)}`);
  return checkIdPart(value, path, limits);
}

function checkWhole(key: string, path: string, limits: Limits): string {
  if (Buffer.byteLength(key, "utf8") <= limits.idBytesMax) return key;
  throw new InvalidRequestError(
    path,
    `makes a key of more than ${limits.idBytesMax} bytes, with its tool and scope in front`,
  );
}
