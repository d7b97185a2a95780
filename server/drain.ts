import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../src/base/clock.js";
import type { LongRequests } from "./long-requests.js";

interface DrainOptions {
  readonly clock: Clock;
  /** Requests that would go on for ever, which are ended first. */
  readonly longRequests: readonly LongRequests[];
  readonly deadlineMs: number;
}

/** Milliseconds that a connection stays idle once draining has begun. 0 would mean for ever. */
const idleWhileDrainingMs = 1;

/** Milliseconds between looking for connections that have become idle in a way of which nothing else tells. */
const lookMs = 250;

/**
 * Brings a server to its end without cutting a request. Waits are answered early and streams end; requests in flight
 * finish, and their answers close the connection; connections that do nothing are closed at once; what is left at the
 * deadline is cut.
 */
export class Drain {
  readonly #options: DrainOptions;
  readonly #sockets = new Set<Socket>();
  #draining = false;
  #cancelDeadline: () => void = () => {};
  #cancelLook: () => void = () => {};

  constructor(options: DrainOptions) {
    this.#options = options;
  }

  /** Whether new requests are refused. */
  get draining(): boolean {
    return this.#draining;
  }

  /** Takes note of the server's connections. Call it before the server listens. */
  follow(server: Server): void {
    const note = (socket: Socket): void => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    };
    server.on("connection", note);
    // With TLS there are two of each: the bytes of the outer one are those of the handshake too.
    server.on("secureConnection", (socket: Socket) => {
      note(socket);
      // It was in its handshake when draining began, and like every connection that has sent nothing then, it ends.
      if (this.#draining) socket.destroy();
    });
  }

  /** Begins to drain; a second call does nothing. */
  begin(server: Server): void {
    if (this.#draining) return;
    this.#draining = true;
    for (const requests of this.#options.longRequests) requests.endAll();
    // A connection whose answer is on its way right now is told too late to close; this ends it.
    server.keepAliveTimeout = idleWhileDrainingMs;
    for (const socket of this.#sockets) {
      // Node takes a connection that has sent nothing yet for a busy one.
      if (socket.bytesRead === 0) socket.destroy();
    }
    this.#closeIdle(server);
    const cutAll = (): void => {
      for (const socket of this.#sockets) socket.destroy();
    };
    this.#cancelDeadline = this.#options.clock.setTimer(this.#options.deadlineMs, cutAll, { keepAlive: true });
  }

  /** All connections are gone. */
  finish(): void {
    this.#cancelDeadline();
    this.#cancelLook();
  }

  #closeIdle(server: Server): void {
    server.closeIdleConnections();
    this.#cancelLook = this.#options.clock.setTimer(lookMs, () => this.#closeIdle(server));
  }
}
