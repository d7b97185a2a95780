import { setImmediate as turn } from "node:timers/promises";
import { createClient } from "../../client/index.js";
import { serve } from "../../server/index.js";
import { ManualClock } from "../../src/base/manual-clock.js";
import type { DocumentStore } from "../../src/documents/contract.js";
import { openMemoryStore, openStore } from "../../src/level/index.js";

/* The real stores that the model runs over, with a clock that is moved by hand. */

export type Place = "memory" | "disk" | "http";

export interface Surroundings {
  readonly clock: ManualClock;
  /** A way to the store; every worker has its own. */
  connect(): DocumentStore;
  /** Lets everything happen that needs no passing of time. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

export async function openSurroundings(place: Place, dataDir: string): Promise<Surroundings> {
  const clock = new ManualClock();
  const store = place === "disk" ? await openStore({ clock, dataDir }) : await openMemoryStore({ clock });
  const server = place === "http" ? await serve({ store, port: 0, logLevel: "silent" }) : undefined;
  const clients: DocumentStore[] = [];
  let busy = 0;
  const count = async <T>(work: Promise<T>): Promise<T> => {
    busy += 1;
    try {
      return await work;
    } finally {
      busy -= 1;
    }
  };
  return {
    clock,
    connect() {
      if (server === undefined) return counted(store, count);
      const client = createClient({ url: server.url, clock, random: () => 0.5 });
      clients.push(client);
      return counted(client, count);
    },
    async quiet() {
      // Waits last; all else is soon over, unless it waits for the clock.
      for (let turns = 0, idle = 0; turns < turnsMax && idle < idleTurns; turns++) {
        await turn();
        idle = busy === 0 ? idle + 1 : 0;
      }
    },
    async close() {
      for (const client of clients) await client.close();
      await server?.close();
      await store.close();
    },
  };
}

const turnsMax = 2_000;
const idleTurns = 8;

/** Tells of the requests under way that do not wait for anything. */
function counted(store: DocumentStore, count: <T>(work: Promise<T>) => Promise<T>): DocumentStore {
  return {
    limits: store.limits,
    get: (shape, id) => count(store.get(shape, id)),
    getDocument: (shape, id) => count(store.getDocument(shape, id)),
    getMany: (keys) => count(store.getMany(keys)),
    put: (write) => count(store.put(write)),
    patch: (write) => count(store.patch(write)),
    delete: (write) => count(store.delete(write)),
    batch: (operations, options) => count(store.batch(operations, options)),
    list: (shape, options) => count(store.list(shape, options)),
    scan: (shape, options) => store.scan(shape, options),
    watch: (options) => store.watch(options),
    waitFor: (shape, id, options) => store.waitFor(shape, id, options),
    close: () => store.close(),
  };
}
