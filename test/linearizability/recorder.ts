import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SeededRandom } from "../crash/seeded-random.js";
import { FaultyProxy } from "../torture/faulty-proxy.js";
import { ask, kill, startProcess } from "../torture/processes.js";
import type { Operation } from "./checker.js";
import type { Input, Output } from "./document-model.js";
import type { PlannedChange, PlannedOperation, Recorded } from "./history-client.js";
import type { Weakness } from "./history-server.js";

/*
 * Records histories of several client processes over HTTP, through a proxy that cuts connections, while the server's clock is
 * moved and the server is killed and started again over its folder.
 */

const clients = 3;
const operationsEach = 10;
const documents = 3;

/** What one history was recorded under. */
export interface RecordedHistory {
  readonly history: readonly Operation<Input, Output>[];
  readonly kills: number;
  readonly unknown: number;
}

/** A move of the clock. Before `begun` it surely showed less than `now`, from `ended` on surely `now`. */
interface ClockMove {
  readonly now: number;
  readonly begun: bigint;
  readonly ended: bigint;
}

export class Recorder {
  readonly #random: SeededRandom;
  readonly #dataDir: string;
  readonly #proxy: FaultyProxy;
  readonly #url: string;
  readonly #clients: readonly ChildProcess[];
  #server: ChildProcess | undefined;
  #wall: number = Date.UTC(2026, 0, 1);
  #moves: ClockMove[] = [];
  #rounds = 0;
  #values = 0;

  readonly #weakness: Weakness | undefined;

  private constructor(random: SeededRandom, dataDir: string, proxy: FaultyProxy, port: number, weakness?: Weakness) {
    this.#random = random;
    this.#weakness = weakness;
    this.#dataDir = dataDir;
    this.#proxy = proxy;
    this.#url = `http://127.0.0.1:${port}`;
    this.#clients = Array.from({ length: clients }, () =>
      startProcess(new URL("./history-client.ts", import.meta.url)),
    );
  }

  /** @param weakness a promise that the server is made to break */
  static async open(random: SeededRandom, weakness?: Weakness): Promise<Recorder> {
    const dataDir = await mkdtemp(join(tmpdir(), "oncekv-histories-"));
    const proxy = new FaultyProxy(() => ({
      requestBytes: random.next() < 0.15 ? random.below(4000) : Number.POSITIVE_INFINITY,
      answerBytes: random.next() < 0.3 ? random.below(3000) : Number.POSITIVE_INFINITY,
    }));
    const recorder = new Recorder(random, dataDir, proxy, await proxy.listen(), weakness);
    await recorder.#startServer();
    return recorder;
  }

  /** Connections that were cut so far. */
  get cuts(): number {
    return this.#proxy.cuts;
  }

  async close(): Promise<void> {
    await this.#proxy.close();
    for (const child of [...this.#clients, ...(this.#server === undefined ? [] : [this.#server])]) await kill(child);
    await rm(this.#dataDir, { recursive: true, force: true });
  }

  /** One history, over documents of its own. @param withKill whether the server is killed in its middle */
  async record(withKill: boolean): Promise<RecordedHistory> {
    const round = this.#rounds++;
    const plans = this.#clients.map(() => this.#plan(round));
    // Longer ago nobody of this history has seen the clock.
    this.#moves = this.#moves.slice(-1);
    const working = this.#clients.map((client, index) => {
      return ask<readonly Recorded[]>(client, { url: this.#url, plan: plans[index] ?? [] });
    });
    let done = false;
    const all = Promise.all(working).finally(() => {
      done = true;
    });
    let moves = 3;
    let kills = withKill ? 1 : 0;
    while (!done && moves + kills > 0) {
      if (kills > 0 && this.#random.below(moves + 1) === 0) {
        kills -= 1;
        await this.#restartServer();
      } else {
        moves -= 1;
        await this.#advance(10 + this.#random.below(60));
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    const recorded = (await all).flat();
    const history = recorded.flatMap((each) => this.#operationOf(each));
    return {
      history,
      kills: withKill ? 1 - kills : 0,
      unknown: history.filter(({ output }) => output === undefined).length,
    };
  }

  #plan(round: number): readonly PlannedOperation[] {
    return Array.from({ length: operationsEach }, () => {
      const ids = Array.from({ length: documents }, (_, index) => `${round}-${index}`).sort(
        () => this.#random.next() - 0.5,
      );
      const kind = this.#random.below(10);
      if (kind < 4) return { kind: "get", id: ids[0] ?? "" };
      const count = kind === 9 ? 2 : 1;
      return { kind: "write", changes: ids.slice(0, count).map((id) => this.#change(id)) };
    });
  }

  #change(id: string): PlannedChange {
    const value = this.#random.below(5) === 0 ? null : ++this.#values;
    const ttl = value !== null && this.#random.below(3) === 0 ? 10 + this.#random.below(80) : undefined;
    const conditions = [
      undefined,
      { exists: false },
      { exists: true },
      "seen_revision",
      "seen_revision",
      "seen_value",
    ] as const;
    return { id, value, ttl, condition: conditions[this.#random.below(conditions.length)] };
  }

  #operationOf({ planned, output, called, returned }: Recorded): readonly Operation<Input, Output>[] {
    // A read that was never answered says nothing.
    if (planned.kind === "get" && output === undefined) return [];
    const earliest = Math.max(...this.#moves.filter((move) => move.ended <= called).map(({ now }) => now));
    const latest =
      output === undefined
        ? Number.POSITIVE_INFINITY
        : Math.max(...this.#moves.filter((move) => move.begun <= returned).map(({ now }) => now));
    return [
      {
        input: { ...planned, earliest, latest },
        output,
        called,
        returned: output === undefined ? undefined : returned,
      },
    ];
  }

  async #advance(ms: number): Promise<void> {
    const begun = process.hrtime.bigint();
    this.#wall += ms;
    if (this.#server === undefined) return;
    const { now } = await ask<{ readonly now: number }>(this.#server, { kind: "advance", ms });
    if (now !== this.#wall) throw new Error(`the server's clock shows ${now} and not ${this.#wall}`);
    this.#moves.push({ now, begun, ended: process.hrtime.bigint() });
  }

  async #restartServer(): Promise<void> {
    if (this.#server !== undefined) await kill(this.#server);
    await this.#startServer();
  }

  async #startServer(): Promise<void> {
    const begun = process.hrtime.bigint();
    this.#server = startProcess(new URL("./history-server.ts", import.meta.url));
    const { port, now } = await ask<{ readonly port: number; readonly now: number }>(this.#server, {
      kind: "open",
      dataDir: this.#dataDir,
      wall: this.#wall,
      weakness: this.#weakness,
    });
    if (now !== this.#wall) throw new Error(`the store's now is ${now} and not ${this.#wall}`);
    this.#proxy.target(port);
    this.#moves.push({ now, begun, ended: process.hrtime.bigint() });
  }
}
