import { createHash, randomBytes } from "node:crypto";
import type { TokenEntry } from "./token-entry.js";
import { checkTokenEntry } from "./tokens-file.js";

/** What a new token may do. */
export interface TokenScopes {
  /** Shapes, or `["*"]`. */
  readonly read: readonly string[];
  /** Shapes, or `["*"]`. */
  readonly write: readonly string[];
  /** Shapes, or `["*"]`; absent: administering needs no more than `read` and `write`. */
  readonly admin?: readonly string[];
  /** ISO 8601 with a zone; absent: never. */
  readonly expires_at?: string;
  /** Absent: as the server's bounds say. */
  readonly requests_per_second?: number;
  /** Absent: as the server's bounds say. */
  readonly requests_at_once?: number;
}

/** A new token, which is shown once, and the entry for the tokens file, which does not hold it. */
export interface NewToken {
  readonly token: string;
  readonly entry: TokenEntry;
}

/** 256 bits: nobody guesses it, and a plain sha256 of it is as good as a slow hash. */
const tokenBytes = 32;

/**
 * Makes a token.
 *
 * @param random gives so many random bytes; the system's source when absent
 * @throws InvalidRequestError when the name or the scopes are not what a tokens file may hold
 */
export function newToken(
  name: string,
  scopes: TokenScopes,
  random: (bytes: number) => Uint8Array = randomBytes,
): NewToken {
  const token = `okv_${Buffer.from(random(tokenBytes)).toString("base64url")}`;
  const { read, write, admin, expires_at, requests_per_second, requests_at_once } = scopes;
  const entry = {
    name,
    sha256: createHash("sha256").update(token).digest("hex"),
    read,
    write,
    admin,
    expires_at,
    requests_per_second,
    requests_at_once,
  };
  return { token, entry: checkTokenEntry(entry, "") };
}
