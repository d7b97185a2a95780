import { askProgram, startLocalServer } from "./local-server.js";
import type { Peer } from "./peer.js";
import { loadPeerPackage } from "./peer-packages.js";

/** What is used of node-redis, the client that Redis recommends. */
interface NodeRedis {
  createClient(options: { readonly socket: { readonly host: string; readonly port: number } }): Client;
}

interface Client {
  on(event: "error", listener: (error: Error) => void): unknown;
  connect(): Promise<unknown>;
  set(
    key: string,
    value: string,
    options: { readonly condition: "NX"; readonly expiration: { readonly type: "PX"; readonly value: number } },
  ): Promise<string | null>;
  get(key: string): Promise<string | null>;
  close(): Promise<unknown>;
}

/**
 * `appendfsync everysec` would not be the same as buffered: while its sync runs, it answers before the operating system
 * has the write.
 */
const appendfsync = { durable: "always", buffered: "no" } as const;

/** A claim in Redis has a lease. */
const leaseMs = 24 * 60 * 60 * 1000;

/** A server in a process of its own. Commands that are sent in one turn of the event loop share a packet, and a sync. */
export const redis: Peer = {
  name: "redis SET NX PX",
  createsIfAbsent: true,
  rests: {
    durable: "on disk (appendfsync always); over TCP",
    buffered: "with the operating system (appendfsync no); over TCP",
  },
  async version() {
    loadPeerPackage<NodeRedis>("@redis/client");
    const said = await askProgram("redis-server", ["--version"], "Debian's package redis-server");
    return /v=(\S+)/.exec(said)?.[1] ?? "unknown";
  },
  async open({ dataDir, durability }) {
    const { createClient } = loadPeerPackage<NodeRedis>("@redis/client");
    const server = await startLocalServer("redis-server", {
      ports: 1,
      argsFor: ([port]) => [
        ...["--bind", "127.0.0.1", "--port", `${port}`, "--dir", dataDir],
        ...["--appendonly", "yes", "--appendfsync", appendfsync[durability], "--save", ""],
      ],
    });
    const client = createClient({ socket: { host: "127.0.0.1", port: server.port } });
    // What goes wrong is met by the command that it concerns.
    client.on("error", () => {});
    try {
      await client.connect();
    } catch (error) {
      await server.stop();
      throw error;
    }
    const options = { condition: "NX", expiration: { type: "PX", value: leaseMs } } as const;
    return {
      create: async (id, fields) => (await client.set(id, JSON.stringify(fields), options)) === "OK",
      async read(id) {
        const text = await client.get(id);
        return text === null ? undefined : JSON.parse(text);
      },
      async close() {
        try {
          await client.close();
        } finally {
          await server.stop();
        }
      },
    };
  },
};
