import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { InvalidRequestError } from "../src/base/errors.js";

/** Printable ASCII, the space included. */
const printable = /^[\x20-\x7e]*$/;

/** Characters of a key: the same bound as of a write id, also where only a digest of the key is kept. */
const keyLengthMax = 255;

/**
 * The value of `Idempotency-Key`, bare or as a quoted string of RFC 8941; undefined when there is none.
 *
 * @throws InvalidRequestError
 */
export function idempotencyKey(request: IncomingMessage): string | undefined {
  const header = request.headers["idempotency-key"];
  if (header === undefined) return undefined;
  const value = String(header).trim();
  // Node joins the values of repeated headers, which would make a third key of two.
  if (value.includes(",") && (request.headersDistinct["idempotency-key"]?.length ?? 1) > 1) {
    throw new InvalidRequestError("Idempotency-Key", "is given twice");
  }
  if (!printable.test(value)) throw new InvalidRequestError("Idempotency-Key", "must be printable ASCII characters");
  const key = value.startsWith('"') ? unquote(value) : value;
  if (key === "") throw new InvalidRequestError("Idempotency-Key", "must not be empty");
  if (key.length > keyLengthMax) {
    throw new InvalidRequestError("Idempotency-Key", `must be 1 to ${keyLengthMax} characters`);
  }
  return key;
}

/**
 * The write id of a key: the key itself, or with tokens a digest of both, so that two tokens never meet in one key.
 *
 * @param tokenName null when the server has no tokens
 */
export function writeIdFor(key: string, tokenName: string | null): string {
  if (tokenName === null) return key;
  // A token's name holds no zero character, so that no two pairs make one text.
  return createHash("sha256").update(`${tokenName}\0${key}`).digest("hex");
}

/**
 * The claim id of a key: the same for the same request again. The token and the owner are a part of it, so that two
 * workers who take the same key, against its purpose, do not both get the claim.
 */
export function claimIdFor(key: string, tokenName: string | null, owner: string): string {
  return createHash("sha256")
    .update(JSON.stringify([tokenName, owner, key]))
    .digest("hex");
}

function unquote(value: string): string {
  const inner = /^"((?:[^"\\]|\\["\\])*)"$/.exec(value)?.[1];
  if (inner === undefined) throw new InvalidRequestError("Idempotency-Key", "is not a well-formed quoted string");
  return inner.replace(/\\(["\\])/g, "$1");
}
