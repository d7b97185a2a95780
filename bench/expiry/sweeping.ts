import { setTimeout as pause } from "node:timers/promises";
import type { EmbeddedStore } from "../../src/level/embedded-store.js";
import { WrongResultError } from "../checks.js";
import { ScatteredIds } from "../claim-documents.js";
import { untilStill } from "../folder-state.js";
import { loadDocuments } from "../loading.js";
import { numberedFields } from "../numbered-documents.js";
import { withFolder } from "../opened-stores.js";
import type { Round } from "../statistics.js";
import type { BenchWorld } from "../world.js";
import { Claiming } from "./claiming.js";
import type { DeadlineKind } from "./deadlines.js";
import { expiringId, followExpiries } from "./expire-events.js";
import { SkippingClock } from "./skipping-clock.js";

/** What is measured, and for how long. */
export interface SweepPlan {
  readonly documents: number;
  readonly callers: number;
  /** Milliseconds of claims without a sweep, before it and again after it. */
  readonly quietMs: number;
  /** See `untilStill`. */
  readonly stillMs: number;
}

export interface SweepResult {
  /** Claims while nothing was due: before the sweep, and after it. */
  readonly quiet: readonly Round[];
  readonly sweeping: Round;
  /** From the moment that all documents had expired to the last one's event, in milliseconds. */
  readonly sweptMs: number;
}

/** How many documents are loaded between two looks at the signal. */
const loadedAtOnce = 50_000;

/** The sweep is given up when it is slower than this many documents a second, and ten seconds. */
const slowestPerSecond = 1000;

/**
 * Fills a durable store with documents that expire, opens it again, and lets all of them expire while callers claim.
 * The store's own sweeper takes them off the disk.
 */
export function measureSweep(world: BenchWorld, kind: DeadlineKind, plan: SweepPlan): Promise<SweepResult> {
  return withFolder(world.folder, async (dataDir) => {
    const clock = new SkippingClock();
    const open = (): Promise<EmbeddedStore> => world.code.openStore({ dataDir, durability: "durable", clock });
    const loaded = await open();
    try {
      await load(loaded, world, kind, plan.documents);
      await untilStill(dataDir, { stillMs: plan.stillMs, signal: world.signal });
    } finally {
      await loaded.close();
    }
    const store = await open();
    try {
      await untilStill(dataDir, { stillMs: plan.stillMs, signal: world.signal });
      return await sweepLoaded(store, clock, world, kind, plan);
    } finally {
      await store.close();
    }
  });
}

async function load(store: EmbeddedStore, world: BenchWorld, kind: DeadlineKind, documents: number): Promise<void> {
  for (let from = 0; from < documents; from += loadedAtOnce) {
    world.signal.throwIfAborted();
    const to = Math.min(documents, from + loadedAtOnce);
    const document = (number: number) => ({ id: expiringId(number), fields: numberedFields(number), ttl: kind.ttl });
    await loadDocuments(store, { shape: "expiring", from, to, document });
    world.say(`loaded ${to} of ${documents} documents that expire`);
  }
}

/** @param store holds documents that have not expired yet, and nothing else */
export async function sweepLoaded(
  store: EmbeddedStore,
  clock: SkippingClock,
  world: Pick<BenchWorld, "signal" | "say">,
  kind: DeadlineKind,
  { documents, callers, quietMs }: SweepPlan,
): Promise<SweepResult> {
  const { signal } = world;
  const claiming = new Claiming(store, { shape: "claim", ids: new ScatteredIds(), ttl: kind.claimTtl, callers });
  const quietly = (ms: number): Promise<Round> => claiming.until(pause(ms, undefined, { signal }));
  // Not counted: code is compiled in it.
  await quietly(quietMs / 4);
  const before = await quietly(quietMs);

  const patience = AbortSignal.timeout(10_000 + (documents / slowestPerSecond) * 1000);
  const commits = store.watch({ shape: "expiring", signal: AbortSignal.any([signal, patience]) });
  world.say(`sweeping ${documents} documents`);
  clock.skip(kind.skipMs);
  const begun = performance.now();
  const swept = followExpiries(commits, documents).then(() => performance.now() - begun);
  const sweeping = await claiming.until(swept);

  const after = await quietly(quietMs);
  await checkSwept(store, claiming.won);
  return { quiet: [before, after], sweeping, sweptMs: await swept };
}

/** Throws unless nothing but the claims is left on disk. */
export async function checkSwept(store: Pick<EmbeddedStore, "sweep" | "verify">, claims: number): Promise<void> {
  const late = await store.sweep();
  if (late > 0) throw new WrongResultError(`${late} expiries were told of before the documents had gone`);
  const { ok, documents, expiry_entries, problems } = await store.verify();
  if (!ok) throw new WrongResultError(`the store is damaged after the sweep: ${problems.join("; ")}`);
  if (documents !== claims || expiry_entries > claims) {
    throw new WrongResultError(
      `${claims} claims must be left on disk, but ${documents} documents and ${expiry_entries} deadlines are`,
    );
  }
}
