import { loadPackage } from "../../bench/package-code.js";
import type { BenchTable } from "../../bench/table.js";
import { type BenchWorld, roundsOf } from "../../bench/world.js";

/** What a group is given to show, in a few operations, that it works. Its stores are made in `folder`. */
export async function tinyWorld(folder: string, changes: Partial<BenchWorld> = {}): Promise<BenchWorld> {
  return {
    code: await loadPackage("sources"),
    codeForm: "sources",
    folder,
    size: "tiny",
    rounds: roundsOf.tiny,
    large: false,
    durabilities: ["durable", "buffered"],
    signal: new AbortController().signal,
    say: () => {},
    ...changes,
  };
}

/** All tables of a group, read to the end. */
export async function tablesOf(group: AsyncIterable<BenchTable>): Promise<BenchTable[]> {
  const tables: BenchTable[] = [];
  for await (const table of group) tables.push(table);
  return tables;
}
