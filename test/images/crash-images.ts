import { ManualClock } from "../../src/base/manual-clock.js";
import { SeededRandom } from "../crash/seeded-random.js";
import { addCounts, type Counts } from "../torture/counts.js";
import type { Trial } from "../torture/trial.js";
import { checkImage, type Image, newestWritten } from "./checking.js";
import { CrashDisk, type Fault, type Weakness } from "./crash-disk.js";
import { play } from "./playing.js";
import { writeScript } from "./script.js";

/** How a piece of work is done. */
export interface Cutting {
  readonly durability: "durable" | "buffered";
  /** Steps of the script. */
  readonly length: number;
  /** Ways in which each call goes wrong, drawn from all; every way when it is left out. */
  readonly waysEach?: number;
  /** For showing that the checks can fail. */
  readonly weakness?: Weakness;
}

/** The ways in which a call goes wrong: the machine stops there, or the disk answers with an error. */
const kinds = ["stop before", "stop after", "EIO", "EIO after", "ENOSPC"] as const;

function faultAt(call: number, kind: (typeof kinds)[number]): Fault {
  const written = kind.endsWith("after");
  if (kind.startsWith("stop")) return { call, kind: "stop", written };
  const text = kind === "ENOSPC" ? "ENOSPC: no space left on device" : "EIO: i/o error";
  return { call, kind: new Error(text), written };
}

/**
 * Plays one script over and over, and lets something go wrong at each of its calls; the store is opened again over what
 * could have survived and compared with the model. Throws with the call, the kind and the image at the first violation.
 */
export async function cutEverywhere(random: SeededRandom, cutting: Cutting): Promise<Counts> {
  let counts: Counts = {};
  const count = (found: Counts): void => {
    counts = addCounts(counts, found);
  };
  const scriptSeed = random.below(2 ** 31);
  for (let call = 1; ; call++) {
    const ways = [...kinds];
    while (ways.length > (cutting.waysEach ?? ways.length)) ways.splice(random.below(ways.length), 1);
    for (const kind of ways) {
      const goesOn = await cutOnce(random, scriptSeed, cutting, faultAt(call, kind), kind, count);
      if (!goesOn) return counts;
    }
  }
}

/** False when the script ended before the call was reached. */
async function cutOnce(
  random: SeededRandom,
  scriptSeed: number,
  { durability, length, weakness }: Cutting,
  fault: Fault,
  kind: string,
  count: (found: Counts) => void,
): Promise<boolean> {
  const clock = new ManualClock();
  const script = writeScript(new SeededRandom(scriptSeed), length, clock.wallNow());
  const delays = new SeededRandom(random.below(2 ** 31));
  const disk = new CrashDisk({ fault, delays, ...(weakness === undefined ? {} : { weakness }) });
  const where = `${durability}, call ${fault.call}, ${kind}, script ${scriptSeed}`;
  const crash = async (work: () => Promise<Counts>, about: string): Promise<void> => {
    try {
      count(await work());
    } catch (error) {
      throw new Error(`${where}, ${about}: ${(error as Error).message}`, { cause: error });
    }
  };
  let played: Awaited<ReturnType<typeof play>> | undefined;
  await crash(async () => {
    played = await play(script, disk, clock, durability);
    const { answers, failures, backups } = played;
    return { runs: 1, answers, failures, backups };
  }, "while it ran");
  if (played === undefined) throw new Error("nothing was played");
  if (fault.kind !== "stop" && disk.callsAfterFault > 0) {
    throw new Error(`${where}: the store wrote ${disk.callsAfterFault} times after a batch had failed`);
  }
  for (const [about, image] of imagesOf(disk, played.revision, durability, random)) {
    const later = new ManualClock(clock.wallNow());
    // The wall clock of a machine that comes back may be off.
    if (random.below(4) === 0) later.stepWall(-3_600_000);
    await crash(() => checkImage(script, played ?? never(), image, durability, later, random), about);
  }
  return disk.calls >= fault.call;
}

function never(): never {
  throw new Error("nothing was played");
}

/** What a machine may come back with: after the process alone has gone, and after the power has. */
function* imagesOf(
  disk: CrashDisk,
  acknowledged: number,
  durability: "durable" | "buffered",
  random: SeededRandom,
): Generator<[about: string, image: Image]> {
  const { durable, journal } = disk;
  yield ["the process has gone", { content: disk.image(() => true), least: acknowledged, mayBeTorn: false }];
  // What was acknowledged in the durable mode is durable; in the buffered one, what the last sync has covered.
  const least = durability === "durable" ? acknowledged : newestWritten(disk, durable);
  const end = durable + random.below(journal.length - durable + 1);
  yield [
    `the power has gone behind batch ${end}`,
    { content: disk.image((index) => index < end), least, mayBeTorn: false },
  ];
  // LevelDB begins a new log file now and then. What was not synced at the end of the old one can be lost although
  // newer batches, in the new file, are there.
  const turn = 1 + random.below(Math.max(1, journal.length));
  let from = turn;
  while (from > 0 && journal[from - 1]?.synced === false) from -= 1;
  const lost = from + random.below(turn - from + 1);
  // A loss that reaches back to the beginning of the log cannot be told from a log that was cut there.
  if (lost === turn || newestWritten(disk, lost) === 0) return;
  const kept = (index: number): boolean => index < lost || (index >= turn && index < Math.max(end, turn));
  const promised = durability === "durable" ? acknowledged : newestWritten(disk, Math.min(durable, lost));
  const mayBeTorn = durability === "buffered";
  yield [
    `batches ${lost} to ${turn} went with an old log file`,
    { content: disk.image(kept), least: promised, mayBeTorn },
  ];
}

/** A piece of work for the long run: a script of its own, cut at every call, in both durabilities. */
export const crashImages: Trial = {
  name: "crash-images",
  async run(random) {
    const durable = await cutEverywhere(random, { durability: "durable", length: 40 });
    const buffered = await cutEverywhere(random, { durability: "buffered", length: 40 });
    const named = (counts: Counts, durability: string): [string, number][] =>
      Object.entries(counts).map(([what, number]) => [`${durability} ${what}`, number]);
    return Object.fromEntries([...named(durable, "durable"), ...named(buffered, "buffered")]);
  },
};
