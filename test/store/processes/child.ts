import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process that runs one of the files beside this one. */
export interface Child {
  readonly ended: Promise<Ended>;
  /** What it has printed so far. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
}

/** Starts a TypeScript file of this folder in a Node process of its own. */
export function startChild(file: string, args: readonly string[]): Child {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", path, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { ended, output: () => stdout, kill: (signal) => child.kill(signal) };
}

/** Runs a file of this folder to its end; its output, if it ended well. */
export async function runChild(file: string, args: readonly string[]): Promise<string> {
  const { code, signal, stdout, stderr } = await startChild(file, args).ended;
  if (code !== 0) throw new Error(`${file} ended with ${code ?? signal}: ${stderr}`);
  return stdout;
}
