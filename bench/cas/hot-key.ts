import type { DocumentStore } from "../../src/documents/contract.js";
import { isPreconditionFailed, WrongResultError } from "../checks.js";
import { percentile } from "../statistics.js";

/** What callers did who all change one document. */
export interface HotKeyRound {
  /** Writes that won. */
  readonly wins: number;
  readonly elapsedMs: number;
  /** How long each caller's change took, from its first read to its win, tries that lost included. */
  readonly untilWonMs: readonly number[];
  /** Changes of the caller that won least. */
  readonly fewestWins: number;
}

/**
 * Many callers, one document: each reads it, counts up, and writes it back if it still has the revision that was read;
 * who loses uses the document that the refusal carries and tries again at once. The count in the end must be the number
 * of wins: no change is lost, and none is made twice.
 */
export async function measureHotKey(
  store: DocumentStore,
  options: { readonly shape: string; readonly id: string; readonly callers: number; readonly winsPerCaller: number },
): Promise<HotKeyRound> {
  const { shape, id, callers, winsPerCaller } = options;
  const before = await counted(store, shape, id);
  const total = callers * winsPerCaller;
  const untilWonMs: number[] = [];
  const wins = new Array<number>(callers).fill(0);
  const begun = performance.now();
  await Promise.all(
    wins.map(async (_, caller) => {
      // All run until all has been done, so that contention stays the same to the end.
      while (untilWonMs.length < total) {
        const started = performance.now();
        if (!(await changeOnce(store, shape, id, () => untilWonMs.length >= total))) return;
        untilWonMs.push(performance.now() - started);
        wins[caller] = (wins[caller] ?? 0) + 1;
      }
    }),
  );
  const elapsedMs = performance.now() - begun;
  const after = await counted(store, shape, id);
  if (after - before !== untilWonMs.length) {
    throw new WrongResultError(`hot key: ${untilWonMs.length} changes won, but the document counts ${after - before}`);
  }
  return { wins: untilWonMs.length, elapsedMs, untilWonMs, fewestWins: Math.min(...wins) };
}

/** The time within which 99 of 100 changes won, in milliseconds. */
export function p99UntilWonMs(rounds: readonly HotKeyRound[]): number {
  return percentile(Float64Array.from(rounds.flatMap((round) => round.untilWonMs)).sort(), 0.99);
}

/** One change; false when it was given up because all is done. */
async function changeOnce(store: DocumentStore, shape: string, id: string, isDone: () => boolean): Promise<boolean> {
  let document = await store.getDocument(shape, id);
  for (;;) {
    if (document === undefined) throw new WrongResultError(`hot key: ${id} is gone`);
    const count = document.fields["count"] as number;
    try {
      await store.put({ shape, id, set: { count: count + 1 }, if_match: { revision: document.revision } });
      return true;
    } catch (error) {
      if (!isPreconditionFailed(error)) throw error;
      if (isDone()) return false;
      document = error.failures[0]?.current ?? undefined;
    }
  }
}

async function counted(store: DocumentStore, shape: string, id: string): Promise<number> {
  const fields = await store.get(shape, id);
  if (fields !== undefined) return fields["count"] as number;
  await store.put({ shape, id, set: { count: 0 }, if_match: { exists: false } });
  return 0;
}
