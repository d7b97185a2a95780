import { setMaxListeners } from "node:events";

/**
 * Calls `callback` when the signal aborts, at once when it has, and returns a function that stops listening. Many calls
 * may share one signal, as when a run of an agent has one: Node's warning about more than ten listeners does not apply.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => {};
  if (signal.aborted) {
    callback();
    return () => {};
  }
  setMaxListeners(0, signal);
  signal.addEventListener("abort", callback, { once: true });
  return () => signal.removeEventListener("abort", callback);
}
