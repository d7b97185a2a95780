import type { DocumentStore } from "../../src/documents/contract.js";
import { type Measured, measureComparisons, roundsIn } from "../comparisons.js";
import type { Comparison } from "../measure.js";
import { openEmbedded, withFolder } from "../opened-stores.js";
import { ratioOver } from "../statistics.js";
import {
  type BenchRow,
  type BenchTable,
  comparedColumns,
  durabilityMeans,
  type TargetResult,
  target,
} from "../table.js";
import type { BenchWorld, Durability } from "../world.js";
import { hotKeyTable } from "./hot-key-table.js";
import { RawLevel, rawGet, rawPut, rawPutAndLog } from "./raw-level.js";
import { readCases } from "./read-cases.js";
import { writeComparisons } from "./write-cases.js";

const callersOf = { full: [1, 64, 512], quick: [1, 64, 512], tiny: [1, 4] } as const;

/**
 * What compare-and-swap costs over a plain write, what a write and a read cost over the database alone, and what becomes
 * of writes when many callers fight for one document. Embedded in this process.
 */
export async function* benchCas(world: BenchWorld): AsyncGenerator<BenchTable, void, undefined> {
  for (const durability of world.durabilities) {
    for (const callers of callersOf[world.size]) yield await casTable(world, durability, callers);
    yield await hotKeyTable(world, durability);
  }
}

async function casTable(world: BenchWorld, durability: Durability, callers: number): Promise<BenchTable> {
  const opened = await openEmbedded(world, durability);
  try {
    return await withFolder(world.folder, async (rawFolder) => {
      const raw = await RawLevel.open(rawFolder);
      try {
        const comparisons = await comparisonsOf(opened.store, raw, durability, callers);
        const { measured, rows } = await measureComparisons(comparisons, world, callers);
        return {
          group: "cas",
          title: `embedded in this process; ${callersText(callers)}; ${durabilityMeans[durability]}`,
          setting: { target: "embedded", durability, callers },
          columns: comparedColumns,
          rows,
          targets: callers === 1 ? targetsOf(measured, rows, durability) : [],
        };
      } finally {
        await raw.close();
      }
    });
  } finally {
    await opened.close();
  }
}

/** With one caller, the database alone takes its turns with ours. */
async function comparisonsOf(
  store: DocumentStore,
  raw: RawLevel,
  durability: Durability,
  callers: number,
): Promise<Comparison[]> {
  const [creating = [], ...others] = await writeComparisons(store, { shape: "written", callers });
  const reads = await readCases(store, "read");
  if (callers > 1) return [creating, ...others, reads];
  return [
    [rawPut(raw, durability), rawPutAndLog(raw, durability), ...creating],
    ...others,
    [await rawGet(raw), ...reads],
  ];
}

function targetsOf(measured: Measured, rows: readonly BenchRow[], durability: Durability): TargetResult[] {
  const overhead = rows.find((row) => row.case === "create-if-absent")?.values["overhead_us"] ?? Number.NaN;
  const ratio = (name: string, over: string): number => ratioOver(roundsIn(measured, over), roundsIn(measured, name));
  const conditional = `conditional create over plain put, embedded, one caller, median, ${durability}`;
  const get = `get, hit, of raw getSync plus decode, median, ${durability} store`;
  const targets = [
    target(conditional, overhead, "us", "at most", durability === "durable" ? 5 : 3),
    target(get, ratio("get-hit", "raw-level-get"), "x", "at most", 2),
  ];
  if (durability === "durable") {
    const put = "durable put of raw classic-level put with sync, one caller, median";
    targets.push(target(put, ratio("put-new", "raw-level-put"), "x", "at most", 1.15));
  }
  return targets;
}

function callersText(callers: number): string {
  return callers === 1 ? "1 caller" : `${callers} callers`;
}
