import { addCounts, type Counts } from "./counts.js";

/**
 * Repeats a piece of random work until it has tried everything often enough, and returns the sums: what one seed happens not
 * to try, a test must neither pass over nor fail for.
 *
 * @param floors how often what must have been tried
 * @param piecesMax after so many pieces it gives up: then what is asked for is not tried at all
 */
export async function untilTried(floors: Counts, piecesMax: number, piece: () => Promise<Counts>): Promise<Counts> {
  let sums: Counts = {};
  for (let done = 0; done < piecesMax; done++) {
    sums = addCounts(sums, await piece());
    const reached = sums;
    if (Object.entries(floors).every(([what, floor]) => (reached[what] ?? 0) >= floor)) return reached;
  }
  throw new Error(`tried too little in ${piecesMax} pieces: ${JSON.stringify(sums)}, not ${JSON.stringify(floors)}`);
}
