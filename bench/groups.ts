import { benchCalls } from "./calls/calls.js";
import { benchCas } from "./cas/cas.js";
import { benchExpiry } from "./expiry/expiry.js";
import { benchHttp } from "./http/http.js";
import { benchPeers } from "./peers/peers.js";
import { benchScale } from "./scale/scale.js";
import type { BenchGroup } from "./world.js";

/** The groups of benchmarks, by the name that the command line takes. */
export const groups = {
  cas: benchCas,
  http: benchHttp,
  calls: benchCalls,
  expiry: benchExpiry,
  scale: benchScale,
  peers: benchPeers,
} as const satisfies { readonly [name: string]: BenchGroup };

export type GroupName = keyof typeof groups;
