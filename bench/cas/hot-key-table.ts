import { openEmbedded } from "../opened-stores.js";
import { type BenchRow, type BenchTable, type Column, durabilityMeans, target } from "../table.js";
import type { BenchWorld, Durability, SizeName } from "../world.js";
import { type HotKeyRound, measureHotKey, p99UntilWonMs } from "./hot-key.js";

const sizes: {
  readonly [size in SizeName]: { readonly callers: number; readonly wins: number; readonly rounds: number };
} = {
  full: { callers: 64, wins: 640, rounds: 10 },
  quick: { callers: 64, wins: 256, rounds: 4 },
  tiny: { callers: 4, wins: 8, rounds: 1 },
};

const columns: readonly Column[] = [
  { key: "winners_per_second", heading: "winners/s", digits: 0 },
  { key: "until_won_p99_ms", heading: "p99 until won, ms", digits: 1 },
  { key: "fewest_wins", heading: "fewest wins of a caller", digits: 0 },
];

/** One document that everybody changes: one caller alone against many, in turns. */
export async function hotKeyTable(world: BenchWorld, durability: Durability): Promise<BenchTable> {
  const { callers, wins, rounds } = sizes[world.size];
  const alone: HotKeyRound[] = [];
  const together: HotKeyRound[] = [];
  const { store, close } = await openEmbedded(world, durability);
  try {
    const round = (count: number): Promise<HotKeyRound> =>
      measureHotKey(store, { shape: "hot", id: "counter", callers: count, winsPerCaller: Math.ceil(wins / count) });
    await round(callers);
    for (let number = 0; number < rounds; number++) {
      world.signal.throwIfAborted();
      alone.push(await round(1));
      together.push(await round(callers));
    }
  } finally {
    await close();
  }
  const title = `hot key, every caller reads, counts up and writes one document if its revision still stands`;
  return {
    group: "cas",
    title: `${title}; embedded; ${durabilityMeans[durability]}`,
    setting: { target: "embedded", durability, table: "hot-key" },
    columns,
    rows: [hotKeyRow("1 caller", alone), hotKeyRow(`${callers} callers`, together)],
    targets:
      durability === "durable"
        ? [
            target(
              `hot key, winners/s of ${callers} callers, of one caller alone`,
              winnersPerSecond(together) / winnersPerSecond(alone),
              "x",
              "at least",
              1,
            ),
          ]
        : [],
  };
}

function hotKeyRow(name: string, rounds: readonly HotKeyRound[]): BenchRow {
  return {
    case: name,
    values: {
      winners_per_second: winnersPerSecond(rounds),
      until_won_p99_ms: p99UntilWonMs(rounds),
      fewest_wins: Math.min(...rounds.map((round) => round.fewestWins)),
    },
  };
}

function winnersPerSecond(rounds: readonly HotKeyRound[]): number {
  const wins = rounds.reduce((sum, round) => sum + round.wins, 0);
  return (wins / rounds.reduce((sum, round) => sum + round.elapsedMs, 0)) * 1000;
}
