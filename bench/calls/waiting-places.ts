import type { ToolCalls } from "../../src/tool-calls/index.js";
import { openEmbedded, withFolder } from "../opened-stores.js";
import { startServer } from "../server-process.js";
import type { BenchWorld } from "../world.js";
import { withCalls } from "./begun-calls.js";

/** Where callers wait for a call that somebody else is at work on. */
export interface WaitingPlace {
  readonly name: "embedded" | "http";
  readonly calls: ToolCalls;
  /** How many waits the store holds now. */
  waiting(): Promise<number>;
}

type Use = (place: WaitingPlace) => Promise<void>;

/** A durable store in this process. */
export async function withEmbeddedPlace(world: BenchWorld, use: Use): Promise<void> {
  const { store, close } = await openEmbedded(world, "durable");
  try {
    await withCalls(world.code.toolCalls(store), (calls) =>
      use({ name: "embedded", calls, waiting: () => Promise.resolve(store.stats().waiters) }),
    );
  } finally {
    await close();
  }
}

/** A durable store behind a server in a process of its own, and one client in this one. */
export function withHttpPlace(world: BenchWorld, use: Use): Promise<void> {
  const { code } = world;
  return withFolder(world.folder, async (dataDir) => {
    const server = await startServer({ commandLine: code.commandLine, dataDir, durability: "durable" });
    const client = code.createClient({ url: server.url, retryFor: 0 });
    const waiting = async (): Promise<number> => {
      const response = await fetch(`${server.url}/v1/stats`);
      const { store } = (await response.json()) as { readonly store?: { readonly waiters?: unknown } };
      if (typeof store?.waiters !== "number") throw new Error("the server does not tell how many wait");
      return store.waiters;
    };
    try {
      await withCalls(code.toolCalls(client), (calls) => use({ name: "http", calls, waiting }));
    } finally {
      await client.close().finally(() => server.stop());
    }
  });
}
