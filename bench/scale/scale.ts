import { mkdtemp, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { ratioOver, summarize } from "../statistics.js";
import { type BenchRow, type BenchTable, type Column, durabilityMeans, type TargetResult, target } from "../table.js";
import type { BenchWorld, Durability, SizeName } from "../world.js";
import { claimsFrom, claimsStretch } from "./number-ranges.js";
import { loadStore, type MeasuredStore, measureStores, type ScalePlan } from "./stores-of-sizes.js";

/** How many documents the stores hold, and how long each is measured, by the name of the size. */
const sizes: { readonly [size in SizeName]: { readonly documents: readonly number[]; readonly plan: ScalePlan } } = {
  full: {
    documents: [10_000, 1_000_000],
    plan: { warmupRounds: 2, rounds: 16, roundMs: 0, operationsPerCaller: 250, stillMs: 1000 },
  },
  quick: {
    documents: [10_000, 100_000],
    plan: { warmupRounds: 1, rounds: 6, roundMs: 0, operationsPerCaller: 100, stillMs: 300 },
  },
  tiny: {
    documents: [1000],
    plan: { warmupRounds: 0, rounds: 2, roundMs: 0, operationsPerCaller: 3, stillMs: 0 },
  },
};

/** With `--large` only. */
const largeDocuments = 10_000_000;

/** Room on the disk that a document may need while it is loaded, in bytes: tables are merged into new ones first. */
const roomPerDocument = 1500;

/**
 * Stores of several sizes, each in a process of its own that has opened it full, measured in turns with an empty one.
 * Their options are the defaults.
 */
export async function* benchScale(world: BenchWorld): AsyncGenerator<BenchTable, void, undefined> {
  const { documents, plan } = sizes[world.size];
  const counts = world.large ? [...documents, largeDocuments] : documents;
  const folder = await mkdtemp(join(world.folder, "oncekv-bench-"));
  try {
    await checkRoom(folder, counts.at(-1) ?? 0);
    for (const count of counts) await loadStore(world, { dataDir: join(folder, `${count}`), documents: count }, plan);
    for (const [turn, durability] of world.durabilities.entries()) {
      const stores = [0, ...counts].map((count) => ({
        // A store that was measured is empty no more.
        dataDir: join(folder, count === 0 ? `empty-${turn}` : `${count}`),
        documents: count,
        claimsFrom: claimsFrom + turn * claimsStretch,
      }));
      yield scaleTable(durability, await measureStores(world, stores, durability, plan));
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function checkRoom(folder: string, documents: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const [room, needed] = [bavail * bsize, documents * roomPerDocument];
  if (room < needed) {
    throw new Error(
      `${documents} documents may need ${gigabytes(needed)}, and ${folder} has room for ${gigabytes(room)}`,
    );
  }
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}

const columns: readonly Column[] = [
  { key: "claim_p50_us", heading: "claim p50 us", digits: 1 },
  { key: "claim_p99_us", heading: "claim p99", digits: 1 },
  { key: "claim_of_empty", heading: "of empty, x", digits: 2 },
  { key: "hit_p50_us", heading: "get p50 us", digits: 1 },
  { key: "hit_p99_us", heading: "get p99", digits: 1 },
  { key: "miss_p50_us", heading: "absent p50 us", digits: 1 },
  { key: "miss_p99_us", heading: "absent p99", digits: 1 },
  { key: "open_ms", heading: "open ms", digits: 0 },
  { key: "private_mb", heading: "memory MB", digits: 0 },
  { key: "resident_mb", heading: "mapped files too", digits: 0 },
  { key: "disk_mb", heading: "disk MB", digits: 0 },
];

function scaleTable(durability: Durability, stores: readonly MeasuredStore[]): BenchTable {
  const [empty] = stores;
  if (empty === undefined) throw new Error("nothing was measured");
  const rows = stores.map((store) => scaleRow(store, empty));
  return {
    group: "scale",
    title:
      "stores of several sizes, documents of about 300 bytes, no write ids; one caller claims (create if absent), " +
      "gets one that is there and one that is absent; opened after an orderly close; embedded, each in a process of " +
      "its own; " +
      durabilityMeans[durability],
    setting: { durability, callers: 1 },
    columns,
    rows,
    targets: scaleTargets(durability, rows.at(-1)),
  };
}

function scaleRow(store: MeasuredStore, empty: MeasuredStore): BenchRow {
  const claim = summarize(store.claim);
  const miss = summarize(store.miss);
  const hit = store.hit.length === 0 ? undefined : summarize(store.hit);
  return {
    case: documentsText(store.documents),
    values: {
      documents: store.documents,
      claim_p50_us: claim.p50Us,
      claim_p99_us: claim.p99Us,
      claim_of_empty: ratioOver(empty.claim, store.claim),
      hit_p50_us: hit?.p50Us ?? null,
      hit_p99_us: hit?.p99Us ?? null,
      miss_p50_us: miss.p50Us,
      miss_p99_us: miss.p99Us,
      open_ms: store.openMs,
      resident_mb: store.residentBytes / 1e6,
      private_mb: store.privateBytes === null ? null : store.privateBytes / 1e6,
      disk_mb: store.diskBytes / 1e6,
    },
  };
}

/** @param largest the row of the largest store */
function scaleTargets(durability: Durability, largest: BenchRow | undefined): TargetResult[] {
  if (largest === undefined) return [];
  const { values } = largest;
  const which = `${largest.case}, ${durability}`;
  const found = (key: string): number => values[key] ?? Number.NaN;
  return [
    target(`claim median of an empty store's, ${which}`, found("claim_of_empty"), "x", "at most", 1.5),
    target(`opens, ${which}`, found("open_ms"), "ms", "at most", 2000),
    target(`memory, ${which}`, values["private_mb"] ?? found("resident_mb"), "MB", "at most", 400),
  ];
}

function documentsText(count: number): string {
  return count === 0 ? "empty" : `${count.toLocaleString("en-US")} documents`;
}
