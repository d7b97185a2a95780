import { type Measured, roundsIn } from "../comparisons.js";
import { inTurns } from "../measure.js";
import {
  type BenchRow,
  type BenchTable,
  type Column,
  durabilityMeans,
  target,
  timedColumns,
  timedRow,
} from "../table.js";
import type { BenchWorld, Durability, SizeName } from "../world.js";
import type { LoadPlan } from "./load-generator.js";
import { type LoadedServer, openServers, serverNames } from "./loaded-servers.js";
import { ServerLoad, startLoadProcess } from "./server-load.js";
import { throughputOver } from "./throughput.js";

/** How the servers are put under load. Rounds are longer than elsewhere, since 64 connections begin and end together. */
interface LoadSize extends LoadPlan {
  readonly connections: readonly number[];
  readonly warmupRounds: number;
  readonly rounds: number;
}

const sizes: { readonly [size in SizeName]: LoadSize } = {
  full: { connections: [1, 64], warmupRounds: 4, rounds: 16, roundMs: 250, requestsPerConnection: 0 },
  quick: { connections: [1, 64], warmupRounds: 3, rounds: 6, roundMs: 150, requestsPerConnection: 0 },
  tiny: { connections: [1, 4], warmupRounds: 0, rounds: 2, roundMs: 0, requestsPerConnection: 3 },
};

const columns: readonly Column[] = [
  ...timedColumns,
  { key: "of_bare", heading: "of bare", digits: 2 },
  { key: "of_bare_q1", heading: "from", digits: 2 },
  { key: "of_bare_q3", heading: "to", digits: 2 },
];

/** What the server can do, a table for each number of connections. */
export async function* loadTables(
  world: BenchWorld,
  durability: Durability,
): AsyncGenerator<BenchTable, void, undefined> {
  const { servers, close } = await openServers(world, durability);
  const child = startLoadProcess();
  try {
    for (const connections of sizes[world.size].connections) {
      world.say(`http: servers under load, ${durability}, ${counted(connections)}`);
      const loads = await openLoads(child, servers, connections, sizes[world.size]);
      const { warmupRounds, rounds } = sizes[world.size];
      const all = await inTurns(loads, { warmupRounds, rounds, signal: world.signal }, (load) => load.round());
      for (const load of loads) await load.close();
      yield loadTable(
        durability,
        connections,
        new Map(loads.map(({ server }, index) => [server.name, all[index] ?? []])),
      );
    }
  } finally {
    await child.stop().finally(close);
  }
}

async function openLoads(
  child: ReturnType<typeof startLoadProcess>,
  servers: readonly LoadedServer[],
  connections: number,
  plan: LoadPlan,
): Promise<readonly ServerLoad[]> {
  const loads: ServerLoad[] = [];
  for (const server of servers) {
    loads.push(await ServerLoad.open(child, server, { shape: `claims-${connections}`, connections, plan }));
  }
  return loads;
}

/** Makes the table of what was measured. @param rounds by the names of the servers, all of them */
function loadTable(durability: Durability, connections: number, rounds: Measured): BenchTable {
  const bare = roundsIn(rounds, serverNames.bare);
  const rows = [...rounds].map(([name, ofServer]): BenchRow => {
    const { ratio, quartiles } = throughputOver(bare, ofServer);
    const [of_bare_q1, of_bare_q3] = quartiles;
    const row = timedRow(name, ofServer, notes.get(name));
    return { ...row, values: { ...row.values, of_bare: ratio, of_bare_q1, of_bare_q3 } };
  });
  const isTarget = durability === "durable" && connections > 1;
  const { ratio } = throughputOver(bare, roundsIn(rounds, serverNames.ours));
  const what = `HTTP durable create, ${connections} connections, of a bare node:http handler over the same store`;
  return {
    group: "http",
    title: `create-if-absent over HTTP, ${counted(connections)}, by a load generator; ${durabilityMeans[durability]}`,
    setting: { durability, connections, client: "load generator" },
    columns,
    rows,
    targets: isTarget ? [target(what, ratio, "x", "at least", 0.85)] : [],
  };
}

const notes: ReadonlyMap<string, string> = new Map([
  [serverNames.bare, "parses the body, writes, answers as much; checks nothing"],
  [serverNames.empty, "stores nothing: HTTP and JSON alone"],
]);

function counted(connections: number): string {
  return connections === 1 ? "1 connection" : `${connections} connections`;
}
