import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** `oncekv serve` in a process of its own. */
export interface ServerProcess {
  readonly url: string;
  /** Ends it with SIGTERM. Rejects with what it has said when it does not end in order. */
  stop(): Promise<void>;
}

/**
 * The thread pool of every process that holds a store here. The installed executable sets as many for itself; the sources
 * run without it, and a server that ours is compared with must have no more and no less.
 */
export const storeEnvironment: { readonly [name: string]: string } = { UV_THREADPOOL_SIZE: "16" };

/** Starts a server on a free port of the loopback address and waits until it listens. */
export async function startServer(options: {
  readonly commandLine: readonly string[];
  readonly dataDir: string;
  readonly durability: string;
}): Promise<ServerProcess> {
  const { commandLine, dataDir, durability } = options;
  const serve = ["serve", "--port", "0", "--data", dataDir, "--durability", durability, "--json"];
  const child = spawn(process.execPath, [...commandLine, ...serve], {
    env: { ...process.env, ...storeEnvironment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  // Read to the end, so that the server never waits for room to write its log.
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  const failed = ended.then(([code, signal]): never => {
    throw new Error(`the server ended with ${signal ?? `code ${code}`}: ${said.trim()}`);
  });
  // Who asks hears of it; until then it is nobody's unhandled rejection.
  failed.catch(() => {});
  const [line] = (await Promise.race([once(lines, "line"), failed])) as [string];
  const { url } = JSON.parse(line) as { url: string };
  return {
    url,
    async stop() {
      child.kill("SIGTERM");
      const [code] = await ended;
      if (code !== 0) await failed;
    },
  };
}
