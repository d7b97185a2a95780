import { OnceKvError } from "../../src/base/errors.js";
import { type RequestBounds, RequestGate } from "./request-gate.js";

/** What one kind of access covers: some shapes, or all of them, those without a document yet included. */
export type Scope = "all" | ReadonlySet<string>;

/** What a token allows. */
export interface Rights {
  readonly read: Scope;
  readonly write: Scope;
  /** Undefined: it does not say, and administering needs no more than reading and writing do. */
  readonly admin: Scope | undefined;
  /** Milliseconds since 1970; null: never. */
  readonly expiresAtMs: number | null;
  /** Undefined members: the server's own bounds count. */
  readonly bounds: { readonly atOnce?: number; readonly perSecond?: number };
}

/**
 * What the sender of a request may do. There is one for a token, however many requests bear it, and it changes with the
 * tokens: a request that is under way is judged by what its token allows now.
 */
export class Access {
  /** The token's name; null when the server has no tokens. */
  readonly tokenName: string | null;
  #rights: Rights | undefined;
  readonly #gate = new RequestGate();
  readonly #listeners = new Set<() => void>();

  constructor(tokenName: string | null, rights: Rights) {
    this.tokenName = tokenName;
    this.#rights = rights;
  }

  /** Milliseconds since 1970; null: never. */
  get expiresAtMs(): number | null {
    return this.#rights?.expiresAtMs ?? null;
  }

  /** Gives other rights, or none at all, from now on. */
  change(rights: Rights | undefined): void {
    this.#rights = rights;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls `listener` after each change, until the function that it returns is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Throws unless the token is still among those that the server takes.
   *
   * @param now milliseconds since 1970
   * @throws OnceKvError `unauthorized`. Who is told that a token has expired has shown that token.
   */
  requireValid(now: number): void {
    const { expiresAtMs } = this.#current();
    if (expiresAtMs !== null && now >= expiresAtMs) {
      throw new OnceKvError("unauthorized", `the token ${JSON.stringify(this.tokenName)} has expired`);
    }
  }

  /**
   * Counts a request that begins; the function that it returns counts its end. Undefined when nothing is bounded.
   *
   * @param bounds of the server, for a token that has none of its own
   * @param nowMs of a clock that only moves forward
   * @throws OnceKvError `rate_limited`
   */
  enter(bounds: RequestBounds, nowMs: number): (() => void) | undefined {
    const { atOnce = bounds.atOnce, perSecond = bounds.perSecond } = this.#current().bounds;
    if (atOnce === null && perSecond === null) return undefined;
    this.#gate.enter({ atOnce, perSecond }, nowMs);
    return () => this.#gate.leave();
  }

  mayRead(shape: string): boolean {
    return this.#rights !== undefined && covers(this.#rights.read, shape);
  }

  /** @throws OnceKvError `forbidden` */
  requireRead(shape: string): void {
    if (!covers(this.#current().read, shape)) this.#refuse("read", shape);
  }

  /** For what shows documents of every shape. @throws OnceKvError `forbidden` */
  requireReadAll(): void {
    if (this.#current().read !== "all") this.#refuse("read", "*");
  }

  /** @throws OnceKvError `forbidden` */
  requireWrite(shape: string): void {
    if (!covers(this.#current().write, shape)) this.#refuse("write", shape);
  }

  /** For what only somebody who runs things should do with a shape. @throws OnceKvError `forbidden` */
  requireAdmin(shape: string): void {
    const { admin } = this.#current();
    if (admin !== undefined && !covers(admin, shape)) this.#refuse("administer", shape);
  }

  /** For what concerns the server as a whole. @throws OnceKvError `forbidden` */
  requireAdminAll(): void {
    const { admin } = this.#current();
    if (admin !== undefined && admin !== "all") this.#refuse("administer", "*");
  }

  #current(): Rights {
    if (this.#rights === undefined) throw new OnceKvError("unauthorized", "the token is no longer valid");
    return this.#rights;
  }

  #refuse(what: "read" | "write" | "administer", shape: string): never {
    const object = shape === "*" ? "all shapes" : `the shape ${JSON.stringify(shape)}`;
    throw new OnceKvError("forbidden", `the token ${JSON.stringify(this.tokenName)} may not ${what} ${object}`);
  }
}

function covers(scope: Scope, shape: string): boolean {
  return scope === "all" || scope.has(shape);
}

/** The access of everybody, on a server without tokens. */
export function openAccess(): Access {
  return new Access(null, { read: "all", write: "all", admin: "all", expiresAtMs: null, bounds: {} });
}
