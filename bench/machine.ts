import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { mkdtemp, readFile, rm, statfs } from "node:fs/promises";
import { cpus, loadavg, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import { percentile } from "./statistics.js";

/** Where the numbers were measured, for whoever compares them with others. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memory_bytes: number;
  readonly system: string;
  readonly node: string;
  /** Of the folder that the stores are in. */
  readonly filesystem: string;
  /** The median time to append 200 bytes to a file there and sync it: no durable write by one caller is faster. */
  readonly fdatasync_p50_us: number;
  /** What else was running when it began: processes that wanted a processor, over the last minute. */
  readonly load_average: number;
  readonly packages: { readonly [name: string]: string };
}

/** Packages whose version changes the numbers. */
const packages = ["classic-level", "abstract-level", "msgpackr", "fastify", "undici", "tinybench"];

/** Linux's numbers for the types of filesystems. */
const filesystems: ReadonlyMap<number, string> = new Map([
  [0xef53, "ext4"],
  [0x58465342, "xfs"],
  [0x9123683e, "btrfs"],
  [0x2fc12fc1, "zfs"],
  [0x794c7630, "overlay"],
  [0x01021994, "tmpfs"],
  [0x6969, "nfs"],
]);

/** @param folder where the stores will be */
export async function describeMachine(folder: string): Promise<Machine> {
  const { type } = await statfs(folder);
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memory_bytes: totalmem(),
    system: `${platform()} ${release()}`,
    node: process.version,
    filesystem: filesystems.get(type) ?? `0x${type.toString(16)}`,
    fdatasync_p50_us: await medianSyncUs(folder),
    load_average: loadavg()[0] ?? 0,
    packages: await packageVersions(),
  };
}

/** What makes numbers from this machine misleading, in sentences. */
export function doubtsAbout(machine: Machine): string[] {
  const doubts: string[] = [];
  if (machine.load_average > machine.cores / 2) {
    doubts.push(`The machine is busy (load ${machine.load_average.toFixed(1)} on ${machine.cores} cores).`);
  }
  if (machine.filesystem === "tmpfs") {
    doubts.push("The stores are in memory (tmpfs), so durable writes wait for no disk: use --dir for a folder on one.");
  }
  return doubts;
}

async function medianSyncUs(folder: string): Promise<number> {
  const own = await mkdtemp(join(folder, "oncekv-bench-"));
  const file = openSync(join(own, "synced"), "w");
  try {
    const bytes = Buffer.alloc(200, 1);
    const tookUs = Float64Array.from({ length: 64 }, () => {
      const begun = performance.now();
      writeSync(file, bytes);
      fdatasyncSync(file);
      return (performance.now() - begun) * 1000;
    });
    return percentile(tookUs.sort(), 0.5);
  } finally {
    closeSync(file);
    await rm(own, { recursive: true, force: true });
  }
}

async function packageVersions(): Promise<{ [name: string]: string }> {
  const root = new URL("../", import.meta.url);
  const versions = { oncekv: await versionIn(new URL("package.json", root)) };
  for (const name of packages) {
    Object.assign(versions, { [name]: await versionIn(new URL(`node_modules/${name}/package.json`, root)) });
  }
  return versions;
}

async function versionIn(manifest: URL): Promise<string> {
  const { version } = JSON.parse(await readFile(manifest, "utf8")) as { version: string };
  return version;
}
