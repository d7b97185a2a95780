import { join } from "node:path";
import type { Fields } from "../../src/documents/contract.js";
import type { Peer } from "./peer.js";
import { loadPeerPackage, packageVersion } from "./peer-packages.js";

/** What is used of @deno/kv. */
interface DenoKv {
  openKv(path: string): Promise<Kv>;
}

interface Kv {
  atomic(): AtomicOperation;
  get(key: Key): Promise<{ readonly value: unknown; readonly versionstamp: string | null }>;
  close(): void;
}

interface AtomicOperation {
  check(...checks: readonly { readonly key: Key; readonly versionstamp: string | null }[]): AtomicOperation;
  set(key: Key, value: Fields): AtomicOperation;
  commit(): Promise<{ readonly ok: boolean }>;
}

type Key = readonly string[];

/**
 * Its store is an SQLite file in WAL mode. It sets no `synchronous` and its SQLite is compiled with FULL as the default in
 * that mode, too: a system call trace shows one fsync for each commit of a single caller. It cannot be set otherwise, so
 * there is no buffered mode.
 */
export const denoKv: Peer = {
  name: "@deno/kv atomic check",
  createsIfAbsent: true,
  rests: { durable: "on disk (SQLite: WAL, synchronous=FULL)" },
  async version() {
    loadPeerPackage<DenoKv>("@deno/kv");
    return packageVersion("@deno/kv");
  },
  async open({ dataDir }) {
    const kv = await loadPeerPackage<DenoKv>("@deno/kv").openKv(join(dataDir, "documents.db"));
    return {
      async create(id, fields) {
        const key = [id];
        return (await kv.atomic().check({ key, versionstamp: null }).set(key, fields).commit()).ok;
      },
      async read(id) {
        const { value, versionstamp } = await kv.get([id]);
        return versionstamp === null ? undefined : value;
      },
      close: async () => kv.close(),
    };
  },
};
