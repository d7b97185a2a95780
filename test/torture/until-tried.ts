type Counts = { readonly [what: string]: number };

/**
 * Repeats a piece of random work until it has tried everything often enough, and returns the sums: what one seed happens not
 * to try, a test must neither pass over nor fail for.
 *
 * @param floors how often what must have been tried
 * @param piecesMax after so many pieces it gives up: then what is asked for is not tried at all
 */
export async function untilTried(floors: Counts, piecesMax: number, piece: () => Promise<Counts>): Promise<Counts> {
  const sums: { [what: string]: number } = {};
  for (let done = 0; done < piecesMax; done++) {
    for (const [what, count] of Object.entries(await piece())) sums[what] = (sums[what] ?? 0) + count;
    if (Object.entries(floors).every(([what, floor]) => (sums[what] ?? 0) >= floor)) return sums;
  }
  throw new Error(`tried too little in ${piecesMax} pieces: ${JSON.stringify(sums)}, not ${JSON.stringify(floors)}`);
}
