import { createHash, timingSafeEqual } from "node:crypto";
import { OnceKvError } from "../../src/base/errors.js";
import { Access, type Scope } from "./access.js";

/** One entry of a tokens file. The token itself is not in it, only its digest. */
export interface TokenEntry {
  /** For people and for the log: 1 to 64 characters of A-Z, a-z, 0-9, `.`, `_` and `-`. */
  readonly name: string;
  /** The sha256 of the token, in hex. */
  readonly sha256: string;
  /** Shapes whose documents it may see; `["*"]`: all. */
  readonly read: readonly string[];
  /** Shapes whose documents it may change; `["*"]`: all. */
  readonly write: readonly string[];
  /** ISO 8601 with a zone; absent: never. */
  readonly expires_at?: string;
}

interface KnownToken {
  readonly digest: Buffer;
  readonly access: Access;
}

/** The tokens that a server takes. */
export class Tokens {
  readonly #known: readonly KnownToken[];

  /** @param entries as `parseTokens` or `newToken` gave them */
  constructor(entries: readonly TokenEntry[]) {
    this.#known = entries.map((entry) => ({
      digest: Buffer.from(entry.sha256, "hex"),
      access: new Access(
        entry.name,
        scopeOf(entry.read),
        scopeOf(entry.write),
        entry.expires_at === undefined ? null : Date.parse(entry.expires_at),
      ),
    }));
  }

  /**
   * The access that an `Authorization` header gives. All entries are compared, each in constant time, so that the time
   * taken tells nothing about them.
   *
   * @param now milliseconds since 1970
   * @throws OnceKvError `unauthorized`
   */
  authenticate(header: string | undefined, now: number): Access {
    if (header === undefined) throw new OnceKvError("unauthorized", "the request has no header Authorization: Bearer");
    const token = /^Bearer +([\x21-\x7e]+) *$/i.exec(header)?.[1];
    if (token === undefined)
      throw new OnceKvError("unauthorized", "the header Authorization must be Bearer and a token");
    const digest = createHash("sha256").update(token).digest();
    let access: Access | undefined;
    for (const known of this.#known) {
      if (timingSafeEqual(known.digest, digest)) access = known.access;
    }
    if (access === undefined) throw new OnceKvError("unauthorized", "the token is not known");
    if (access.expiresAtMs !== null && now >= access.expiresAtMs) {
      throw new OnceKvError("unauthorized", `the token ${JSON.stringify(access.tokenName)} has expired`);
    }
    return access;
  }
}

function scopeOf(shapes: readonly string[]): Scope {
  return shapes.includes("*") ? "all" : new Set(shapes);
}
