import { createHash, timingSafeEqual } from "node:crypto";
import { OnceKvError } from "../../src/base/errors.js";
import { Access, type Rights, type Scope } from "./access.js";
import type { TokenEntry } from "./token-entry.js";
import { parseTokens } from "./tokens-file.js";

interface KnownToken {
  /** What makes it the same token after a replacement. A token under another name is another: write ids belong to names. */
  readonly identity: string;
  /** The entry, to see whether it has changed. */
  readonly text: string;
  readonly digest: Buffer;
  readonly access: Access;
}

/** The names of the tokens that a replacement has touched. */
export interface TokensChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** With other scopes, another end or other bounds. */
  readonly changed: readonly string[];
}

/** The tokens that a server takes. They can be replaced while it runs. */
export class Tokens {
  #known: readonly KnownToken[] = [];

  /** @throws InvalidRequestError for what a tokens file may not hold, and for no token at all */
  constructor(entries: readonly TokenEntry[]) {
    this.#install(parseTokens({ tokens: entries }));
  }

  /**
   * Takes these tokens from now on, and no others; none at all is allowed here, since taking the last one away must
   * count. Waits and streams that are under way go on if their token still allows them, and end at once if not.
   *
   * @throws InvalidRequestError; the tokens are then as before
   */
  replace(entries: readonly TokenEntry[]): TokensChange {
    return this.#install(parseTokens({ tokens: entries }, { mayBeEmpty: true }));
  }

  /**
   * The access that an `Authorization` header gives. Whoever shows no valid token gets one answer, in words and in time: a
   * header that is missing or malformed takes the same steps as one with an unknown token, and all entries are compared,
   * each in constant time.
   *
   * @param now milliseconds since 1970
   * @throws OnceKvError `unauthorized`
   */
  authenticate(header: string | undefined, now: number): Access {
    const token = /^Bearer +([\x21-\x7e]+) *$/i.exec(header ?? "")?.[1];
    const digest = createHash("sha256")
      .update(token ?? "")
      .digest();
    let access: Access | undefined;
    for (const known of this.#known) {
      if (timingSafeEqual(known.digest, digest)) access = known.access;
    }
    // An entry may hold the digest of the empty text, which nobody can send as a token.
    if (access === undefined || token === undefined) {
      throw new OnceKvError("unauthorized", "the request needs a valid token: Authorization: Bearer <token>");
    }
    access.requireValid(now);
    return access;
  }

  #install(entries: readonly TokenEntry[]): TokensChange {
    const added: string[] = [];
    const changed: string[] = [];
    const before = new Map(this.#known.map((known) => [known.identity, known]));
    this.#known = entries.map((entry) => {
      const identity = `${entry.sha256} ${entry.name}`;
      const text = JSON.stringify(entry);
      const known = before.get(identity);
      if (known === undefined) {
        added.push(entry.name);
        const digest = Buffer.from(entry.sha256, "hex");
        return { identity, text, digest, access: new Access(entry.name, rightsOf(entry)) };
      }
      before.delete(identity);
      if (known.text === text) return known;
      changed.push(entry.name);
      known.access.change(rightsOf(entry));
      return { ...known, text };
    });
    const removed = [...before.values()].map(({ access }) => access);
    for (const access of removed) access.change(undefined);
    return { added, removed: removed.map(({ tokenName }) => String(tokenName)), changed };
  }
}

function rightsOf(entry: TokenEntry): Rights {
  const { requests_at_once: atOnce, requests_per_second: perSecond } = entry;
  return {
    read: scopeOf(entry.read),
    write: scopeOf(entry.write),
    admin: entry.admin === undefined ? undefined : scopeOf(entry.admin),
    expiresAtMs: entry.expires_at === undefined ? null : Date.parse(entry.expires_at),
    bounds: {
      ...(atOnce === undefined ? {} : { atOnce }),
      ...(perSecond === undefined ? {} : { perSecond }),
    },
  };
}

function scopeOf(shapes: readonly string[]): Scope {
  return shapes.includes("*") ? "all" : new Set(shapes);
}
