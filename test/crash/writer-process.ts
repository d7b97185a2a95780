import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { WriterLine } from "./writer.js";

/** What a killed writer had printed. */
export interface WriterRun {
  /** The revision that it began from; undefined: it was killed before its store was open. */
  readonly opened: number | undefined;
  readonly lines: readonly WriterLine[];
}

/** A writer in a process of its own, which loads its code at once and begins when it is told to go. */
export class WriterProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #ended: Promise<string>;
  #stdout = "";
  #stderr = "";

  constructor(dataDir: string, durability: "durable" | "buffered", round: number) {
    const file = fileURLToPath(new URL("writer.ts", import.meta.url));
    this.#child = spawn(process.execPath, ["--import", "tsx", file, dataDir, durability, `${round}`], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
    });
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    // A process that was killed before it was told to go closes its input.
    this.#child.stdin.on("error", () => undefined);
    this.#ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => resolve(`${signal ?? code}`));
    });
  }

  /** Lets it work, and kills it `afterMs` after its store is open, or after it was told to go. */
  async runAndKill(afterMs: number, from: "open" | "go"): Promise<WriterRun> {
    await this.#until('"ready"');
    this.#child.stdin.write("go\n");
    if (from === "open") await this.#until('"open"');
    await sleep(afterMs);
    await this.kill();
    const lines = this.#stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as WriterLine);
    const open = lines.find((line) => line.line === "open");
    return { opened: open?.revision, lines };
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    const end = await this.#ended;
    assert.equal(end, "SIGKILL", `the writer ended by itself: ${this.#stderr}`);
  }

  async #until(text: string): Promise<void> {
    while (!this.#stdout.includes(text)) {
      const ended = await Promise.race([this.#ended, sleep(2)]);
      if (typeof ended === "string") assert.fail(`the writer ended by itself (${ended}): ${this.#stderr}`);
    }
  }
}
