import type { EmittedCall } from "./emitted-call.js";
import type { Answer, Moment } from "./worker-messages.js";
import type { WorkerProcess } from "./worker-process.js";

/** Calls that a worker has at the same time. */
const loadMax = 8;

/**
 * Hands calls to workers in turn, so that repeats of one call race in different processes. Like the queues it stands for
 * it delivers again what a dead worker has not answered.
 */
export class Dispatcher {
  readonly #workers: readonly WorkerProcess[];
  readonly #onAnswer: (worker: string, call: EmittedCall, answer: Answer) => void;
  #next = 0;
  #waitingForRoom: (() => void)[] = [];
  #redelivered = 0;

  constructor(
    workers: readonly WorkerProcess[],
    onAnswer: (worker: string, call: EmittedCall, answer: Answer) => void,
  ) {
    this.#workers = workers;
    this.#onAnswer = onAnswer;
  }

  /** Calls that were delivered again. */
  get redelivered(): number {
    return this.#redelivered;
  }

  /** Delivers a call, again if need be, until it is answered. */
  async deliver(call: EmittedCall): Promise<void> {
    for (;;) {
      const worker = this.#workerWithRoom();
      if (worker === undefined) {
        await new Promise<void>((resolve) => this.#waitingForRoom.push(resolve));
        continue;
      }
      const answer = await worker.run(call);
      for (const resolve of this.#waitingForRoom.splice(0)) resolve();
      if (answer !== "worker died") return this.#onAnswer(worker.name, call, answer);
      this.#redelivered += 1;
    }
  }

  /**
   * Lets a worker begin a call, and kills it at a moment within. The call is not answered then.
   *
   * @returns the worker's name
   */
  async killDuring(call: EmittedCall, moment: Moment): Promise<string> {
    const worker = this.#workerWithRoom();
    if (worker === undefined || worker.load > 0)
      throw new Error("nothing else may be in flight in a worker that is killed");
    const ended = worker.run(call, moment);
    const early = await Promise.race([worker.whenStandingStill(), ended]);
    if (early !== undefined)
      throw new Error(`the call was to stand still ${moment}, and ended with ${JSON.stringify(early)}`);
    await worker.killAndRestart();
    if ((await ended) !== "worker died") throw new Error("a dead worker has answered");
    this.#redelivered += 1;
    return worker.name;
  }

  /** The next in turn that is not full. */
  #workerWithRoom(): WorkerProcess | undefined {
    for (let step = 0; step < this.#workers.length; step++) {
      const worker = this.#workers[(this.#next + step) % this.#workers.length];
      if (worker === undefined || worker.load >= loadMax) continue;
      this.#next = (this.#next + step + 1) % this.#workers.length;
      return worker;
    }
    return undefined;
  }
}
