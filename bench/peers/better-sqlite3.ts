import { join } from "node:path";
import type { Peer } from "./peer.js";
import { loadPeerPackage, packageVersion } from "./peer-packages.js";

/** What is used of better-sqlite3. */
type BetterSqlite3 = new (
  file: string,
) => {
  pragma(source: string, options: { readonly simple: true }): unknown;
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  close(): unknown;
};

interface Statement {
  run(...values: readonly string[]): { readonly changes: number };
  get(...values: readonly string[]): unknown;
}

/** SQLite's numbers for `synchronous`. */
const synchronous = { durable: 2, buffered: 1 } as const;

/** The driver is synchronous: callers take turns, and each insert is a transaction of its own. */
export const betterSqlite3: Peer = {
  name: "better-sqlite3 insert on conflict do nothing",
  createsIfAbsent: true,
  rests: {
    durable: "on disk (WAL, synchronous=FULL); callers take turns",
    buffered: "with the operating system (WAL, synchronous=NORMAL); callers take turns",
  },
  async version() {
    loadPeerPackage<BetterSqlite3>("better-sqlite3", (Database) => new Database(":memory:").close());
    return packageVersion("better-sqlite3");
  },
  async open({ dataDir, durability }) {
    const Database = loadPeerPackage<BetterSqlite3>("better-sqlite3");
    const database = new Database(join(dataDir, "documents.db"));
    const setting = (name: string, wanted: string | number): void => {
      database.pragma(`${name} = ${wanted}`, { simple: true });
      const found = database.pragma(name, { simple: true });
      if (found !== wanted) throw new Error(`better-sqlite3 has ${name} ${found}, not ${wanted}`);
    };
    setting("journal_mode", "wal");
    setting("synchronous", synchronous[durability]);
    database.exec("create table documents (id text primary key, fields text not null) without rowid");
    const insert = database.prepare("insert into documents (id, fields) values (?, ?) on conflict do nothing");
    const select = database.prepare("select fields from documents where id = ?");
    return {
      create: async (id, fields) => insert.run(id, JSON.stringify(fields)).changes === 1,
      async read(id) {
        const row = select.get(id) as { readonly fields: string } | undefined;
        return row === undefined ? undefined : JSON.parse(row.fields);
      },
      close: async () => {
        database.close();
      },
    };
  },
};
