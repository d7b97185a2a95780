import type { ServerResponse } from "node:http";
import { OnceKvError } from "../src/base/errors.js";
import type { Permit } from "./access/permit.js";
import type { RequestLoad } from "./load.js";

/** Why a request that would go on was ended. */
export class RequestEnded extends Error {
  readonly by: "client" | "server" | "token" | "stall";
  /** What to tell the client: that the server shuts down, or why its token no longer will do. */
  readonly fault: OnceKvError;

  constructor(by: "client" | "server" | "token" | "stall", fault?: OnceKvError) {
    super(`the request was ended by the ${by}`);
    this.name = "RequestEnded";
    this.by = by;
    this.fault = fault ?? new OnceKvError("store_closed", this.message, { cause: this, retryAfter: 1 });
  }
}

/** A request that goes on until something happens, somebody ends it, or its client goes away. */
export class LongRequest {
  readonly #controller = new AbortController();

  /** Aborts when the request is to end; its reason is a `RequestEnded`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Who has ended it, and why; undefined while it goes on. */
  get ended(): RequestEnded | undefined {
    const reason: unknown = this.signal.reason;
    return reason instanceof RequestEnded ? reason : undefined;
  }

  end(by: RequestEnded["by"], fault?: OnceKvError): void {
    this.#controller.abort(new RequestEnded(by, fault));
  }
}

/** The long requests of one kind that are open. */
export class LongRequests {
  readonly #kind: string;
  readonly #max: number;
  readonly #open = new Set<LongRequest>();

  /** @param kind for the error: "waits" */
  constructor(kind: string, max: number) {
    this.#kind = kind;
    this.#max = max;
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Runs `work` for as long as the request goes on.
   *
   * @param permit ends the request once its sender may no longer make it
   * @param load gives back the request's place among those that end by themselves
   * @throws OnceKvError `overloaded` when there are too many already
   */
  async hold<T>(
    response: ServerResponse,
    permit: Permit,
    load: RequestLoad | undefined,
    work: (request: LongRequest) => Promise<T>,
  ): Promise<T> {
    if (this.#open.size >= this.#max) {
      throw new OnceKvError("overloaded", `the server already holds ${this.#max} ${this.#kind}`, { retryAfter: 1 });
    }
    load?.wait();
    const request = new LongRequest();
    const onClose = (): void => request.end("client");
    this.#open.add(request);
    response.once("close", onClose);
    // A client that went away before this point is told of no more.
    if (response.destroyed) onClose();
    const stopFollowing = permit((fault) => request.end("token", fault));
    try {
      return await work(request);
    } finally {
      stopFollowing();
      response.off("close", onClose);
      this.#open.delete(request);
    }
  }

  /** Ends them all, since the server drains. */
  endAll(): void {
    for (const request of this.#open) request.end("server");
  }
}
