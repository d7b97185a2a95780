import { OnceKvError } from "../../src/base/errors.js";

/** What one kind of access covers: some shapes, or all of them, those without a document yet included. */
export type Scope = "all" | ReadonlySet<string>;

/** What a request may do, once it is known who sent it. */
export class Access {
  /** The token's name; null when the server has no tokens. */
  readonly tokenName: string | null;
  /** Milliseconds since 1970; null: never. */
  readonly expiresAtMs: number | null;
  readonly #read: Scope;
  readonly #write: Scope;

  constructor(tokenName: string | null, read: Scope, write: Scope, expiresAtMs: number | null = null) {
    this.tokenName = tokenName;
    this.#read = read;
    this.#write = write;
    this.expiresAtMs = expiresAtMs;
  }

  mayRead(shape: string): boolean {
    return this.#read === "all" || this.#read.has(shape);
  }

  /** @throws OnceKvError `forbidden` */
  requireRead(shape: string): void {
    if (this.#read !== "all" && !this.#read.has(shape)) this.#refuse("read", shape);
  }

  /** For what shows documents of every shape. @throws OnceKvError `forbidden` */
  requireReadAll(): void {
    if (this.#read !== "all") this.#refuse("read", "*");
  }

  /** @throws OnceKvError `forbidden` */
  requireWrite(shape: string): void {
    if (this.#write !== "all" && !this.#write.has(shape)) this.#refuse("write", shape);
  }

  #refuse(what: "read" | "write", shape: string): never {
    const object = shape === "*" ? "all shapes" : `the shape ${JSON.stringify(shape)}`;
    throw new OnceKvError("forbidden", `the token ${JSON.stringify(this.tokenName)} may not ${what} ${object}`);
  }
}

/** The access of everybody, on a server without tokens. */
export const openAccess: Access = new Access(null, "all", "all");
