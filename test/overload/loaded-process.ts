/*
 * A server in a process of its own, with bounds that it is told, which knows how much memory it has had at most.
 */
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { createServer, type ServerBounds } from "../../server/index.js";
import { type EmbeddedStore, openStore } from "../../src/level/index.js";

export type LoadedMessage =
  | {
      readonly kind: "open";
      readonly dataDir: string;
      readonly bounds: ServerBounds;
      /** Bytes that the server keeps of each connection that it has ever had: a fault, so that checks can be tried. */
      readonly leakedBytes: number;
    }
  /** Forget the greatest measures so far, and begin anew. */
  | { readonly kind: "mark" }
  | { readonly kind: "measure" }
  /** Drain the server, and close the store after it. The answer is a `ClosedServer`. */
  | { readonly kind: "close" };

/** What the process tells of itself. */
export interface MeasuredProcess {
  /** Bytes of the process in memory: the most since the last mark, and now after a collection. */
  readonly memoryMost: number;
  readonly memoryNow: number;
  /** Bytes of objects and buffers, after a collection. */
  readonly objects: number;
  /** Timers, sockets and requests that keep the event loop alive. */
  readonly resources: number;
  readonly watchers: number;
  readonly waiters: number;
}

/** What a server has left open when its closing was over. */
export interface ClosedServer {
  readonly connections: number;
}

let memoryMost = 0;
let app: FastifyInstance | undefined;
const leaked: Buffer[] = [];
let store: EmbeddedStore | undefined;
setInterval(() => {
  memoryMost = Math.max(memoryMost, process.memoryUsage.rss());
}, 10).unref();

process.on("message", async (message: LoadedMessage) => {
  switch (message.kind) {
    case "open": {
      store = await openStore({ dataDir: message.dataDir });
      app = createServer({ store, bounds: message.bounds });
      const { leakedBytes } = message;
      if (leakedBytes > 0) app.server.on("connection", () => leaked.push(Buffer.alloc(leakedBytes, 1)));
      await app.listen({ host: "127.0.0.1", port: 0, backlog: 20_000 });
      process.send?.({ port: (app.server.address() as AddressInfo).port });
      return;
    }
    case "close": {
      const server = app?.server;
      await app?.close();
      const connections = await new Promise<number>((resolve) => {
        if (server === undefined) resolve(0);
        else server.getConnections((error, count) => resolve(error === null ? count : Number.NaN));
      });
      await store?.close();
      process.send?.({ connections } satisfies ClosedServer);
      return;
    }
    case "mark":
      collect();
      memoryMost = process.memoryUsage.rss();
      break;
    default:
      collect();
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  const { watchers = 0, waiters = 0 } = store?.stats() ?? {};
  const resources = process.getActiveResourcesInfo().length;
  process.send?.({ memoryMost, memoryNow: rss, objects: heapUsed + external, resources, watchers, waiters });
});
// Without whoever started it there is nothing to serve for.
process.on("disconnect", () => process.exit(0));

function collect(): void {
  globalThis.gc?.();
  globalThis.gc?.();
}
