import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DocumentStore } from "../src/documents/contract.js";
import type { EmbeddedStore } from "../src/level/embedded-store.js";
import { startServer } from "./server-process.js";
import type { BenchWorld, Durability } from "./world.js";

/** Runs `use` with a new folder, which is removed afterwards. */
export async function withFolder<T>(folder: string, use: (dataDir: string) => Promise<T>): Promise<T> {
  const dataDir = await mkdtemp(join(folder, "oncekv-bench-"));
  try {
    return await use(dataDir);
  } finally {
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** A store to measure, over a new folder of its own. */
export interface OpenedStore<Store extends DocumentStore = DocumentStore> {
  readonly store: Store;
  /** Ends everything and removes the folder. Rejects when something did not end in order. */
  close(): Promise<void>;
}

/** Opens a store in this process. */
export function openEmbedded(world: OpeningWorld, durability: Durability): Promise<OpenedStore<EmbeddedStore>> {
  return inNewFolder(world.folder, async (dataDir) => {
    const store = await world.code.openStore({ dataDir, durability });
    return { store, end: () => store.close() };
  });
}

/**
 * Starts `oncekv serve` in a process of its own, and opens a client in this one. The client sends nothing twice, so that
 * an error is seen and not retried.
 */
export function openOverHttp(world: OpeningWorld, durability: Durability): Promise<OpenedStore> {
  return inNewFolder(world.folder, async (dataDir) => {
    const server = await startServer({ commandLine: world.code.commandLine, dataDir, durability });
    const store = world.code.createClient({ url: server.url, retryFor: 0 });
    return { store, end: () => store.close().finally(() => server.stop()) };
  });
}

type OpeningWorld = Pick<BenchWorld, "code" | "folder">;

async function inNewFolder<Store extends DocumentStore>(
  folder: string,
  open: (dataDir: string) => Promise<{ readonly store: Store; end(): Promise<void> }>,
): Promise<OpenedStore<Store>> {
  const dataDir = await mkdtemp(join(folder, "oncekv-bench-"));
  const remove = (): Promise<void> => rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  try {
    const { store, end } = await open(dataDir);
    return { store, close: () => end().finally(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}
