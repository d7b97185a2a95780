import { serveParent } from "../child.js";
import { type MeasuredCase, measureRound, type RoundPlan } from "../measure.js";
import type { Round } from "../statistics.js";
import { MissingPeerError, type OpenedPeer, type OpeningPeer, type Peer } from "./peer.js";
import { peerCase } from "./peer-case.js";
import { otherPeers, ownPeers } from "./peer-list.js";
import { quietDown } from "./quiet.js";

/** Its version on this machine, or why it cannot be measured here. */
export type PeerDescription = { readonly version: string } | { readonly missing: string };

/** What the parent may call. The process is started with the peer's name. */
export type PeerProcessMethods = {
  /** Comes first. A missing peer is not an error. */
  readonly describe: () => Promise<PeerDescription>;
  readonly open: (options: OpeningPeer) => Promise<void>;
  /** A round and its checks. */
  readonly round: (plan: RoundPlan & { readonly callers: number; readonly quietMsMax: number }) => Promise<Round>;
  readonly close: () => Promise<void>;
};

const [name] = process.argv.slice(2);
const peer = [...ownPeers, ...otherPeers].find((one) => one.name === name);
if (peer === undefined) throw new Error(`there is no peer ${name}`);

let opened: { readonly store: OpenedPeer; readonly measured: MeasuredCase } | undefined;

serveParent(methodsOf(peer), close);

function methodsOf(measuredPeer: Peer): PeerProcessMethods {
  return {
    async describe() {
      try {
        return { version: await measuredPeer.version() };
      } catch (error) {
        if (error instanceof MissingPeerError) return { missing: error.message };
        throw error;
      }
    },
    async open(options) {
      const store = await measuredPeer.open(options);
      opened = { store, measured: peerCase(measuredPeer, store) };
    },
    async round({ callers, quietMsMax, ...plan }) {
      if (opened === undefined) throw new Error(`${measuredPeer.name} is not open`);
      const round = await measureRound(opened.measured, { ...plan, callers });
      await opened.measured.check();
      await quietDown(quietMsMax);
      return round;
    },
    close,
  };
}

async function close(): Promise<void> {
  const { store } = opened ?? {};
  opened = undefined;
  await store?.close();
}
