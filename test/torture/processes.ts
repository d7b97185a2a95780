import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Starts a TypeScript file in a process of its own, to be talked to by messages. */
export function startProcess(file: URL): ChildProcess {
  return fork(fileURLToPath(file), [], {
    execArgv: ["--import", "tsx"],
    serialization: "advanced",
  });
}

/** Sends a message and waits for the next one that comes back. Rejects when the process ends instead. */
export async function ask<Answer>(child: ChildProcess, message: object): Promise<Answer> {
  const ended = new AbortController();
  try {
    const answer = once(child, "message", { signal: ended.signal });
    const exit = once(child, "exit", { signal: ended.signal }).then(([code, signal]) => {
      throw new Error(`the process has ended with ${code ?? signal}`);
    });
    child.send(message);
    const [given]: unknown[] = (await Promise.race([answer, exit])) as unknown[];
    return given as Answer;
  } finally {
    ended.abort();
  }
}

/** Kills a process by its id, and waits until it is gone. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
