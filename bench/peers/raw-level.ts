import { readFile } from "node:fs/promises";
import { ClassicLevel } from "classic-level";
import { Packr } from "msgpackr";
import type { Peer } from "./peer.js";

/**
 * The database that ours is built on, without ours: one put, with the value packed by the same library. No condition, no
 * revision, no history. Each put asks for its sync; LevelDB lets those share one that wait for it at the same time, which
 * are at most as many as Node's thread pool has threads (four, unless UV_THREADPOOL_SIZE says otherwise).
 */

export const rawPut: Peer = {
  name: "classic-level put",
  createsIfAbsent: false,
  rests: {
    durable: "on disk (sync); no condition",
    buffered: "with the operating system (no sync); no condition",
  },
  async version() {
    const text = await readFile(new URL("../../node_modules/classic-level/package.json", import.meta.url), "utf8");
    return (JSON.parse(text) as { version: string }).version;
  },
  async open({ dataDir, durability }) {
    const sync = durability === "durable";
    const packr = new Packr({ useRecords: false, mapsAsObjects: true, variableMapSize: true });
    const level = new ClassicLevel<string, Uint8Array>(dataDir, { valueEncoding: "view" });
    await level.open();
    return {
      async create(id, fields) {
        await level.put(id, packr.pack(fields), { sync });
        return true;
      },
      async read(id) {
        const value = await level.get(id);
        return value === undefined ? undefined : packr.unpack(value);
      },
      close: () => level.close(),
    };
  },
};
