import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "../../client/index.js";
import type { SeededRandom } from "../crash/seeded-random.js";
import type { Counts } from "../torture/counts.js";
import { FaultyProxy } from "../torture/faulty-proxy.js";
import { ask, kill, startProcess } from "../torture/processes.js";
import type { Trial } from "../torture/trial.js";
import { readArrivals } from "./arrival.js";
import { callUntilSettled, leaseSeconds, type Mode, type Settled, shortLivedCalls } from "./guarded-call.js";
import { judgeEffects } from "./judging.js";

/*
 * Workers make the same calls over one server against a service that counts, while workers, server and service are killed, workers
 * are stopped for longer than a lease, the server's clock is stepped and connections are cut.
 */

const workers = 3;
const modes: readonly Mode[] = ["keyed", "bare", "review"];

/** @param callsEach of each mode */
export function effectsTrial(callsEach: number, faults: number): Trial {
  return {
    name: "effects",
    run: async (random) => {
      const scene = await Scene.open(random, callsEach);
      try {
        return await scene.play(faults);
      } finally {
        await scene.close();
      }
    },
  };
}

class Scene {
  readonly #random: SeededRandom;
  readonly #folder: string;
  readonly #keys: readonly string[];
  readonly #storeProxy: FaultyProxy;
  readonly #serviceProxy: FaultyProxy;
  readonly #urls: { readonly storeUrl: string; readonly serviceUrl: string };
  readonly #tried = { "worker kills": 0, "server kills": 0, "service kills": 0, stops: 0, steps: 0 };
  #server: ChildProcess | undefined;
  #service: ChildProcess | undefined;
  #workers: ChildProcess[] = [];
  #wallOffset = 0;

  private constructor(
    random: SeededRandom,
    folder: string,
    callsEach: number,
    proxies: readonly [FaultyProxy, FaultyProxy],
    ports: readonly [number, number],
  ) {
    this.#random = random;
    this.#folder = folder;
    this.#keys = modes.flatMap((mode) => Array.from({ length: callsEach }, (_, at) => `${mode}-${at}`));
    [this.#storeProxy, this.#serviceProxy] = proxies;
    this.#urls = { storeUrl: `http://127.0.0.1:${ports[0]}`, serviceUrl: `http://127.0.0.1:${ports[1]}` };
  }

  static async open(random: SeededRandom, callsEach: number): Promise<Scene> {
    const folder = await mkdtemp(join(tmpdir(), "oncekv-effects-"));
    const proxy = (share: number) =>
      new FaultyProxy(() => ({
        requestBytes: random.next() < share / 2 ? random.below(3000) : Number.POSITIVE_INFINITY,
        answerBytes: random.next() < share ? random.below(3000) : Number.POSITIVE_INFINITY,
      }));
    const proxies = [proxy(0.3), proxy(0.1)] as const;
    const scene = new Scene(random, folder, callsEach, proxies, [await proxies[0].listen(), await proxies[1].listen()]);
    await scene.#startServer();
    await scene.#startService();
    return scene;
  }

  async play(faults: number): Promise<Counts> {
    const settled: Settled[] = [];
    let working = workers;
    const work = async (lane: number): Promise<void> => {
      for (;;) {
        const worker = startProcess(new URL("./worker-process.ts", import.meta.url));
        this.#workers[lane] = worker;
        try {
          const answers = await ask<readonly Settled[]>(worker, { ...this.#urls, keys: this.#shuffled() });
          settled.push(...answers);
          break;
        } catch {
          // It was killed: another one takes its place, with the same calls.
        }
      }
      working -= 1;
    };
    const all = Promise.all(Array.from({ length: workers }, (_, lane) => work(lane)));
    for (let fault = 0; fault < faults && working > 0; fault++) {
      await pause(this.#random.below(400));
      await this.#fault();
    }
    await all;
    const reviewed = await this.#review();
    const arrivals = await readArrivals(this.#arrivalsFile);
    judgeEffects(this.#keys, arrivals, [...settled, ...reviewed.settled]);
    return {
      calls: this.#keys.length,
      fires: arrivals.length,
      replays: settled.filter((each) => "wasReplay" in each && each.wasReplay).length,
      reviews: reviewed.count,
      ...this.#tried,
      cuts: this.#storeProxy.cuts + this.#serviceProxy.cuts,
    };
  }

  async close(): Promise<void> {
    for (const child of [...this.#workers, this.#server, this.#service]) {
      if (child === undefined) continue;
      // A stopped process takes no signal but this and SIGKILL.
      child.kill("SIGCONT");
      await kill(child);
    }
    await this.#storeProxy.close();
    await this.#serviceProxy.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #arrivalsFile(): string {
    return join(this.#folder, "arrivals.jsonl");
  }

  async #fault(): Promise<void> {
    const worker = this.#workers[this.#random.below(workers)];
    switch (this.#random.below(6)) {
      case 0:
      case 1:
        if (await killRunning(worker)) this.#tried["worker kills"] += 1;
        return;
      case 2:
        if (await killRunning(this.#server)) this.#tried["server kills"] += 1;
        return this.#startServer();
      case 3:
        if (await killRunning(this.#service)) this.#tried["service kills"] += 1;
        return this.#startService();
      case 4: {
        // One that has done all its calls is stopped by nothing.
        if (isRunning(worker)) this.#tried.stops += 1;
        worker?.kill("SIGSTOP");
        await pause(leaseSeconds * 1500);
        worker?.kill("SIGCONT");
        return;
      }
      default: {
        this.#tried.steps += 1;
        const ms = (this.#random.below(2) === 0 ? -1 : 1) * this.#random.below(5000);
        this.#wallOffset += ms;
        if (this.#server !== undefined) await ask(this.#server, { kind: "step", ms });
      }
    }
  }

  /** Somebody looks what became of each call in doubt, and says so; then everything settles. */
  async #review(): Promise<{ readonly settled: readonly Settled[]; readonly count: number }> {
    const store = createClient({ url: this.#urls.storeUrl, timeout: 5 });
    const calls = shortLivedCalls(store);
    let count = 0;
    const settled: Settled[] = [];
    for (const key of this.#keys) {
      let answer = await callUntilSettled(calls, this.#urls.serviceUrl, key);
      // What is called again after that may come into doubt again.
      while ("review" in answer) {
        count += 1;
        const arrived = (await readArrivals(this.#arrivalsFile)).find((arrival) => arrival.key === key);
        const known = arrived === undefined ? ({ not_done: true } as const) : { result: { receipt: arrived.receipt } };
        await calls.resolve({ tool: "have_effect", key, args: { key } }, known, {
          by: "trial",
          note: "looked in the file",
        });
        answer = await callUntilSettled(calls, this.#urls.serviceUrl, key);
      }
      settled.push(answer);
      // The last word is what the store has kept, also when this very call fired and then heard nothing of the store.
      while ("receipt" in answer && !answer.persisted) {
        answer = await callUntilSettled(calls, this.#urls.serviceUrl, key);
        settled.push(answer);
      }
    }
    await calls.close();
    await store.close();
    return { settled, count };
  }

  #shuffled(): readonly string[] {
    return this.#keys
      .map((key) => ({ key, at: this.#random.next() }))
      .sort((a, b) => a.at - b.at)
      .map(({ key }) => key);
  }

  async #startServer(): Promise<void> {
    this.#server = startProcess(new URL("./server-process.ts", import.meta.url));
    const opened = await ask<{ readonly port: number }>(this.#server, {
      kind: "open",
      dataDir: join(this.#folder, "data"),
      wallOffset: this.#wallOffset,
    });
    this.#storeProxy.target(opened.port);
  }

  async #startService(): Promise<void> {
    this.#service = startProcess(new URL("./service-process.ts", import.meta.url));
    this.#serviceProxy.target((await ask<{ readonly port: number }>(this.#service, { file: this.#arrivalsFile })).port);
  }
}

function isRunning(child: ChildProcess | undefined): child is ChildProcess {
  return child !== undefined && child.exitCode === null && child.signalCode === null;
}

/** Kills a process, and tells whether there was one to be killed. */
async function killRunning(child: ChildProcess | undefined): Promise<boolean> {
  if (!isRunning(child)) return false;
  await kill(child);
  return true;
}
