import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { EmittedCall } from "./emitted-call.js";
import type { Answer, Moment, Report } from "./worker-messages.js";

const workerFile = fileURLToPath(new URL("./worker.ts", import.meta.url));

interface Waiting {
  readonly resolve: (answer: Answer | "worker died") => void;
}

/** A worker in a process of its own, which can be killed and started again. */
export class WorkerProcess {
  readonly name: string;
  readonly #args: readonly string[];
  #child: ChildProcess;
  #nextId = 1;
  readonly #waiting = new Map<number, Waiting>();
  #onStandingStill: (() => void) | undefined;

  /** @param args where the server and the mail service are, the worker's name, and its mode */
  constructor(name: string, args: readonly string[]) {
    this.name = name;
    this.#args = args;
    this.#child = this.#start();
  }

  /** Calls handed to it and not answered. */
  get load(): number {
    return this.#waiting.size;
  }

  /** Hands it a call. */
  run(call: EmittedCall, stopAt?: Moment): Promise<Answer | "worker died"> {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#waiting.set(id, { resolve });
      this.#child.send({ id, call, stopAt });
    });
  }

  /** Resolves when the worker has reached the moment at which it was told to stand still. */
  whenStandingStill(): Promise<void> {
    return new Promise((resolve) => {
      this.#onStandingStill = resolve;
    });
  }

  /** Kills it without warning, and starts it again. */
  async killAndRestart(): Promise<void> {
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
    this.#child = this.#start();
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill();
    await gone;
  }

  #start(): ChildProcess {
    const child = fork(workerFile, this.#args);
    child.on("message", (report: Report) => {
      if (report.report === "standing still") this.#onStandingStill?.();
      else this.#settle(report.id, report.answer);
    });
    child.once("exit", () => {
      for (const id of [...this.#waiting.keys()]) this.#settle(id, "worker died");
    });
    return child;
  }

  #settle(id: number, answer: Answer | "worker died"): void {
    this.#waiting.get(id)?.resolve(answer);
    this.#waiting.delete(id);
  }
}
