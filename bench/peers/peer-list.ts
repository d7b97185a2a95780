import { betterSqlite3 } from "./better-sqlite3.js";
import { denoKv } from "./deno-kv.js";
import { etcd } from "./etcd.js";
import { lmdb } from "./lmdb.js";
import { oncekvCreate, oncekvPut } from "./oncekv.js";
import type { Peer } from "./peer.js";
import { rawPut } from "./raw-level.js";
import { redis } from "./redis.js";

/** What needs nothing but this package and its dependencies. */
export const ownPeers: readonly Peer[] = [oncekvCreate, oncekvPut, rawPut];

/** What others made, and may be missing. */
export const otherPeers: readonly Peer[] = [lmdb, betterSqlite3, denoKv, redis, etcd];
