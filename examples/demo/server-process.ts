import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const cli = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

/** `oncekv serve` in a process of its own, on a free port, with a folder that is removed in the end. */
export class ServerProcess {
  readonly url: string;
  /** What it said when it was ready. */
  readonly firstLine: string;
  readonly #child: ChildProcess;
  readonly #folder: string;

  static async start(): Promise<ServerProcess> {
    const folder = await mkdtemp(join(tmpdir(), "oncekv-demo-"));
    const child = spawn(process.execPath, [...process.execArgv, cli, "serve", "--port", "0", "--data", folder], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let complaints = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaints += text;
    });
    // However this process ends, the server does not outlive it.
    process.once("exit", () => child.kill());
    const ended = once(child, "exit").then(() => "");
    const line = await Promise.race([once(createInterface(child.stdout), "line"), ended]);
    const firstLine = String(line[0] ?? "");
    const url = /http:\/\/[^\s,]+/.exec(firstLine)?.[0];
    if (url === undefined) throw new Error(`the server did not start: ${complaints}`);
    return new ServerProcess(child, folder, url, firstLine);
  }

  private constructor(child: ChildProcess, folder: string, url: string, firstLine: string) {
    this.#child = child;
    this.#folder = folder;
    this.url = url;
    this.firstLine = firstLine;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, "exit");
      this.#child.kill("SIGTERM");
      await ended;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}
