import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { basename } from "node:path";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "../../src/base/clock.js";
import { exitCodes } from "../exit-codes.js";
import { LineSplitter } from "./line-splitter.js";
import type { ServerEvent, ServerLink } from "./server-link.js";
import { Sink } from "./sink.js";

/** How long a server has to end by itself after its standard input has ended, and again after SIGTERM. */
const patienceMs = 700;

/** How long a server's output may stay open after the server has ended: a process that it started may hold it. */
const outputPatienceMs = 500;

/** What a server need not know of this program's own environment: the secret of the store is none of its business. */
const withheld = ["ONCEKV_TOKEN"];

/**
 * Starts a server as a process that speaks over its standard input and output; its standard error goes to this program's.
 *
 * @throws Error when it cannot be started
 */
export async function startServer(command: readonly string[], clock: Clock): Promise<ServerLink> {
  const [file = "", ...args] = command;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !withheld.includes(name)));
  const child = spawn(file, args, { env, stdio: ["pipe", "pipe", "inherit"], windowsHide: true });
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new Error(`the server cannot be started: ${(error as Error).message}`, { cause: error });
  }
  // Its arguments may hold secrets, and what is named is written to logs.
  return new ServerProcess(basename(file), child, clock);
}

class ServerProcess implements ServerLink {
  readonly name: string;
  readonly ended: ServerLink["ended"];
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #clock: Clock;
  readonly #input: Sink;
  readonly #exited: Promise<void>;

  constructor(name: string, child: ChildProcessByStdio<Writable, Readable, null>, clock: Clock) {
    this.name = name;
    this.#child = child;
    this.#clock = clock;
    // A server that has gone is noticed by its end, not by what cannot be written to it.
    this.#input = new Sink(child.stdin);
    this.#exited = new Promise((resolve) => {
      child.once("exit", () => resolve());
    });
    this.ended = this.#awaitEnd();
    child.on("error", () => {});
  }

  get events(): AsyncIterable<ServerEvent> {
    return this.#read();
  }

  send(line: Buffer): Promise<void> {
    return this.#input.write(line);
  }

  /** As the protocol has it: the end of its input, then SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    this.#child.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await this.#exitsWithin(patienceMs)) return;
      this.#child.kill(signal);
    }
    await this.#exitsWithin(patienceMs);
  }

  async *#read(): AsyncGenerator<ServerEvent, void> {
    const splitter = new LineSplitter();
    try {
      for await (const chunk of this.#child.stdout) {
        for (const line of splitter.push(chunk as Buffer)) yield { event: "line", line };
      }
    } catch (error) {
      // Its output was closed under the reader, since the server has ended.
      if (!this.#hasExited()) throw error;
    }
    const rest = splitter.rest();
    if (rest !== undefined) yield { event: "line", line: rest };
  }

  async #awaitEnd(): Promise<{ readonly exitCode: number; readonly message: string }> {
    const closed = once(this.#child, "close");
    await this.#exited;
    const cancel = this.#clock.setTimer(outputPatienceMs, () => this.#child.stdout.destroy(), { keepAlive: true });
    await closed;
    cancel();
    const { exitCode, signalCode } = this.#child;
    if (signalCode !== null) {
      return { exitCode: 128 + (constants.signals[signalCode] ?? 0), message: `the server was ended by ${signalCode}` };
    }
    return { exitCode: exitCode ?? exitCodes.failed, message: `the server ended with ${exitCode}` };
  }

  #hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  #exitsWithin(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.#clock.setTimer(ms, () => resolve(false), { keepAlive: true });
      void this.#exited.then(() => {
        cancel();
        resolve(true);
      });
    });
  }
}
