import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../src/base/clock.js";

interface ConnectionBoundOptions {
  readonly clock: Clock;
  readonly connectionsMax: number;
}

/** Milliseconds that a connection may take to send its first byte before it gives way to others. */
const silentMs = 1000;

/** Milliseconds between two searches for connections that do nothing: each looks at all of them. */
const searchMs = 1000;

/**
 * Bounds the connections of a server: each is an open file, of which the store needs some to go on writing. At the bound
 * those that do nothing give way to the new one; when all are busy the new one is closed.
 */
export class ConnectionBound {
  readonly #options: ConnectionBoundOptions;
  /** When each began, by a clock that only moves forward. */
  readonly #begun = new Map<Socket, number>();
  #searchedAt = Number.NEGATIVE_INFINITY;
  #refused = 0;

  constructor(options: ConnectionBoundOptions) {
    this.#options = options;
  }

  /** Connections that are open. */
  get size(): number {
    return this.#begun.size;
  }

  /** Connections that were closed for the bound, new ones and those that gave way. */
  get refused(): number {
    return this.#refused;
  }

  /** Takes note of the server's connections. Call it before the server listens. */
  follow(server: Server): void {
    server.on("connection", (socket: Socket) => {
      const now = this.#options.clock.monotonicNow();
      socket.once("close", () => this.#begun.delete(socket));
      this.#begun.set(socket, now);
      if (this.#begun.size <= this.#options.connectionsMax) return;
      this.#refused += 1;
      if (now - this.#searchedAt >= searchMs) {
        this.#searchedAt = now;
        this.#endIdle(server, now);
      }
      if (this.#begun.size <= this.#options.connectionsMax) return;
      this.#begun.delete(socket);
      socket.destroy();
    });
  }

  #endIdle(server: Server, now: number): void {
    server.closeIdleConnections();
    for (const [socket, begunAt] of this.#begun) {
      // Node takes a connection that has sent nothing yet for a busy one.
      if (socket.bytesRead === 0 && now - begunAt >= silentMs) socket.destroy();
      // Its own word that it is closed comes in a later turn of the event loop.
      if (socket.destroyed) this.#begun.delete(socket);
    }
  }
}
