import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { BenchWorld } from "../world.js";
import { installingPeers } from "./peer-packages.js";

/**
 * Installs the peers' packages as their lock says, unless they are. When that fails, it says why; the peers are then met
 * as missing. The one that has to be compiled is an optional dependency, so that without a compiler only that one is.
 */
export async function installPeerPackages({ say, signal }: Pick<BenchWorld, "say" | "signal">): Promise<void> {
  if (await areInstalled()) return;
  say(`Installing the packages that are compared (${installingPeers}); compiling one of them takes a minute.`);
  const folder = fileURLToPath(new URL(".", import.meta.url));
  try {
    await promisify(execFile)("npm", ["ci", "--no-audit", "--no-fund", "--prefix", folder], { cwd: folder, signal });
  } catch (error) {
    signal.throwIfAborted();
    const { stderr = "", message } = error as Error & { readonly stderr?: string };
    const reasons = stderr.split("\n").filter((line) => line.startsWith("npm error"));
    say(`They could not be installed: ${reasons.slice(0, 3).join("; ") || message}`);
  }
}

/** npm writes the list of what it has installed last; it is newer than the lock that it followed. */
async function areInstalled(): Promise<boolean> {
  const [lock, installed] = await Promise.all(
    ["package-lock.json", "node_modules/.package-lock.json"].map((name) =>
      stat(new URL(name, import.meta.url)).catch(() => undefined),
    ),
  );
  return lock !== undefined && installed !== undefined && installed.mtimeMs >= lock.mtimeMs;
}
