import { once } from "node:events";
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http";
import type { AddressInfo, Server } from "node:net";
import { onTestFinished, vi } from "vitest";

/** What a request is made of. */
export interface Sending {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Sent as it is; JSON unless the headers name another type. */
  readonly body?: string | Buffer;
}

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** Of the body, if it is JSON. */
  readonly json: { readonly [name: string]: unknown };
}

/** A request on its way, and how to leave it. */
export interface Flight {
  readonly answer: Promise<Received>;
  /** Ends the connection at once. */
  leave(): void;
}

/** Listens on a port of the system's choice until the test has ended. */
export async function listen(server: Server & { closeAllConnections?(): void }): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections?.();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** Sends over a connection of its own. */
export function begin(port: number, sending: Sending): Flight {
  const { method = "POST", path = "/orders", headers = {}, body } = sending;
  let request: ClientRequest | undefined;
  const answer = new Promise<Received>((resolve, reject) => {
    request = httpRequest({
      host: "127.0.0.1",
      port,
      method,
      path,
      agent: false,
      headers: {
        ...(body === undefined
          ? {}
          : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
        ...headers,
      },
    });
    request.on("error", reject);
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const bytes = Buffer.concat(chunks);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, json: jsonOf(bytes) });
      });
    });
    request.end(body);
  });
  // Whoever leaves does not ask what became of it.
  answer.catch(() => {});
  return { answer, leave: () => void request?.destroy() };
}

export function send(port: number, sending: Sending): Promise<Received> {
  return begin(port, sending).answer;
}

/** The first answer that does not say that a request with the same key is in flight. */
export function sendUntilSettled(port: number, sending: Sending): Promise<Received> {
  return vi.waitUntil(async () => {
    const answer = await send(port, sending);
    return answer.json["code"] === "call_in_flight" ? undefined : answer;
  });
}

function jsonOf(bytes: Buffer): { readonly [name: string]: unknown } {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** A promise that the test fulfils. */
export class Gate<T = void> {
  readonly opened: Promise<T>;
  #open: (value: T) => void = () => {};

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(value: T): void {
    this.#open(value);
  }
}
