import { watch } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../src/base/clock.js";

/** Calls `listener` when something in the folder may have changed, until it is closed. May throw; tests pass their own. */
export type WatchFolder = (folder: string, listener: () => void) => { close(): void };

export interface WatchedFilesOptions {
  readonly clock: Clock;
  /** The system's when absent. */
  readonly watchFolder?: WatchFolder;
}

/** Milliseconds from a change to the look at it: whoever writes a file in pieces, or two files, is mostly done then. */
const settleMs = 100;

/** Milliseconds between looks that nothing has asked for: some file systems, and some mounts, tell of no change. */
export const unaskedLookMs = 5000;

/**
 * Calls `look` when files may have changed, never twice at the same time, and once in the beginning. The folders are
 * watched and not the files, since a file is replaced by renaming another onto it, and a link by another link. What `look`
 * finds is its own matter: it must bear being called without any change, and must not reject.
 */
export class WatchedFiles {
  readonly #look: () => Promise<void>;
  readonly #clock: Clock;
  readonly #watchers: { close(): void }[] = [];
  #cancelSettling: (() => void) | undefined;
  #cancelUnasked: () => void = () => {};
  #looking: Promise<void> | undefined;
  #looksAgain = false;
  #closed = false;

  constructor(
    files: readonly string[],
    look: () => Promise<void>,
    { clock, watchFolder = systemWatch }: WatchedFilesOptions,
  ) {
    this.#look = look;
    this.#clock = clock;
    for (const folder of new Set(files.map((file) => dirname(file)))) {
      try {
        this.#watchers.push(watchFolder(folder, () => this.#changed()));
      } catch {
        // Too many watches on this machine, or a folder that is not there: the unasked looks remain.
      }
    }
    this.#lookNow();
  }

  /** Ends it; a look that is under way ends first. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const watcher of this.#watchers) watcher.close();
    this.#cancelSettling?.();
    this.#cancelUnasked();
    await this.#looking;
  }

  #changed(): void {
    if (this.#closed || this.#cancelSettling !== undefined) return;
    this.#cancelSettling = this.#clock.setTimer(settleMs, () => {
      this.#cancelSettling = undefined;
      this.#lookNow();
    });
  }

  #lookNow(): void {
    if (this.#looking !== undefined) {
      this.#looksAgain = true;
      return;
    }
    this.#cancelUnasked();
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined;
      if (this.#closed) return;
      this.#cancelUnasked = this.#clock.setTimer(unaskedLookMs, () => this.#lookNow());
      if (!this.#looksAgain) return;
      this.#looksAgain = false;
      this.#lookNow();
    });
  }
}

function systemWatch(folder: string, listener: () => void): { close(): void } {
  const watcher = watch(folder, { persistent: false }, listener);
  // A folder that is taken away; the unasked looks remain.
  watcher.on("error", () => watcher.close());
  return watcher;
}
