import { type Round, ratioOver, summarize } from "../statistics.js";
import {
  type BenchRow,
  type BenchTable,
  durabilityMeans,
  type TargetResult,
  target,
  timedColumns,
  timedRow,
} from "../table.js";
import type { Durability } from "../world.js";
import { betterSqlite3 } from "./better-sqlite3.js";
import { lmdb } from "./lmdb.js";
import { oncekvCreate, oncekvPut } from "./oncekv.js";
import type { Peer } from "./peer.js";
import { rawPut } from "./raw-level.js";

/** A peer under one setting: what was measured, or why nothing was. */
export interface PeerResult {
  readonly peer: Peer;
  readonly outcome: { readonly version: string; readonly rounds: readonly Round[] } | { readonly whyNot: string };
}

/** Turns what was measured in one run into a table. */
export function peerTable(
  setting: { readonly durability: Durability; readonly callers: number },
  results: readonly PeerResult[],
): BenchTable {
  const { durability, callers } = setting;
  const who = callers === 1 ? "1 caller" : `${callers} callers`;
  return {
    group: "peers",
    title: `new documents, in oncekv and in what one would pick instead; ${who}; ${durabilityMeans[durability]}`,
    setting: { durability, callers },
    columns: timedColumns,
    rows: results.map((result) => rowOf(result, durability)),
    targets: durability === "durable" ? targetsOf(callers, results) : [],
  };
}

function rowOf({ peer, outcome }: PeerResult, durability: Durability): BenchRow {
  if ("whyNot" in outcome) {
    const none = Object.fromEntries(timedColumns.map(({ key }) => [key, null]));
    return { case: peer.name, values: { operations: null, ...none }, note: outcome.whyNot };
  }
  return timedRow(peer.name, outcome.rounds, `${outcome.version}; ${peer.rests[durability]}`);
}

/** What ours must reach beside another one, when both are durable. */
interface DurableTarget {
  readonly callers: number;
  readonly ours: Peer;
  readonly other: Peer;
  readonly name: string;
  measure(other: readonly Round[], ours: readonly Round[]): number;
  readonly relation: TargetResult["relation"];
  readonly bound: number;
}

const durableTargets: readonly DurableTarget[] = [
  {
    callers: 1,
    ours: oncekvPut,
    other: rawPut,
    name: "durable put, one caller, median over raw classic-level put with sync",
    measure: ratioOver,
    relation: "at most",
    bound: 1.15,
  },
  {
    callers: 64,
    ours: oncekvCreate,
    other: lmdb,
    name: "durable create, 64 callers, over lmdb ifNoExists flushed",
    measure: throughputOver,
    relation: "at least",
    bound: 1,
  },
  {
    callers: 64,
    ours: oncekvCreate,
    other: betterSqlite3,
    name: "durable create, 64 callers, over better-sqlite3 FULL",
    measure: throughputOver,
    relation: "at least",
    bound: 10,
  },
  {
    callers: 512,
    ours: oncekvCreate,
    other: lmdb,
    name: "durable create, 512 callers, over lmdb ifNoExists flushed",
    measure: throughputOver,
    relation: "at least",
    bound: 1,
  },
];

/** The targets for so many callers, as far as both were measured. */
function targetsOf(callers: number, results: readonly PeerResult[]): TargetResult[] {
  const roundsOf = ({ name }: Peer): readonly Round[] | undefined => {
    const outcome = results.find(({ peer }) => peer.name === name)?.outcome;
    return outcome !== undefined && "rounds" in outcome ? outcome.rounds : undefined;
  };
  return durableTargets.flatMap((one) => {
    const [ours, other] = [roundsOf(one.ours), roundsOf(one.other)];
    if (one.callers !== callers || ours === undefined || other === undefined) return [];
    return [target(one.name, one.measure(other, ours), "x", one.relation, one.bound)];
  });
}

/** How many times as many operations a second as another one. */
function throughputOver(other: readonly Round[], rounds: readonly Round[]): number {
  return summarize(rounds).operationsPerSecond / summarize(other).operationsPerSecond;
}
