import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Commit, createClient } from "../../client/index.js";
import type { SeededRandom } from "../crash/seeded-random.js";
import { FaultyProxy } from "../torture/faulty-proxy.js";
import { ask, kill, startProcess } from "../torture/processes.js";
import { joinWatches, type LoggedState, statesOf } from "./commit-log.js";
import type { Recorded } from "./history-client.js";
import type { HistoryOperation, Request } from "./history-types.js";
import type { ReceivedCommit, WatcherAnswer } from "./history-watcher.js";
import { Planner, type Scale } from "./planning.js";
import { ServerClock } from "./server-clock.js";
import { askStore } from "./store-requests.js";
import { Violation } from "./violation.js";
import { type FollowedWalk, type Page, type Walk, walksOf } from "./walks.js";
import type { Weakness } from "./weakened-store.js";

/*
 * Records histories of several client processes over HTTP, through a proxy that cuts connections, while the server's clock is
 * moved and the server is killed and started again over its folder. Watchers follow all of it through the same proxy.
 */

const clients = 3;

/** What one history was recorded under. */
export interface RecordedHistory {
  readonly recorded: readonly Recorded[];
  readonly history: readonly HistoryOperation[];
  /** What watchers have received of it. */
  readonly states: readonly LoggedState[];
  readonly walks: readonly Walk[];
  readonly followed: readonly FollowedWalk[];
  /** What the store's clock shows when all is over. */
  readonly end: number;
  readonly kills: number;
}

export class Recorder {
  readonly #random: SeededRandom;
  readonly #planner: Planner;
  readonly #dataDir: string;
  readonly #proxy: FaultyProxy;
  readonly #url: string;
  readonly #clients: readonly ChildProcess[];
  readonly #watcher: ChildProcess;
  readonly #weakness: Weakness | undefined;
  readonly #clock = new ServerClock();
  #server: ChildProcess | undefined;
  #serverUrl = "";
  #rounds = 0;
  /** Up to which revision the watchers have been asked. */
  #last = 0;
  #resumed = 0;

  private constructor(random: SeededRandom, dataDir: string, proxy: FaultyProxy, port: number, weakness?: Weakness) {
    this.#random = random;
    this.#planner = new Planner(random);
    this.#weakness = weakness;
    this.#dataDir = dataDir;
    this.#proxy = proxy;
    this.#url = `http://127.0.0.1:${port}`;
    this.#clients = Array.from({ length: clients }, () =>
      startProcess(new URL("./history-client.ts", import.meta.url)),
    );
    this.#watcher = startProcess(new URL("./history-watcher.ts", import.meta.url));
  }

  /** @param weakness a promise that the server is made to break */
  static async open(random: SeededRandom, weakness?: Weakness): Promise<Recorder> {
    const dataDir = await mkdtemp(join(tmpdir(), "oncekv-histories-"));
    const proxy = new FaultyProxy(() => ({
      requestBytes: random.next() < 0.15 ? random.below(4000) : Number.POSITIVE_INFINITY,
      // Few bytes are less than one answer, more of them the beginning of a stream.
      answerBytes: random.next() < 0.35 ? random.below(random.below(2) === 0 ? 400 : 6000) : Number.POSITIVE_INFINITY,
    }));
    const recorder = new Recorder(random, dataDir, proxy, await proxy.listen(), weakness);
    await recorder.#startServer();
    recorder.#watcher.send({ url: recorder.#url });
    return recorder;
  }

  /** Connections that were cut so far. */
  get cuts(): number {
    return this.#proxy.cuts;
  }

  /** How often the bare stream was connected again. */
  get resumed(): number {
    return this.#resumed;
  }

  async close(): Promise<void> {
    await this.#proxy.close();
    const children = [...this.#clients, this.#watcher, ...(this.#server === undefined ? [] : [this.#server])];
    for (const child of children) await kill(child);
    await rm(this.#dataDir, { recursive: true, force: true });
  }

  /**
   * One history, over documents of its own.
   *
   * @param withKill whether the server is killed in its middle
   * @throws Violation when watchers receive what cannot be
   */
  async record(withKill: boolean, scale: Scale): Promise<RecordedHistory> {
    const prefix = `${this.#rounds++}-`;
    const before = this.#last;
    this.#clock.forget();
    let done = false;
    const working = Promise.all(
      this.#clients.map((client, index) => {
        const plan = this.#planner.plan(prefix, scale, index === 0);
        return ask<readonly Recorded[]>(client, { url: this.#url, plan });
      }),
    ).finally(() => {
      done = true;
    });
    await this.#disturb(withKill, () => done);
    const byClient = await working;

    const ending = await this.#end(prefix);
    const states = statesOf(ending.commits, before, (instant) => this.#clock.latestAt(instant));
    const recorded = [...byClient.flat(), ...ending.recorded];
    const walks = byClient.flatMap(walksOf);
    return {
      recorded,
      history: recorded.flatMap((each) => this.#operationOf(each)),
      states,
      walks,
      followed: await this.#follow(prefix, walks, ending),
      end: this.#clock.wall,
      kills: withKill ? 1 : 0,
    };
  }

  async #disturb(withKill: boolean, isDone: () => boolean): Promise<void> {
    let moves = 3;
    let kills = withKill ? 1 : 0;
    while (!isDone() && moves + kills > 0) {
      if (kills > 0 && this.#random.below(moves + 1) === 0) {
        kills -= 1;
        await this.#restartServer();
      } else {
        moves -= 1;
        await this.#advance(10 + this.#random.below(60));
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (kills > 0) await this.#restartServer();
  }

  /** Lets everything expire, until the watchers have received that, and lists what is left. */
  async #end(prefix: string): Promise<Ending> {
    const store = createClient({ url: this.#serverUrl });
    const recorded: Recorded[] = [];
    const send = async (request: Request): Promise<Recorded> => {
      const called = process.hrtime.bigint();
      const answer = await askStore(store, this.#serverUrl, request, "client");
      const one = { request, sending: "client", ...answer, called, returned: process.hrtime.bigint() } as const;
      recorded.push(one);
      return one;
    };
    try {
      const commits: ReceivedCommit[] = [];
      for (let attempt = 0; attempt < 200; attempt++) {
        await this.#advance(1000);
        const last = `${prefix}~${attempt}`;
        const fields = { value: 0 };
        const { output } = await send({ kind: "write", changes: [{ id: last, kind: "put", fields }] });
        const page = await send({ kind: "list", prefix, reverse: false, limit: 1000 });
        if (output?.kind !== "written" || page.output?.kind !== "page") throw new Error(`${page.fault}: not answered`);
        commits.push(...(await this.#watched(output.revision)));
        if (!isWaiting(commits)) return { recorded, commits, last, final: page.output };
      }
      throw new Violation("watch", "what has expired is not told");
    } finally {
      await store.close();
    }
  }

  async #watched(until: number): Promise<readonly ReceivedCommit[]> {
    const answer = await ask<WatcherAnswer>(this.#watcher, { until });
    this.#resumed = answer.resumed;
    if (answer.fault !== undefined) throw new Violation("watch", `a watch has ended: ${answer.fault}`);
    const commits = joinWatches(answer, this.#last);
    this.#last = until;
    return commits;
  }

  /** Watches from the first page's revision of some walks on. */
  async #follow(prefix: string, walks: readonly Walk[], { last, final }: Ending): Promise<readonly FollowedWalk[]> {
    const chosen = walks.slice(0, this.#clients.length);
    return Promise.all(
      chosen.map(async (walk, index) => {
        const since = walk.pages[0]?.revision ?? 0;
        const client = this.#clients[index];
        if (client === undefined) throw new Error("there are as many clients as walks are followed");
        return { ...walk, final, commits: await ask<Commit[]>(client, { url: this.#url, prefix, since, last }) };
      }),
    );
  }

  #operationOf({ request, output, called, returned }: Recorded): readonly HistoryOperation[] {
    // A read that was never answered says nothing.
    if (request.kind !== "write" && output === undefined) return [];
    const earliest = this.#clock.earliestAt(called);
    if (output === undefined)
      return [{ input: { ...request, earliest, latest: Number.POSITIVE_INFINITY }, output, called, returned: output }];
    return [{ input: { ...request, earliest, latest: this.#clock.latestAt(returned) }, output, called, returned }];
  }

  async #advance(ms: number): Promise<void> {
    if (this.#server === undefined) return;
    const begun = process.hrtime.bigint();
    const { now } = await ask<{ readonly now: number }>(this.#server, { kind: "advance", ms });
    this.#clock.moved(this.#clock.wall + ms, now, begun);
  }

  async #restartServer(): Promise<void> {
    if (this.#server !== undefined) await kill(this.#server);
    await this.#startServer();
  }

  async #startServer(): Promise<void> {
    const begun = process.hrtime.bigint();
    const { wall } = this.#clock;
    this.#server = startProcess(new URL("./history-server.ts", import.meta.url));
    const { port, now } = await ask<{ readonly port: number; readonly now: number }>(this.#server, {
      kind: "open",
      dataDir: this.#dataDir,
      wall,
      weakness: this.#weakness,
    });
    this.#serverUrl = `http://127.0.0.1:${port}`;
    this.#proxy.target(port);
    this.#clock.moved(wall, now, begun);
  }
}

/** What is left when a history is over. */
interface Ending {
  readonly recorded: readonly Recorded[];
  readonly commits: readonly ReceivedCommit[];
  /** The document that was written last. */
  readonly last: string;
  readonly final: Page;
}

/** Whether a document with a deadline is still there. */
function isWaiting(commits: readonly ReceivedCommit[]): boolean {
  const mortal = new Set<string>();
  for (const { id, document } of commits.flatMap(({ changes }) => changes)) {
    if (document === null || document.expires_at === null) mortal.delete(id);
    else mortal.add(id);
  }
  return mortal.size > 0;
}
