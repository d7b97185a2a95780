import type { Level } from "./level.js";

const entriesAtATime = 256;

/**
 * Visits every entry that LevelDB still gives, forward or backward, and goes on behind what it cannot read. LevelDB
 * itself passes over a block that it cannot read and says so only at the end, at the cost of what it had just read: then
 * the rest is read entry by entry.
 *
 * Damage in a key can make the keys seem out of order, and LevelDB passes over those that seem older news. What one
 * direction hides is there in the other.
 *
 * @returns whether everything could be read
 */
export async function readAround(
  level: Level,
  direction: { readonly reverse: boolean },
  visit: (key: Buffer, value: Buffer) => Promise<void> | void,
): Promise<boolean> {
  let last: Buffer | undefined;
  let isWhole = true;
  for (;;) {
    const bounds = last === undefined ? {} : direction.reverse ? { lt: last } : { gt: last };
    const iterator = level.iterator<Buffer, Buffer>({ ...bounds, ...direction });
    try {
      for (;;) {
        let entries: [Buffer, Buffer][];
        try {
          entries = await iterator.nextv(isWhole ? entriesAtATime : 1);
        } catch {
          if (!isWhole) return false;
          isWhole = false;
          break;
        }
        if (entries.length === 0) return isWhole;
        for (const [key, value] of entries) {
          await visit(key, value);
          last = key;
        }
      }
    } finally {
      await iterator.close();
    }
  }
}
