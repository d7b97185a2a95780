import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { EmbeddedStore } from "../../src/level/embedded-store.js";
import { readCases } from "../cas/read-cases.js";
import { writeComparisons } from "../cas/write-cases.js";
import { serveParent } from "../child.js";
import { type MeasuredCase, measureRound, type RoundPlan } from "../measure.js";
import type { Round } from "../statistics.js";
import type { Durability } from "../world.js";

/** What the process of one build is asked to open. */
export interface OpeningBuild {
  /** A checkout's `dist`. */
  readonly build: string;
  readonly folder: string;
  readonly durability: Durability;
  readonly callers: number;
  /** A case of the group cas. */
  readonly name: string;
}

/** A round, and the processor time of the whole process that an operation took in it, checks included. */
export interface BuildRound {
  readonly round: Round;
  readonly processorUs: number;
}

/** What the parent may call. */
export type BuildProcessMethods = {
  readonly open: (options: OpeningBuild) => Promise<void>;
  readonly round: (plan: RoundPlan & { readonly callers: number }) => Promise<BuildRound>;
};

let store: EmbeddedStore | undefined;
let dataDir: string | undefined;
let measured: MeasuredCase | undefined;

const methods: BuildProcessMethods = {
  async open({ build, folder, durability, callers, name }) {
    const { openStore } = (await import(
      pathToFileURL(join(build, "src/index.js")).href
    )) as typeof import("../../src/index.js");
    dataDir = await mkdtemp(join(folder, "oncekv-bench-"));
    store = await openStore({ dataDir, durability });
    const writes = await writeComparisons(store, { shape: "written", callers });
    const cases = [...writes, await readCases(store, "read")].flat();
    measured = cases.find((one) => one.name === name);
    if (measured === undefined) {
      throw new Error(`there is no case ${name}; known are ${cases.map((one) => one.name).join(", ")}`);
    }
  },
  async round(plan) {
    if (measured === undefined) throw new Error("nothing is open");
    const before = process.cpuUsage();
    const round = await measureRound(measured, plan);
    const { user, system } = process.cpuUsage(before);
    await measured.check();
    return { round, processorUs: (user + system) / round.latenciesMs.length };
  },
};

serveParent(methods, async () => {
  await store?.close();
  if (dataDir !== undefined) await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
});
