/*
 * A server in a process of its own, with bounds that it is told, which knows how much memory it has had at most.
 */
import type { AddressInfo } from "node:net";
import { createServer, type ServerBounds } from "../../server/index.js";
import { type EmbeddedStore, openStore } from "../../src/level/index.js";

export type LoadedMessage =
  | { readonly kind: "open"; readonly dataDir: string; readonly bounds: ServerBounds }
  /** Forget the greatest measures so far, and begin anew. */
  | { readonly kind: "mark" }
  | { readonly kind: "measure" };

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

let memoryMost = 0;
let store: EmbeddedStore | undefined;
setInterval(() => {
  memoryMost = Math.max(memoryMost, process.memoryUsage.rss());
}, 10).unref();

process.on("message", async (message: LoadedMessage) => {
  switch (message.kind) {
    case "open": {
      store = await openStore({ dataDir: message.dataDir });
      const app = createServer({ store, bounds: message.bounds });
      await app.listen({ host: "127.0.0.1", port: 0, backlog: 20_000 });
      process.send?.({ port: (app.server.address() as AddressInfo).port });
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
