import { AsyncLocalStorage } from "node:async_hooks";
import { InvalidRequestError } from "../base/errors.js";

/*
 * A connection has one transaction at a time. A call may be made from within the work of another one on the same
 * connection, as a part of it; two calls side by side would be mixed into one transaction, and one of them would commit
 * or roll back what the other did. Only the context that a call is made from tells the two apart.
 */

/** The turn that the running code is in, the innermost one. */
const context = new AsyncLocalStorage<Turn>();

/** The innermost turn on a connection. */
const innermost = new WeakMap<object, Turn>();

/** A call that has a connection for itself, and for what is called within it. */
export class Turn {
  readonly #connection: object;
  readonly #name: string;
  /** The turn that this one was begun in, on whatever connection. */
  readonly #caller: Turn | undefined;
  /** The turn on the same connection that goes on after this one. */
  readonly #outer: Turn | undefined;

  private constructor(connection: object, name: string, caller: Turn | undefined, outer: Turn | undefined) {
    this.#connection = connection;
    this.#name = name;
    this.#caller = caller;
    this.#outer = outer;
  }

  /**
   * @param name of what the turn is for
   * @throws InvalidRequestError when the connection is in use by a call that this one is not a part of
   */
  static begin(connection: object, name: string): Turn {
    const caller = context.getStore();
    const outer = innermost.get(connection);
    if (outer !== undefined && !outer.#encloses(caller)) {
      throw new InvalidRequestError(
        "database",
        "another call is running on this connection: await it first, or give each its own connection, as a pool does",
      );
    }
    const turn = new Turn(connection, name, caller, outer);
    innermost.set(connection, turn);
    return turn;
  }

  /** Whether the connection is within a transaction for sure, that of an outer turn. */
  get isNested(): boolean {
    return this.#outer !== undefined;
  }

  /** Whether an outer turn on the same connection is for the same thing. */
  get isWithinItself(): boolean {
    for (let turn = this.#outer; turn !== undefined; turn = turn.#outer) {
      if (turn.#name === this.#name) return true;
    }
    return false;
  }

  /** Runs the work whose calls are a part of this turn. */
  run<R>(work: () => R): R {
    return context.run(this, work);
  }

  end(): void {
    if (this.#outer === undefined) innermost.delete(this.#connection);
    else innermost.set(this.#connection, this.#outer);
  }

  #encloses(turn: Turn | undefined): boolean {
    for (let at = turn; at !== undefined; at = at.#caller) {
      if (at === this) return true;
    }
    return false;
  }
}
