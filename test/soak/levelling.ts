/** What one stretch of a soak run has left behind, measured when it was over. */
export interface Measured {
  /** Bytes of JavaScript objects, after a forced collection. */
  readonly heap: number;
  /** Bytes of buffers outside of the heap. */
  readonly buffers: number;
  /** Files and sockets that are open; 0 where nothing tells. */
  readonly files: number;
  /** What keeps the event loop busy: timers, sockets, requests. */
  readonly resources: number;
  /** Watchers and waiters that the store holds. */
  readonly watches: number;
  /** Bytes of the data folder, compacted. */
  readonly disk: number;
}

/**
 * How much the middle of the last third of a run may lie above the middle of the second, in each measure. Of nine stretches
 * that is three times what one of them may leave behind.
 */
export const slack: Measured = {
  heap: 3 * 1024 * 1024,
  buffers: 4 * 1024 * 1024,
  files: 12,
  resources: 12,
  watches: 12,
  // A quarter of what the load leaves there.
  disk: 64 * 1024,
};

/**
 * The measures that still grow at the end of a run. The first stretches fill caches, buffers and history, and do not
 * count: the median of the last third is compared with that of the second, so that neither one high stretch nor one low one
 * decides, and a steady leak shows with what it has left behind in a third of the run.
 */
export function growing(stretches: readonly Measured[]): string[] {
  const third = Math.floor(stretches.length / 3);
  const [middle, end] = [stretches.slice(third, 2 * third), stretches.slice(2 * third)];
  return (Object.keys(slack) as (keyof Measured)[]).flatMap((measure) => {
    const before = median(middle.map((one) => one[measure]));
    const after = median(end.map((one) => one[measure]));
    return after - before <= slack[measure] ? [] : [`${measure} grows from ${before} to ${after}`];
  });
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
