import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** What happens to one connection. */
export interface ConnectionFate {
  /** Bytes of requests after which it is cut; Infinity: never. */
  readonly requestBytes: number;
  /** Bytes of answers that still come through; a request whose answer is cut has most likely been carried out. */
  readonly answerBytes: number;
}

/**
 * Stands between clients and a server, and cuts connections: before a request has arrived whole, or before its answer has.
 * What was cut is never delivered later.
 */
export class FaultyProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #fate: () => ConnectionFate;
  #targetPort = 0;
  #cuts = 0;

  /** @param fate asked for every connection */
  constructor(fate: () => ConnectionFate) {
    this.#fate = fate;
    this.#server = createServer((client) => this.#serve(client));
  }

  /** Connections that it has cut. */
  get cuts(): number {
    return this.#cuts;
  }

  /** Listens on a free port of the loopback address. */
  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  /** Where the server is from now on. */
  target(port: number): void {
    this.#targetPort = port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #serve(client: Socket): void {
    const { requestBytes, answerBytes } = this.#fate();
    const server = connect(this.#targetPort, "127.0.0.1");
    const end = (): void => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      // A reset is the very thing that is tried here.
      socket.on("error", end);
      socket.on("close", () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    this.#forward(client, server, requestBytes, end);
    this.#forward(server, client, answerBytes, end);
  }

  #forward(from: Socket, to: Socket, bytes: number, end: () => void): void {
    let left = bytes;
    from.on("data", (chunk) => {
      to.write(chunk.subarray(0, Math.min(chunk.length, left)));
      left -= chunk.length;
      if (left > 0) return;
      this.#cuts += 1;
      end();
    });
  }
}
