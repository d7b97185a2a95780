import { Agent, request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** One request; the path goes over the wire exactly as it is. */
export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  /** A text or bytes are sent as they are; anything else as JSON, with its content type. */
  readonly body?: unknown;
  readonly agent?: Agent;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown;
}

/** Sends a request over a connection of its own, unless an agent is given, and reads the whole answer. */
export function send(port: number, { method, path, headers, body, agent, signal }: SentRequest): Promise<Answer> {
  const isRaw = typeof body === "string" || Buffer.isBuffer(body);
  const content = body === undefined ? undefined : isRaw ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: "127.0.0.1",
        port,
        method,
        path,
        headers: {
          ...(content === undefined || isRaw ? {} : { "content-type": "application/json" }),
          ...(content === undefined ? {} : { "content-length": Buffer.byteLength(content) }),
          ...headers,
        },
        agent: agent ?? false,
        ...(signal === undefined ? {} : { signal }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parse(text) });
        });
      },
    );
    request.on("error", reject);
    request.end(content);
  });
}

/** A kept-alive agent with one connection, so that two requests share it. */
export function oneConnection(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return agent;
}

/** A connection over which a test writes bytes by hand. */
export class RawConnection {
  readonly socket: Socket;
  #received = "";
  #closed = false;
  readonly #listeners = new Set<() => void>();

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.setEncoding("latin1");
    this.socket.on("data", (chunk: string) => {
      this.#received += chunk;
      this.#wake();
    });
    this.socket.on("close", () => {
      this.#closed = true;
      this.#wake();
    });
    this.socket.on("error", () => {});
  }

  get received(): string {
    return this.#received;
  }

  write(text: string): void {
    this.socket.write(text, "latin1");
  }

  /** Resolves with all that was received, once it matches. Rejects when the connection closes before. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#received)) {
      if (this.#closed) throw new Error(`the connection closed after ${JSON.stringify(this.#received)}`);
      await this.#change();
    }
    return this.#received;
  }

  async untilClosed(): Promise<string> {
    while (!this.#closed) await this.#change();
    return this.#received;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      const listener = (): void => {
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
    });
  }

  #wake(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
