import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type BenchChild, startChild } from "../child.js";
import { inTurns, type RoundPlan } from "../measure.js";
import type { Round } from "../statistics.js";
import type { BenchWorld, Durability } from "../world.js";
import type { Peer } from "./peer.js";
import type { PeerDescription, PeerProcessMethods } from "./peer-process.js";

/** A peer in a process of its own. */
export interface PeerChild {
  readonly peer: Peer;
  readonly child: BenchChild<PeerProcessMethods>;
  readonly described: PeerDescription;
}

/** Processes that have started. */
export interface PeerChildren {
  readonly children: readonly PeerChild[];
  /** Ends them all, and what they have opened. */
  stop(): Promise<void>;
}

/** Starts a process for each peer. */
export async function startPeers(peers: readonly Peer[]): Promise<PeerChildren> {
  const started = peers.map((peer) => {
    const module = new URL("./peer-process.ts", import.meta.url);
    return { peer, child: startChild<PeerProcessMethods>(module, { args: [peer.name] }) };
  });
  const stop = async (): Promise<void> => {
    const ends = await Promise.allSettled(started.map(({ child }) => child.stop()));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  };
  try {
    const children = await Promise.all(
      started.map(async (one) => ({ ...one, described: await one.child.call("describe", undefined) })),
    );
    return { children, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Measures the peers in turns, each in an empty store.
 *
 * @param folder an empty folder for all of them
 * @param children those that are there and have this durability
 * @returns the rounds of each, in their order
 */
export async function measureInTurns(
  folder: string,
  children: readonly PeerChild[],
  options: {
    readonly world: Pick<BenchWorld, "codeForm" | "signal">;
    readonly durability: Durability;
    readonly callers: number;
    readonly plan: RoundPlan;
    readonly quietMsMax: number;
  },
): Promise<Round[][]> {
  const { world, durability, callers, plan, quietMsMax } = options;
  const opened: PeerChild[] = [];
  const measure = async (): Promise<Round[][]> => {
    for (const [index, one] of children.entries()) {
      world.signal.throwIfAborted();
      const dataDir = join(folder, `${index}`);
      // For etcd, which wants its folder for itself.
      await mkdir(dataDir, { mode: 0o700 });
      await one.child.call("open", { dataDir, durability, codeForm: world.codeForm });
      opened.push(one);
    }
    return inTurns(children, { ...plan, signal: world.signal }, ({ child }) =>
      child.call("round", { ...plan, callers, quietMsMax }),
    );
  };
  return measure().finally(() => closeAll(opened));
}

/** One after the other, and all of them even when one does not close in order. */
async function closeAll(opened: readonly PeerChild[]): Promise<void> {
  const faults: unknown[] = [];
  for (const { child } of opened) await child.call("close", undefined).catch((error: unknown) => faults.push(error));
  if (faults.length > 0) throw faults[0];
}
