import { OnceKvError, OutcomeUnknownError } from "../../src/base/errors.js";
import type { DocumentStore, Fields } from "../../src/documents/contract.js";

/**
 * What can happen to a request between a worker and the store.
 *
 * - `request lost`: it never arrives, and the worker cannot know.
 * - `reply lost`: it is carried out, and the worker cannot know.
 * - `late`: the worker gives up on it, and it arrives when `deliver` is called.
 * - `held`: it waits in front of the store until `deliver` is called.
 * - `reply held`: it is carried out, and its answer comes when `deliver` is called.
 * - `unreachable`: the connection cannot be made.
 * - `overloaded`: the store refuses it for now.
 */
export type Fault = "request lost" | "reply lost" | "late" | "held" | "reply held" | "unreachable" | "overloaded";

/** Which requests a fault hits: reads, waits, renewals, and writes by the status that they write. */
export type Request = "read" | "wait" | "renew" | "delete" | (string & {});

/** The way from one worker to a store, with faults that a test puts there. The store and the worker are the real ones. */
export class FaultyNetwork {
  readonly store: DocumentStore;
  /** All requests that set out, in order. */
  readonly sent: Request[] = [];
  /** Nothing gets through. */
  down = false;
  readonly #faults: { readonly request: Request; readonly fault: Fault }[] = [];
  readonly #stopped: (() => void)[] = [];

  constructor(inner: DocumentStore) {
    this.store = {
      limits: inner.limits,
      get: (shape, id) => this.#pass("read", () => inner.get(shape, id)),
      getDocument: (shape, id) => this.#pass("read", () => inner.getDocument(shape, id)),
      getMany: (keys) => this.#pass("read", () => inner.getMany(keys)),
      put: (write) => this.#pass(statusOf(write.set), () => inner.put(write)),
      patch: (write) => this.#pass("renew", () => inner.patch(write)),
      delete: (write) => this.#pass("delete", () => inner.delete(write)),
      batch: (operations, options) => this.#pass("batch", () => inner.batch(operations, options)),
      list: (shape, options) => this.#pass("read", () => inner.list(shape, options)),
      scan: (shape, options) => inner.scan(shape, options),
      watch: (options) => inner.watch(options),
      waitFor: (shape, id, options) => this.#pass("wait", () => inner.waitFor(shape, id, options)),
      close: () => inner.close(),
    };
  }

  /** The next such request, or so many of them, meet the fault. */
  fault(request: Request, fault: Fault, times = 1): void {
    for (let count = 0; count < times; count++) this.#faults.push({ request, fault });
  }

  /** Faults that have not hit anything yet do not come. */
  forgetFaults(): void {
    this.#faults.length = 0;
  }

  /** Lets what is late or held arrive. */
  deliver(): void {
    for (const arrive of this.#stopped.splice(0)) arrive();
  }

  async #pass<T>(request: Request, send: () => Promise<T>): Promise<T> {
    this.sent.push(request);
    if (this.down) throw new OnceKvError("unavailable", "nothing gets through");
    const index = this.#faults.findIndex((each) => each.request === request);
    const [hit] = index === -1 ? [] : this.#faults.splice(index, 1);
    switch (hit?.fault) {
      case undefined:
        return send();
      case "request lost":
        throw new OutcomeUnknownError("the request was lost");
      case "reply lost":
        await send();
        throw new OutcomeUnknownError("the reply was lost");
      case "late":
        this.#stopped.push(() => void send().catch(() => {}));
        throw new OutcomeUnknownError("the request is late");
      case "held":
        await new Promise<void>((resolve) => this.#stopped.push(resolve));
        return send();
      case "reply held": {
        const reply = await send();
        await new Promise<void>((resolve) => this.#stopped.push(resolve));
        return reply;
      }
      case "unreachable":
        throw new OnceKvError("unavailable", "the connection cannot be made");
      case "overloaded":
        throw new OnceKvError("overloaded", "too many writes wait");
    }
  }
}

function statusOf(set: Fields): Request {
  return String(set["status"]);
}
