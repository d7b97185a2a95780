/** What of a process is needed to hear its signals. */
export interface SignalSource {
  once(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  off(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
}

/** What is closed when a signal comes. */
export interface Closeable {
  close(): Promise<void>;
}

const signals: readonly NodeJS.Signals[] = ["SIGTERM", "SIGINT"];

/**
 * Closes a server at the first SIGTERM or SIGINT. Resolves with that signal once all is closed, and rejects when closing
 * fails. A second signal does what it does without us and ends the process.
 *
 * @param source this process when absent
 */
export function closeOnSignals(server: Closeable, source: SignalSource = process): Promise<NodeJS.Signals> {
  return new Promise((resolve, reject) => {
    const onSignal = (signal: NodeJS.Signals): void => {
      for (const other of signals) source.off(other, onSignal);
      server.close().then(() => resolve(signal), reject);
    };
    for (const signal of signals) source.once(signal, onSignal);
  });
}
