import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Reading } from "./reading.js";

/** A reader in a process of its own; a new one takes its place when it dies. */
export class ReaderProcess {
  readonly #documentsFile: string;
  #child: ChildProcessByStdio<Writable, Readable, Readable> | undefined;
  #lines: AsyncIterator<string> | undefined;
  #reader: Interface | undefined;
  #stderr = "";

  /** @param documentsFile the documents of the store, as JSON */
  constructor(documentsFile: string) {
    this.#documentsFile = documentsFile;
  }

  /** What it finds in a folder; a text: the process has died, and how. */
  async read(dataDir: string): Promise<Reading | string> {
    const child = this.#child ?? this.#start();
    child.stdin.write(`${dataDir}\n`);
    const line = await this.#lines?.next();
    if (line !== undefined && line.done !== true) return JSON.parse(line.value) as Reading;
    if (child.exitCode === null && child.signalCode === null)
      await new Promise((resolve) => child.once("close", resolve));
    this.#child = undefined;
    return `the process ended with ${child.signalCode ?? child.exitCode}: ${this.#stderr.slice(-500)}`;
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("close", resolve));
    child.stdin.end();
    await ended;
    this.#reader?.close();
  }

  #start(): ChildProcessByStdio<Writable, Readable, Readable> {
    const file = fileURLToPath(new URL("reading.ts", import.meta.url));
    const child = spawn(process.execPath, ["--import", "tsx", file, this.#documentsFile], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stdin.on("error", () => {}); // A process that has died is noticed by its end.
    this.#stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.#reader = createInterface({ input: child.stdout });
    this.#lines = this.#reader[Symbol.asyncIterator]();
    this.#child = child;
    return child;
  }
}
