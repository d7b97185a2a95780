import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { measureInterleaved } from "../../bench/measure.js";
import { betterSqlite3 } from "../../bench/peers/better-sqlite3.js";
import { etcd } from "../../bench/peers/etcd.js";
import { lmdb } from "../../bench/peers/lmdb.js";
import { oncekvCreate, oncekvPut } from "../../bench/peers/oncekv.js";
import { MissingPeerError, type Peer } from "../../bench/peers/peer.js";
import { peerCase } from "../../bench/peers/peer-case.js";
import { otherPeers, ownPeers } from "../../bench/peers/peer-list.js";
import { packageVersion } from "../../bench/peers/peer-packages.js";
import { type PeerResult, peerTable } from "../../bench/peers/peer-tables.js";
import { benchPeers, measurePeers } from "../../bench/peers/peers.js";
import { rawPut } from "../../bench/peers/raw-level.js";
import type { BenchRow } from "../../bench/table.js";
import { type Durability, roundsOf } from "../../bench/world.js";
import { tablesOf, tinyWorld } from "./tiny-world.js";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "oncekv-test-"));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

function expectNumbers({ case: name, values }: BenchRow): void {
  for (const key of ["operations", "p50_us", "p99_us", "operations_per_second"]) {
    expect(values[key], `${name}: ${key}`).toBeGreaterThan(0);
    expect(values[key], `${name}: ${key}`).toBeLessThan(Number.POSITIVE_INFINITY);
  }
}

/** Why a peer cannot be measured here; undefined: it can. Where CI runs, everything is expected to be there. */
async function missing(peer: Peer): Promise<string | undefined> {
  try {
    await peer.version();
    return undefined;
  } catch (error) {
    if (process.env["CI"] || !(error instanceof MissingPeerError)) throw error;
    return error.message;
  }
}

describe("the group peers", () => {
  it("measures ours and the raw database in processes of their own", async () => {
    const tables = await tablesOf(measurePeers(await tinyWorld(folder), ownPeers));
    expect(tables.map(({ setting }) => setting)).toEqual([
      { durability: "durable", callers: 1 },
      { durability: "durable", callers: 4 },
      { durability: "buffered", callers: 4 },
    ]);
    for (const { title, rows, setting } of tables) {
      expect(title).toContain(`${setting["durability"]} (a write is answered when`);
      expect(rows.map((row) => row.case)).toEqual(ownPeers.map(({ name }) => name));
      for (const row of rows) expectNumbers(row);
    }
    expect(tables[0]?.targets.map(({ name }) => name)).toEqual([
      "durable put, one caller, median over raw classic-level put with sync",
    ]);
    expect(await readdir(folder)).toEqual([]);
  });

  it("names every peer in every table, with numbers or with the reason why there are none", async () => {
    const said: string[] = [];
    const tables = await tablesOf(benchPeers(await tinyWorld(folder, { say: (line) => said.push(line) })));
    const absent = new Map<string, string>();
    for (const peer of otherPeers) {
      const reason = await missing(peer);
      if (reason !== undefined) absent.set(peer.name, reason);
    }
    expect(said).toEqual([...absent].map(([name, reason]) => `${name} is missing: ${reason}`));
    for (const { rows, setting } of tables) {
      expect(rows.map((row) => row.case)).toEqual([...ownPeers, ...otherPeers].map(({ name }) => name));
      for (const [index, peer] of [...ownPeers, ...otherPeers].entries()) {
        const row = rows[index] as BenchRow;
        const reason = absent.get(peer.name);
        const rests = peer.rests[setting["durability"] as Durability];
        if (reason !== undefined) expect(row).toMatchObject({ note: `missing: ${reason}` });
        else if (rests === undefined) expect(row.note).toMatch(/^not measured: it has no buffered mode$/);
        else {
          expectNumbers(row);
          expect(row.note).toBe(`${await peer.version()}; ${rests}`);
        }
      }
    }
    expect(await readdir(folder)).toEqual([]);
  });

  it("names a server as missing that is not on the machine", async () => {
    vi.stubEnv("PATH", folder);
    const said: string[] = [];
    const world = await tinyWorld(folder, { say: (line) => said.push(line), durabilities: ["durable"] });
    const tables = await tablesOf(measurePeers(world, [oncekvCreate, etcd]));
    expect(said).toEqual(["etcd transaction is missing: etcd is not installed (Debian's package etcd-server)"]);
    for (const { rows } of tables) {
      expectNumbers(rows[0] as BenchRow);
      expect(rows[1]).toEqual({
        case: "etcd transaction",
        values: { operations: null, p50_us: null, p99_us: null, operations_per_second: null },
        note: "missing: etcd is not installed (Debian's package etcd-server)",
      });
    }
  });

  it("leaves nothing behind when it is read no further, or interrupted", async () => {
    for await (const table of measurePeers(await tinyWorld(folder), [oncekvCreate])) {
      expect(table.rows).toHaveLength(1);
      break;
    }
    expect(await readdir(folder)).toEqual([]);

    const interrupted = AbortSignal.abort(new Error("enough"));
    const tables = tablesOf(measurePeers(await tinyWorld(folder, { signal: interrupted }), [oncekvCreate]));
    await expect(tables).rejects.toThrow("enough");
    expect(await readdir(folder)).toEqual([]);
  });
});

describe.each([...ownPeers, ...otherPeers])("$name", (peer) => {
  for (const durability of ["durable", "buffered"] as const) {
    if (peer.rests[durability] === undefined) continue;
    it(`stores what it has acknowledged, and lets one of several win, ${durability}`, async (context) => {
      const reason = await missing(peer);
      if (reason !== undefined) {
        context.skip(reason);
        return;
      }
      const store = await peer.open({ dataDir: folder, durability, codeForm: "sources" });
      try {
        expect(await store.read("absent")).toBeUndefined();
        const [rounds] = await measureInterleaved([peerCase(peer, store)], { ...roundsOf.tiny, callers: 3 });
        expect(rounds?.map(({ latenciesMs }) => latenciesMs.length)).toEqual([9, 9]);
      } finally {
        await store.close();
      }
    });
  }
});

describe("the peers' packages", () => {
  it("name what is missing, and how it is installed", () => {
    expect(() => packageVersion("nothing-of-this-name")).toThrow(
      new MissingPeerError("the package nothing-of-this-name is not installed (npm ci --prefix bench/peers)"),
    );
  });

  it("hide none of this package's own from the sources beside them", async () => {
    const read = async (file: string): Promise<{ readonly [key: string]: object }> =>
      JSON.parse(await readFile(new URL(`../../${file}`, import.meta.url), "utf8"));
    const { dependencies = {}, devDependencies = {} } = await read("package.json");
    const { packages = {} } = await read("bench/peers/package-lock.json");
    for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
      expect(packages).not.toHaveProperty([`node_modules/${name}`]);
    }
  });
});

describe("the targets of the group peers", () => {
  /** A peer that does so many operations in a second, each of which takes so many milliseconds. */
  const result = (peer: Peer, operationsPerSecond: number, latencyMs = 1): PeerResult => ({
    peer,
    outcome: {
      version: "1.0.0",
      rounds: [{ latenciesMs: [latencyMs, latencyMs], elapsedMs: 2000 / operationsPerSecond }],
    },
  });
  const absent = (peer: Peer): PeerResult => ({ peer, outcome: { whyNot: "missing: not installed" } });
  const measuredIn = (callers: number, results: readonly PeerResult[], durability: Durability = "durable") =>
    peerTable({ durability, callers }, results).targets.map(({ name, measured, relation, target }) => [
      name,
      measured,
      relation,
      target,
    ]);

  it("compare medians with one caller, and operations a second with many", () => {
    expect(measuredIn(1, [result(oncekvPut, 1, 0.3), result(rawPut, 1, 0.2), result(lmdb, 1)])).toEqual([
      ["durable put, one caller, median over raw classic-level put with sync", expect.closeTo(1.5), "at most", 1.15],
    ]);
    const many = [result(oncekvCreate, 120_000), result(lmdb, 80_000), result(betterSqlite3, 8000)];
    expect(measuredIn(64, many)).toEqual([
      ["durable create, 64 callers, over lmdb ifNoExists flushed", expect.closeTo(1.5), "at least", 1],
      ["durable create, 64 callers, over better-sqlite3 FULL", expect.closeTo(15), "at least", 10],
    ]);
    expect(measuredIn(512, many)).toEqual([
      ["durable create, 512 callers, over lmdb ifNoExists flushed", expect.closeTo(1.5), "at least", 1],
    ]);
  });

  it("need both sides, and the durability they are about", () => {
    expect(measuredIn(512, [result(oncekvCreate, 1), absent(lmdb)])).toEqual([]);
    expect(measuredIn(64, [result(oncekvCreate, 1), result(lmdb, 1)], "buffered")).toEqual([]);
  });
});
