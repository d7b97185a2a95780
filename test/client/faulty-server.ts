import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a server saw of one request. */
interface SeenRequest {
  readonly method: string;
  /** The path and query, as they came over the wire. */
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Answers the `attempt`th request, from 1. */
export type Answer = (request: SeenRequest, response: ServerResponse, attempt: number) => void;

export interface FaultyServer {
  readonly url: string;
  readonly port: number;
  readonly seen: readonly SeenRequest[];
  /** Connections that came so far. */
  readonly connections: number;
  close(): Promise<void>;
}

/** A server that answers as the test says, however wrong that is: the faults of networks and proxies, made to order. */
export async function startFaultyServer(
  answer: Answer,
  options: { keepAliveTimeout?: number } = {},
): Promise<FaultyServer> {
  const seen: SeenRequest[] = [];
  let connections = 0;
  const server = createServer({ keepAliveTimeout: options.keepAliveTimeout ?? 5000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString("utf8") };
      seen.push(one);
      answer(one, response, seen.length);
    });
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    seen,
    get connections() {
      return connections;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** Cuts the connection: the answer, if there was one, is lost. */
export function cut(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}

/** A port on which nothing listens: one that was just given back. */
export async function closedPort(): Promise<number> {
  const server = await startFaultyServer(() => {});
  await server.close();
  return server.port;
}
