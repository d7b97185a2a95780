import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * The answers that each connection still waits for. A client may send requests without waiting for answers; all of them are
 * carried out, and their answers stand in line for the connection. Node tells only the first in line when the connection
 * closes. Whoever holds something for an answer listens for its `close`, so that here the others are told, too.
 */
export class PendingAnswers {
  readonly #pending = new Map<Socket, Set<ServerResponse>>();
  /** Those whose end is told here. */
  readonly #followed = new WeakSet<Socket>();
  readonly #onNone = new Map<Socket, () => void>();

  /** Takes note of the server's requests. Call it before the server listens. */
  follow(server: Server): void {
    server.on("request", (request, response: ServerResponse) => this.#note(request.socket, response));
  }

  /** Whether the connection waits for an answer to a request that has arrived whole. */
  has(socket: Socket): boolean {
    for (const response of this.#pending.get(socket) ?? []) if (response.req.complete) return true;
    return false;
  }

  /** Calls `then` once the connection waits for no such answer, unless it closes before. */
  whenNone(socket: Socket, then: () => void): void {
    if (this.has(socket)) this.#onNone.set(socket, then);
    else then();
  }

  #note(socket: Socket, response: ServerResponse): void {
    if (response.closed) return;
    let answers = this.#pending.get(socket);
    if (answers === undefined) {
      answers = new Set();
      this.#pending.set(socket, answers);
    }
    answers.add(response);
    if (!this.#followed.has(socket)) {
      this.#followed.add(socket);
      socket.once("close", () => this.#close(socket));
    }
    response.once("close", () => this.#forget(socket, response));
    if (socket.destroyed) this.#close(socket);
  }

  #forget(socket: Socket, response: ServerResponse): void {
    const answers = this.#pending.get(socket);
    if (answers?.delete(response) !== true) return;
    if (answers.size === 0) this.#pending.delete(socket);
    const then = this.#onNone.get(socket);
    if (then === undefined || this.has(socket)) return;
    this.#onNone.delete(socket);
    if (!socket.destroyed) then();
  }

  #close(socket: Socket): void {
    this.#onNone.delete(socket);
    for (const response of [...(this.#pending.get(socket) ?? [])]) {
      // The first in line has the connection, and is told by Node.
      if (response.socket !== null || response.writableFinished) continue;
      response.destroy();
      response.emit("close");
    }
  }
}

/** Ends the connection that an answer stands in line for, or has. */
export function endConnection(response: ServerResponse): void {
  response.req.socket.destroy();
}
