import { setMaxListeners } from "node:events";
import type { Clock } from "../src/base/clock.js";

/** Marks a signal as one that many calls listen to, so that Node takes their listeners for no leak. Returns it. */
export function sharedSignal(signal: AbortSignal): AbortSignal {
  if (signal instanceof EventTarget) setMaxListeners(0, signal);
  return signal;
}

/** Settles as `promise` does, or rejects with the reason of the first signal that aborts before. */
export function unlessAborted<T>(promise: Promise<T>, signals: readonly AbortSignal[]): Promise<T> {
  if (signals.length === 0) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = function (this: AbortSignal): void {
      end();
      reject(this.reason);
    };
    const end = (): void => {
      for (const signal of signals) signal.removeEventListener("abort", onAbort);
    };
    for (const signal of signals) {
      if (signal.aborted) {
        end();
        reject(signal.reason);
        return;
      }
      signal.addEventListener("abort", onAbort);
    }
    promise.then(
      (value) => {
        end();
        resolve(value);
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
  });
}

/** Resolves after `delayMs`, or rejects with the reason of the first signal that aborts before. */
export async function pause(clock: Clock, delayMs: number, signals: readonly AbortSignal[]): Promise<void> {
  let cancel: (() => void) | undefined;
  const elapsed = new Promise<void>((resolve) => {
    cancel = clock.setTimer(delayMs, resolve, { keepAlive: true });
  });
  try {
    await unlessAborted(elapsed, signals);
  } finally {
    cancel?.();
  }
}
