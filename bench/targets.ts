import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DocumentStore } from "../src/documents/contract.js";
import type { PackageCode } from "./package-code.js";
import { startServer } from "./server-process.js";

export type TargetKind = "embedded" | "http";
export type Durability = "durable" | "buffered";

export interface TargetChoice {
  readonly target: TargetKind;
  readonly durability: Durability;
}

/** A store to measure, over a new folder of its own. */
interface Target {
  readonly store: DocumentStore;
  /** Ends everything and removes the folder. Rejects when something did not end in order. */
  close(): Promise<void>;
}

/** Opens targets of any kind. */
export type OpenTarget = (choice: TargetChoice) => Promise<Target>;

/**
 * Opens targets in new folders within `folder`.
 *
 * - `embedded`: the store is in this process.
 * - `http`: `oncekv serve` in a process of its own, and the client in this one. The client sends nothing twice, so that an
 *   error is seen and not retried.
 */
export function targetsIn(folder: string, code: PackageCode): OpenTarget {
  return async ({ target, durability }) => {
    const dataDir = await mkdtemp(join(folder, "oncekv-bench-"));
    const remove = (): Promise<void> => rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
    const opened =
      target === "embedded" ? openEmbedded(dataDir, durability, code) : openHttp(dataDir, durability, code);
    const { store, end } = await opened.catch(async (error: unknown) => {
      await remove();
      throw error;
    });
    return { store, close: () => end().finally(remove) };
  };
}

interface Opened {
  readonly store: DocumentStore;
  end(): Promise<void>;
}

async function openEmbedded(dataDir: string, durability: Durability, code: PackageCode): Promise<Opened> {
  const store = await code.openStore({ dataDir, durability });
  return { store, end: () => store.close() };
}

async function openHttp(dataDir: string, durability: Durability, code: PackageCode): Promise<Opened> {
  const server = await startServer({ commandLine: code.commandLine, dataDir, durability });
  const store = code.createClient({ url: server.url, retryFor: 0 });
  return { store, end: () => store.close().finally(() => server.stop()) };
}
