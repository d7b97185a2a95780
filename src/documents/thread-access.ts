/*
 * A store that another thread can reach by itself, beside the event loop that it was made in: a client over HTTP can, by a
 * connection of the thread's own; an embedded store, which lives in that event loop, cannot.
 */

/** How a thread makes a store of its own that is the same store. */
export interface ThreadAccess {
  /** The address of a module, to be imported there. */
  readonly module: string;
  /** The name of the function in it that makes the store. */
  readonly open: string;
  /** What the function is given: plain data. It may hold a secret, and goes to a thread of this process only. */
  readonly options: { readonly [name: string]: string | number };
}

/** What such a store is, besides a store. */
export interface ThreadReachable {
  /** @throws InvalidRequestError when this one cannot be reached, as it was set up */
  threadAccess(): ThreadAccess;
}

/** undefined: no other thread can reach the store. @throws InvalidRequestError when this one cannot, as it was set up */
export function threadAccessOf(store: object): ThreadAccess | undefined {
  return isThreadReachable(store) ? store.threadAccess() : undefined;
}

function isThreadReachable(store: object): store is ThreadReachable {
  return "threadAccess" in store && typeof store.threadAccess === "function";
}
