import { setTimeout } from "node:timers/promises";

/** How long the processors are watched at a time. */
const watchedMs = 10;

/** The part of that time during which a quiet process may run. */
const quietPart = 0.2;

/**
 * Waits until this process has nothing left to do in the background, so that what one peer puts off (a compaction, say)
 * is not done while the next one is measured. What it puts off within its own round is part of the round.
 *
 * @param msMax how long to wait at most; 0: not at all
 */
export async function quietDown(msMax: number): Promise<void> {
  const deadline = performance.now() + msMax;
  while (performance.now() < deadline) {
    const before = process.cpuUsage();
    await setTimeout(watchedMs);
    const { user, system } = process.cpuUsage(before);
    if ((user + system) / 1000 < watchedMs * quietPart) return;
  }
}
