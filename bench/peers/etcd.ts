import { Pool } from "undici";
import { askProgram, startLocalServer } from "./local-server.js";
import type { Peer } from "./peer.js";

/** Requests of one process that are under way at the same time. More of them made it slower. */
const connections = 64;

/**
 * A cluster of one member, through its HTTP gateway. The gRPC client for Node was tried as well (etcd3 1.1.2): with one
 * caller it is as fast, with 64 callers the gateway did about four times as many transactions.
 */
export const etcd: Peer = {
  name: "etcd transaction",
  createsIfAbsent: true,
  rests: { durable: "on disk (one member); over HTTP" },
  async version() {
    const said = await askProgram("etcd", ["--version"], "Debian's package etcd-server");
    return /etcd Version: (\S+)/.exec(said)?.[1] ?? "unknown";
  },
  async open({ dataDir }) {
    const server = await startLocalServer("etcd", { ports: 2, argsFor: (ports) => etcdArguments(dataDir, ports) });
    const pool = new Pool(`http://127.0.0.1:${server.port}`, { connections });
    const ask = async (path: string, body: object): Promise<unknown> => {
      const answer = await pool.request({ method: "POST", path, body: JSON.stringify(body) });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`etcd answers ${answer.statusCode}: ${text}`);
      return JSON.parse(text);
    };
    return {
      async create(id, fields) {
        const key = base64(id);
        // The gateway leaves out members that are false.
        const { succeeded = false } = (await ask("/v3/kv/txn", {
          compare: [{ key, target: "CREATE", result: "EQUAL", create_revision: 0 }],
          success: [{ request_put: { key, value: base64(JSON.stringify(fields)) } }],
        })) as { readonly succeeded?: boolean };
        return succeeded;
      },
      async read(id) {
        const { kvs = [] } = (await ask("/v3/kv/range", { key: base64(id) })) as {
          readonly kvs?: readonly { readonly value: string }[];
        };
        const value = kvs[0]?.value;
        return value === undefined ? undefined : JSON.parse(Buffer.from(value, "base64").toString());
      },
      async close() {
        try {
          await pool.close();
        } finally {
          await server.stop();
        }
      },
    };
  },
};

function etcdArguments(dataDir: string, ports: readonly number[]): readonly string[] {
  const [client, peer] = ports.map((port) => `http://127.0.0.1:${port}`);
  return [
    ...["--name", "one", "--data-dir", dataDir],
    ...["--listen-client-urls", `${client}`, "--advertise-client-urls", `${client}`],
    ...["--listen-peer-urls", `${peer}`, "--initial-advertise-peer-urls", `${peer}`],
    ...["--initial-cluster", `one=${peer}`],
  ];
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
