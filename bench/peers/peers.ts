import type { RoundPlan } from "../measure.js";
import { withFolder } from "../opened-stores.js";
import type { BenchTable } from "../table.js";
import type { BenchWorld, Durability, SizeName } from "../world.js";
import { installPeerPackages } from "./installing.js";
import type { Peer } from "./peer.js";
import { measureInTurns, type PeerChild, startPeers } from "./peer-children.js";
import { otherPeers, ownPeers } from "./peer-list.js";
import { type PeerResult, peerTable } from "./peer-tables.js";

interface PeersSize {
  /** The tables of each durability, by how many create at a time. */
  readonly callers: { readonly [durability in Durability]: readonly number[] };
  /** Takes the place of the world's: a store that compacts must meet its own work within a round. */
  readonly roundMs: number;
  /** How long a peer may go on with what it has put off, before the next one is measured. */
  readonly quietMsMax: number;
  /** Whether what is missing is installed. */
  readonly installs: boolean;
}

const sizes: { readonly [size in SizeName]: PeersSize } = {
  full: { callers: { durable: [1, 64, 512], buffered: [64] }, roundMs: 200, quietMsMax: 1000, installs: true },
  quick: { callers: { durable: [1, 64, 512], buffered: [64] }, roundMs: 50, quietMsMax: 500, installs: true },
  // The tests run it: they change nothing on the machine.
  tiny: { callers: { durable: [1, 4], buffered: [4] }, roundMs: 0, quietMsMax: 0, installs: false },
};

/** Ours beside what a user would pick instead, on the same documents with the same durability. */
export async function* benchPeers(world: BenchWorld): AsyncGenerator<BenchTable, void, undefined> {
  if (sizes[world.size].installs) await installPeerPackages(world);
  yield* measurePeers(world, [...ownPeers, ...otherPeers]);
}

/** Measures these peers. Those that are missing are named as missing. */
export async function* measurePeers(
  world: BenchWorld,
  peers: readonly Peer[],
): AsyncGenerator<BenchTable, void, undefined> {
  const size = sizes[world.size];
  const { children, stop } = await startPeers(peers);
  try {
    for (const { peer, described } of children) {
      if ("missing" in described) world.say(`${peer.name} is missing: ${described.missing}`);
    }
    for (const durability of world.durabilities) {
      for (const callers of size.callers[durability]) {
        yield await measureTable(world, children, { durability, callers });
      }
    }
  } finally {
    await stop();
  }
}

async function measureTable(
  world: BenchWorld,
  children: readonly PeerChild[],
  setting: { readonly durability: Durability; readonly callers: number },
): Promise<BenchTable> {
  const { roundMs, quietMsMax } = sizes[world.size];
  const plan: RoundPlan = { ...world.rounds, roundMs };
  const measurable = children.filter((one) => "version" in judge(one, setting.durability));
  const rounds = await withFolder(world.folder, (folder) =>
    measureInTurns(folder, measurable, { ...setting, world, plan, quietMsMax }),
  );
  const results = children.map((one): PeerResult => {
    const judged = judge(one, setting.durability);
    const outcome = "whyNot" in judged ? judged : { ...judged, rounds: rounds[measurable.indexOf(one)] ?? [] };
    return { peer: one.peer, outcome };
  });
  return peerTable(setting, results);
}

/** Whether a peer can be measured with this durability. */
function judge({ peer, described }: PeerChild, durability: Durability): { version: string } | { whyNot: string } {
  if ("missing" in described) return { whyNot: `missing: ${described.missing}` };
  return peer.rests[durability] === undefined ? { whyNot: `not measured: it has no ${durability} mode` } : described;
}
