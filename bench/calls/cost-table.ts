import type { DocumentStore } from "../../src/documents/contract.js";
import { writeComparisons } from "../cas/write-cases.js";
import { type Comparison, measureInterleaved } from "../measure.js";
import { openEmbedded, openOverHttp } from "../opened-stores.js";
import { type Round, ratioOver } from "../statistics.js";
import { type BenchRow, type BenchTable, type Column, durabilityMeans, timedColumns, timedRow } from "../table.js";
import type { BenchWorld, Durability } from "../world.js";
import { withCalls } from "./begun-calls.js";
import { CallNumbers, freshCalls, replayedCalls } from "./protocol-cases.js";

/** Where calls are made, and by how many callers at a time. */
export interface CostSetting {
  readonly where: "embedded" | "http";
  readonly durability: Durability;
  readonly callers: number;
}

const columns: readonly Column[] = [...timedColumns, { key: "puts", heading: "of a put, x", digits: 2 }];

/** Completed calls that are replayed, by turns. */
const replayed = 64;

/** What a call costs around a tool that takes no time, beside the plain puts of a reader's own way of doing it. */
export async function costTable(world: BenchWorld, setting: CostSetting): Promise<BenchTable> {
  const { where, durability, callers } = setting;
  const opened = await (where === "embedded" ? openEmbedded : openOverHttp)(world, durability);
  try {
    const [names, rounds] = await withCalls(world.code.toolCalls(opened.store), async (calls) => {
      const numbers = new CallNumbers();
      const plain = await plainWrites(opened.store, callers);
      const cases = [...plain, freshCalls(calls, numbers), await replayedCalls(calls, numbers, replayed)];
      const measured = await measureInterleaved(cases, { ...world.rounds, callers, signal: world.signal });
      return [cases.map(({ name }) => name), measured] as const;
    });
    const put = rounds[names.indexOf("put-new")];
    if (put === undefined) throw new Error("there is no plain put to compare with");
    const place = where === "embedded" ? "embedded in this process" : "over HTTP, the server in a process of its own";
    return {
      group: "calls",
      title: `tool calls whose tool takes no time; ${place}; ${callersText(callers)}; ${durabilityMeans[durability]}`,
      setting: { measures: "cost", target: where, durability, callers },
      columns,
      rows: names.map((name, index) => costRow(name, rounds[index] ?? [], put)),
      targets: [],
    };
  } finally {
    await opened.close();
  }
}

/** A put and a create-if-absent of new documents. */
async function plainWrites(store: DocumentStore, callers: number): Promise<Comparison> {
  const [creating = []] = await writeComparisons(store, { shape: "put", callers });
  return creating;
}

function costRow(name: string, rounds: readonly Round[], put: readonly Round[]): BenchRow {
  const { values, ...row } = timedRow(name, rounds);
  return { ...row, values: { ...values, puts: ratioOver(put, rounds) } };
}

function callersText(count: number): string {
  return count === 1 ? "1 caller" : `${count} callers`;
}
