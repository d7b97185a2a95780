import type { ServerResponse } from "node:http";
import { OnceKvError } from "../src/base/errors.js";

/** Why a request that would go on was ended. */
export class RequestEnded extends Error {
  readonly by: "client" | "server" | "token" | "stall";

  constructor(by: RequestEnded["by"]) {
    super(`the request was ended by the ${by}`);
    this.name = "RequestEnded";
    this.by = by;
  }
}

/** A request that goes on until something happens, somebody ends it, or its client goes away. */
export class LongRequest {
  readonly #controller = new AbortController();

  /** Aborts when the request is to end; its reason is a `RequestEnded`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Who has ended it; undefined while it goes on. */
  get endedBy(): RequestEnded["by"] | undefined {
    const reason: unknown = this.signal.reason;
    return reason instanceof RequestEnded ? reason.by : undefined;
  }

  end(by: RequestEnded["by"]): void {
    this.#controller.abort(new RequestEnded(by));
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
   * @throws OnceKvError `overloaded` when there are too many already
   */
  async hold<T>(response: ServerResponse, work: (request: LongRequest) => Promise<T>): Promise<T> {
    if (this.#open.size >= this.#max) {
      throw new OnceKvError("overloaded", `the server already holds ${this.#max} ${this.#kind}`, { retryAfter: 1 });
    }
    const request = new LongRequest();
    const onClose = (): void => request.end("client");
    this.#open.add(request);
    response.once("close", onClose);
    // A client that went away before this point is told of no more.
    if (response.destroyed) onClose();
    try {
      return await work(request);
    } finally {
      response.off("close", onClose);
      this.#open.delete(request);
    }
  }

  /** Ends them all, since the server drains. */
  endAll(): void {
    for (const request of this.#open) request.end("server");
  }
}
