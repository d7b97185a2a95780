import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DocumentStore } from "../../src/documents/contract.js";
import { startChild } from "../child.js";
import type { PackageCode } from "../package-code.js";
import { startServer, storeEnvironment } from "../server-process.js";
import type { BenchWorld, Durability } from "../world.js";
import type { BareProcessMethods, BareStoreOptions } from "./bare-process.js";

/** A server that is put under load. */
export interface LoadedServer {
  readonly name: string;
  readonly url: string;
  /** A client of it, by which the results are checked; undefined: it stores nothing that could be checked. */
  readonly store: DocumentStore | undefined;
}

/** What the servers are called in the results. */
export const serverNames = {
  ours: "oncekv serve",
  bare: "bare node:http, same store",
  empty: "bare node:http, no store",
} as const;

/** Servers that listen, each in a process of its own and with a new folder of its own. */
interface LoadedServers {
  readonly servers: readonly LoadedServer[];
  /** Ends them all and removes the folders. */
  close(): Promise<void>;
}

/** Starts ours and what it is compared with: a bare handler over a store of the same durability, and one without a store. */
export async function openServers(
  world: Pick<BenchWorld, "code" | "codeForm" | "folder">,
  durability: Durability,
): Promise<LoadedServers> {
  const { code, codeForm, folder } = world;
  const ends: Ends = [];
  const open = async (name: string, starting: Promise<string>, stores: boolean): Promise<LoadedServer> => {
    const url = await starting;
    if (!stores) return { name, url, store: undefined };
    const store = code.createClient({ url, retryFor: 0 });
    ends.push(() => store.close());
    return { name, url, store };
  };
  const starting = [
    open(serverNames.ours, startOurs(code, await newFolder(folder, ends), durability, ends), true),
    open(serverNames.bare, startBare({ codeForm, dataDir: await newFolder(folder, ends), durability }, ends), true),
    open(serverNames.empty, startBare(undefined, ends), false),
  ];
  // All of them, so that one which starts although another one has failed is ended, too.
  await Promise.allSettled(starting);
  try {
    return { servers: await Promise.all(starting), close: () => endAll(ends) };
  } catch (error) {
    await endAll(ends);
    throw error;
  }
}

/** What ends the things that were begun, in the order in which they were begun. */
type Ends = (() => Promise<void>)[];

async function newFolder(folder: string, ends: Ends): Promise<string> {
  const dataDir = await mkdtemp(join(folder, "oncekv-bench-"));
  ends.push(() => rm(dataDir, { recursive: true, force: true, maxRetries: 3 }));
  return dataDir;
}

async function startOurs(code: PackageCode, dataDir: string, durability: Durability, ends: Ends): Promise<string> {
  const { url, stop } = await startServer({ commandLine: code.commandLine, dataDir, durability });
  ends.push(stop);
  return url;
}

async function startBare(store: BareStoreOptions | undefined, ends: Ends): Promise<string> {
  const module = new URL("./bare-process.ts", import.meta.url);
  const child = startChild<BareProcessMethods>(module, { env: storeEnvironment });
  ends.push(() => child.stop());
  const { url } = await child.call("listen", { store });
  return url;
}

/** Ends what was begun, the last first, and all of it even when something does not end in order. */
async function endAll(ends: Ends): Promise<void> {
  const faults: unknown[] = [];
  for (const end of ends.toReversed()) await end().catch((error: unknown) => faults.push(error));
  if (faults.length > 0) throw faults[0];
}
