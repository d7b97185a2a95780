import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { MissingPeerError } from "./peer.js";

/** A server of somebody else's that listens on the loopback address. */
export interface LocalServer {
  readonly port: number;
  /** Ends it in order, or by force when it does not end in ten seconds. */
  stop(): Promise<void>;
}

/** A port that was free may be taken by another process before the server listens. */
const attempts = 3;
const startTimeoutMs = 30_000;
const stopTimeoutMs = 10_000;

/**
 * Starts a server on free ports of the loopback address and waits until it listens on the first of them.
 *
 * @param argsFor the command line's arguments for these ports
 */
export async function startLocalServer(
  command: string,
  options: { readonly ports: number; argsFor(ports: readonly number[]): readonly string[] },
): Promise<LocalServer> {
  for (let attempt = 1; ; attempt++) {
    const ports = await freePorts(options.ports);
    const server = new StartedServer(command, options.argsFor(ports));
    const port = ports[0] ?? 0;
    try {
      await server.listensOn(port);
      return { port, stop: () => server.stop() };
    } catch (error) {
      await server.stop();
      if (attempt === attempts) throw error;
    }
  }
}

/** What a program says of itself, for its version. @throws MissingPeerError when there is no such program */
export async function askProgram(command: string, args: readonly string[], install: string): Promise<string> {
  try {
    return (await promisify(execFile)(command, [...args])).stdout;
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === "ENOENT" ? "is not installed" : "cannot be started";
    throw new MissingPeerError(`${command} ${reason} (${install})`, { cause: error });
  }
}

class StartedServer {
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  #hasEnded = false;
  #said = "";
  /** This process must not leave the server behind, whatever ends it. */
  readonly #killAtExit = (): void => {
    this.#process.kill("SIGKILL");
  };

  constructor(
    readonly command: string,
    args: readonly string[],
  ) {
    // In a process group of its own: an interrupt at the terminal ends the run, which then ends the server.
    this.#process = spawn(command, [...args], { detached: true, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#said = (this.#said + text).slice(-4096);
      });
    }
    process.once("exit", this.#killAtExit);
    this.#ended = once(this.#process, "close").catch((error: Error) => {
      this.#said += error.message;
    });
    void this.#ended.then(() => {
      this.#hasEnded = true;
      process.removeListener("exit", this.#killAtExit);
    });
  }

  async listensOn(port: number): Promise<void> {
    const deadline = performance.now() + startTimeoutMs;
    while (!(await accepts(port))) {
      if (this.#hasEnded) throw new Error(`${this.command} ended instead of listening: ${this.#said.trim()}`);
      if (performance.now() > deadline) throw new Error(`${this.command} does not listen: ${this.#said.trim()}`);
      await setTimeout(10);
    }
  }

  async stop(): Promise<void> {
    this.#process.kill("SIGTERM");
    const waited = new AbortController();
    const late = setTimeout(stopTimeoutMs, undefined, { signal: waited.signal }).then(
      () => this.#process.kill("SIGKILL"),
      () => {},
    );
    await this.#ended;
    waited.abort();
    await late;
  }
}

/** Ports that nobody listens on. They are all held at the same time, so they differ. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as { readonly port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
