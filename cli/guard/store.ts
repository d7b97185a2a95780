import type { Command } from "commander";
import { type Clock, systemClock } from "../../src/base/clock.js";
import { OnceKvError } from "../../src/base/errors.js";
import type { ToolCalls } from "../../src/tool-calls/index.js";
import { type TargetOptions, withTarget } from "../target.js";

/** How long a folder may be held by a proxy that is on its way out: longer than it takes to end. */
const lockPatienceMs = 15_000;
const lockPauseMs = 100;

/**
 * Opens the calls of what the options name, acts on them, and closes the store. A locked folder is waited for.
 *
 * @param stopped resolves when this program is to end; the waiting ends, too
 * @throws OnceKvError `store_locked` when the folder stays locked, and what opening and acting throw
 */
export async function withGuardedCalls(
  command: Command,
  options: TargetOptions,
  stopped: Promise<unknown>,
  act: (calls: ToolCalls) => Promise<void>,
  clock: Clock = systemClock,
): Promise<void> {
  const until = clock.monotonicNow() + lockPatienceMs;
  let opened = false;
  let ends = false;
  void stopped.then(() => {
    ends = true;
  });
  while (!ends) {
    try {
      return await withTarget(command, options, { create: true, sweep: true }, async ({ store }) => {
        opened = true;
        const { toolCalls } = await import("../../src/tool-calls/index.js");
        const calls = toolCalls(store, { owner: `oncekv guard:${process.pid}` });
        try {
          await act(calls);
        } finally {
          await calls.close({ timeout: 2 });
        }
      });
    } catch (error) {
      if (opened || !(error instanceof OnceKvError) || error.code !== "store_locked") throw error;
      if (clock.monotonicNow() >= until) throw sharing(error);
    }
    const paused = new Promise<void>((resolve) => {
      clock.setTimer(lockPauseMs, resolve, { keepAlive: true });
    });
    await Promise.race([paused, stopped]);
  }
}

function sharing(error: OnceKvError): OnceKvError {
  return new OnceKvError(
    "store_locked",
    `${error.message}. Two proxies share their calls through a server: \`oncekv serve --data <folder>\`, and --url for both`,
    { cause: error },
  );
}
