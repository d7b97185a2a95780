import type { Fields } from "../../src/documents/contract.js";
import type { Peer } from "./peer.js";
import { loadPeerPackage, packageVersion } from "./peer-packages.js";

/** What is used of lmdb-js. */
interface Lmdb {
  open(options: { readonly path: string }): Database;
}

interface Database {
  ifNoExists(key: string, action: () => void): Promise<boolean>;
  put(key: string, value: Fields): Promise<boolean>;
  get(key: string): unknown;
  readonly flushed: Promise<boolean>;
  close(): Promise<void>;
}

/** With its defaults: writes gather into one transaction, whose sync runs beside the next one. */
export const lmdb: Peer = {
  name: "lmdb ifNoExists",
  createsIfAbsent: true,
  rests: {
    durable: "on disk (await db.flushed)",
    buffered: "with the operating system (committed, flushed not awaited)",
  },
  async version() {
    loadPeerPackage<Lmdb>("lmdb");
    return packageVersion("lmdb");
  },
  async open({ dataDir, durability }) {
    const database = loadPeerPackage<Lmdb>("lmdb").open({ path: dataDir });
    const durable = durability === "durable";
    return {
      async create(id, fields) {
        const won = await database.ifNoExists(id, () => {
          // Part of the condition's outcome, which is awaited.
          void database.put(id, fields);
        });
        if (durable) await database.flushed;
        return won;
      },
      read: async (id) => database.get(id),
      close: () => database.close(),
    };
  },
};
