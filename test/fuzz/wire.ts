import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import type { WireAnswer } from "./answer-judge.js";

/** A request as it goes over the wire. */
export interface WireRequest {
  readonly method: string;
  /** Path and query, as they are. */
  readonly target: string;
  readonly headers: { readonly [name: string]: string | readonly string[] };
  readonly body?: Buffer | undefined;
}

/** Milliseconds after which a request that has no answer hangs. No machine is so slow. */
const hangMs = 120_000;

/** Milliseconds after which a request is taken for one that waits on purpose. */
const waitingMs = 150;

/** Sends requests to one server over few connections. */
export class Wire {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 4 });
  /** Called again and again while a request waits: it moves the clock for which the server waits. */
  readonly #onWaiting: () => void;

  constructor(port: number, onWaiting: () => void) {
    this.#port = port;
    this.#onWaiting = onWaiting;
  }

  close(): void {
    this.#agent.destroy();
  }

  /**
   * The whole answer; of a stream of events its first piece.
   *
   * @throws when there is none, which no request deserves
   */
  send({ method, target, headers, body }: WireRequest): Promise<WireAnswer> {
    return this.#watched((resolve, reject) => {
      const request = httpRequest(
        {
          host: "127.0.0.1",
          port: this.#port,
          method,
          path: target,
          headers: {
            ...(body === undefined ? {} : { "content-length": body.length }),
            ...(headers as { readonly [name: string]: string | string[] }),
          },
          agent: this.#agent,
        },
        (response) => {
          const chunks: Buffer[] = [];
          const done = (): void => {
            const text = Buffer.concat(chunks).toString("utf8");
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
          };
          const isStream = response.headers["content-type"]?.startsWith("text/event-stream") === true;
          response.on("data", (chunk: Buffer) => {
            chunks.push(chunk);
            if (!isStream) return;
            done();
            request.destroy();
          });
          response.on("error", reject);
          response.on("end", done);
        },
      );
      request.on("error", reject);
      request.end(body);
    }, `${method} ${target}`);
  }

  /**
   * Writes bytes over a connection of their own, and reads all that comes until it is closed. This end is closed in order after
   * the bytes when `ends`, else when an answer is there.
   */
  raw(bytes: Buffer, ends: boolean): Promise<string> {
    return this.#watched(
      (resolve) => {
        const socket = connect(this.#port, "127.0.0.1");
        const chunks: Buffer[] = [];
        const text = (): string => Buffer.concat(chunks).toString("latin1");
        socket.on("error", () => {});
        socket.on("data", (chunk) => {
          chunks.push(chunk);
          if (!ends || /content-type: text\/event-stream/i.test(text())) setImmediate(() => socket.end());
        });
        socket.on("close", () => resolve(text()));
        if (ends) socket.end(bytes);
        else socket.write(bytes);
      },
      `bytes ${JSON.stringify(bytes.toString("latin1").slice(0, 2000))}`,
    );
  }

  #watched<T>(begin: (resolve: (value: T) => void, reject: (error: Error) => void) => void, what: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const waiting = setInterval(this.#onWaiting, waitingMs);
      const hung = setTimeout(
        () => finish(() => reject(new Error(`no answer within ${hangMs} ms to ${what}`))),
        hangMs,
      );
      const finish = (settle: () => void): void => {
        clearInterval(waiting);
        clearTimeout(hung);
        settle();
      };
      begin(
        (value) => finish(() => resolve(value)),
        (error) => finish(() => reject(new Error(`no answer to ${what}: ${error.message}`, { cause: error }))),
      );
    });
  }
}

export function jsonRequest(method: string, target: string, body: unknown): WireRequest {
  return {
    method,
    target,
    headers: { "content-type": "application/json" },
    body: Buffer.from(JSON.stringify(body)),
  };
}
