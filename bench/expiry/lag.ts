import type { Commit } from "../../src/documents/contract.js";
import { WrongResultError } from "../checks.js";
import { numberedFields } from "../numbered-documents.js";
import { withFolder } from "../opened-stores.js";
import type { BenchWorld } from "../world.js";
import type { DeadlineKind } from "./deadlines.js";
import { expiringId, followExpiries } from "./expire-events.js";
import { SkippingClock } from "./skipping-clock.js";

/** Documents that expire one after the other. */
export interface TricklePlan {
  readonly documents: number;
  /** Milliseconds until the first one expires; they are written within it. */
  readonly leadMs: number;
  /** Milliseconds between two deadlines. */
  readonly apartMs: number;
}

/** Milliseconds beyond the last deadline after which missing events are given up. */
const patienceMs = 30_000;

/**
 * Measures how long after its deadline a watcher hears of an expiry, by the store's own clock, in a durable store that
 * does nothing else.
 *
 * @returns the lags in milliseconds, ascending
 */
export function measureLag(world: BenchWorld, kind: DeadlineKind, plan: TricklePlan): Promise<Float64Array> {
  const { documents, leadMs, apartMs } = plan;
  return withFolder(world.folder, async (dataDir) => {
    const clock = new SkippingClock();
    const store = await world.code.openStore({ dataDir, durability: "durable", clock });
    try {
      const patience = AbortSignal.timeout(leadMs + documents * apartMs + patienceMs);
      const commits = store.watch({ shape: "expiring", signal: AbortSignal.any([world.signal, patience]) });
      const deadlines: number[] = [];
      for (let number = 0; number < documents; number++) {
        world.signal.throwIfAborted();
        const ttl = (kind.trickleSkipMs + leadMs + number * apartMs) / 1000;
        const write = { shape: "expiring", id: expiringId(number), set: numberedFields(number), ttl };
        deadlines.push(Date.parse((await store.put(write)).expires_at ?? ""));
      }
      clock.skip(kind.trickleSkipMs);
      const lags = new Float64Array(documents);
      await followExpiries(withoutPuts(commits), documents, (number) => {
        lags[number] = lagOf(deadlines[number], store.now());
      });
      return lags.sort();
    } finally {
      await store.close();
    }
  });
}

/** The commits without the writes of the documents themselves, which the watch shows too. */
async function* withoutPuts(commits: AsyncIterable<Commit>): AsyncGenerator<Commit> {
  for await (const { revision, changes } of commits) {
    yield { revision, changes: changes.filter(({ type }) => type !== "put") };
  }
}

/** Throws when the event was there before the deadline: the document was still to be seen. */
export function lagOf(deadline: number | undefined, now: number): number {
  const lag = now - (deadline ?? Number.NaN);
  if (lag >= 0) return lag;
  throw new WrongResultError(`the expiry of a document was told of ${-lag} ms before its deadline`);
}
