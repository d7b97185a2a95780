import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { commandLineOf } from "../../bench/package-code.js";
import { runCommandLine } from "../../cli/program.js";
import { harmless, type Terminal } from "../../cli/terminal.js";

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const root = fileURLToPath(new URL("../..", import.meta.url));
/** The built executable where it is as new as its sources, since it starts several times faster; else the sources. */
const command = await commandLineOf("built").catch(() => commandLineOf("sources"));

/** What one command has said, and how it ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Takes no words, and gives none. */
export const silentTerminal: Terminal = {
  print: async () => {},
  note: () => {},
  readInput: async () => Buffer.alloc(0),
  columns: undefined,
  progress: { isTerminal: false, write: () => {} },
};

/** Runs one command in this process, which costs a hundredth of a process of its own. */
export async function runCli(args: readonly string[], stdin: string | Buffer = ""): Promise<Ended> {
  let stdout = "";
  let stderr = "";
  const terminal: Terminal = {
    ...silentTerminal,
    print: async (text) => {
      stdout += `${harmless(text)}\n`;
    },
    note: (text) => {
      stderr += `${harmless(text)}\n`;
    },
    readInput: async (bytesMax) => {
      const bytes = Buffer.from(stdin);
      if (bytes.length > bytesMax) throw new RangeError(`the standard input holds more than ${bytesMax} bytes`);
      return bytes;
    },
  };
  const code = await runCommandLine(args, terminal);
  return { code, stdout, stderr };
}

/** Starts the command line in a process of its own. */
export function startCli(args: readonly string[], env: { readonly [name: string]: string } = {}): Child {
  const { ONCEKV_URL, ONCEKV_TOKEN, ...rest } = process.env;
  return spawn(process.execPath, [...command, ...args], {
    cwd: root,
    env: { ...rest, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

/** Starts a shell whose `"$@"` is a command line, for what only a shell can do with its streams. */
export function startShell(script: string, args: readonly string[]): Child {
  const { ONCEKV_URL, ONCEKV_TOKEN, ...env } = process.env;
  return spawn("/bin/sh", ["-c", script, "sh", process.execPath, ...command, ...args], {
    cwd: root,
    env,
    stdio: ["pipe", "pipe", "pipe"],
  });
}

/** Runs one command in a process of its own, to its end. */
export async function runProcess(
  args: readonly string[],
  options: { readonly stdin?: string; readonly env?: { readonly [name: string]: string } } = {},
): Promise<Ended> {
  const child = startCli(args, options.env);
  child.stdin.end(options.stdin ?? "");
  return ended(child);
}

/** Gathers what a process says until it ends. */
export async function ended(child: Child): Promise<Ended> {
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

/** What a process says, up to the end of the line with `part` in it. */
export async function textUntil(stream: Readable, part: string): Promise<string> {
  let text = "";
  stream.setEncoding("utf8");
  while (!text.slice(text.indexOf(part)).includes("\n") || !text.includes(part)) {
    const [chunk] = (await once(stream, "data")) as [string];
    text += chunk;
  }
  return text;
}

/** `oncekv serve` in a process of its own, on a free port. */
export class ServeProcess {
  readonly child: Child;
  readonly firstLine: string;
  readonly #end: Promise<Ended>;

  static async start(...args: string[]): Promise<ServeProcess> {
    const child = startCli(["serve", "--port", "0", ...args]);
    const end = ended(child);
    const line = await Promise.race([textUntil(child.stdout, "://"), end]);
    if (typeof line !== "string") throw new Error(`serve ended with ${line.code}: ${line.stderr}`);
    return new ServeProcess(child, line.trimEnd(), end);
  }

  private constructor(child: Child, firstLine: string, end: Promise<Ended>) {
    this.child = child;
    this.firstLine = firstLine;
    this.#end = end;
  }

  get url(): string {
    return /https?:\/\/[^\s,"]+/.exec(this.firstLine)?.[0] ?? "";
  }

  /** Sends a signal and waits for the end. */
  stop(signal: NodeJS.Signals = "SIGTERM"): Promise<Ended> {
    this.child.kill(signal);
    return this.#end;
  }
}

/** A folder for one test file. */
export async function temporaryFolder(): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "oncekv-cli-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
