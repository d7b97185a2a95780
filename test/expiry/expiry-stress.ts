import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ManualClock } from "../../src/base/manual-clock.js";
import type { Commit, Fields } from "../../src/documents/contract.js";
import { type EmbeddedStore, openStore } from "../../src/level/index.js";
import type { SeededRandom } from "../crash/seeded-random.js";
import type { Counts } from "../torture/counts.js";
import type { Trial } from "../torture/trial.js";
import { Lives } from "./lives.js";

/** How the store is looked at; a test shows with weakened ones that the checks can fail. */
export interface View {
  readonly get: (store: EmbeddedStore, id: string) => Promise<Fields | undefined>;
  /** What of a commit arrives. */
  readonly told: (commit: Commit) => Commit[];
}

const honest: View = { get: (store, id) => store.get(shape, id), told: (commit) => [commit] };

const shape = "lease";
const ids = Array.from({ length: 60 }, (_, n) => `${n}`);

/**
 * Documents that live for milliseconds, renewed at the last moment or not, while the sweeper comes by itself: at every
 * moment every read shows exactly what lives, and the watcher is told of every end once, in order, also over restarts.
 *
 * @param reads how many reads of one document to make at least
 */
export async function readAroundDeadlines(random: SeededRandom, reads: number, view: View = honest): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), "oncekv-expiry-"));
  const stress = new Stress(folder, random, view);
  try {
    return await stress.run(reads);
  } finally {
    await stress.close();
    await rm(folder, { recursive: true });
  }
}

interface Life {
  readonly n: number;
  readonly deadline: number;
}

class Stress {
  readonly #folder: string;
  readonly #random: SeededRandom;
  readonly #view: View;
  readonly #clock = new ManualClock();
  /** What must live, by the answers that were given. */
  readonly #deadlines = new Map<string, Life>();
  /** What writes that are on their way replace; undefined: nothing that lived. */
  readonly #replaced = new Map<string, Life | undefined>();
  readonly #lives = new Lives();
  #store: EmbeddedStore | undefined;
  #watching: Promise<void> = Promise.resolve();
  #now = 0;
  #n = 0;
  #begun = 0;
  readonly #counts = { reads: 0, expired: 0, writes: 0, "last-moment renewals": 0, restarts: 0 };

  constructor(folder: string, random: SeededRandom, view: View) {
    this.#folder = folder;
    this.#random = random;
    this.#view = view;
  }

  async run(reads: number): Promise<Counts> {
    let store = await this.#open();
    for (let tick = 1; this.#counts.reads < reads; tick++) {
      const writes = this.#write(store);
      // With the writes still on their way: a renewal that was accepted in time counts although it is not durable yet.
      if (this.#random.below(2) === 0) this.#advance(1 + this.#random.below(7));
      await this.#read(store);
      await Promise.all(writes);
      this.#replaced.clear();
      await this.#read(store);
      this.#advance(this.#random.below(3));
      if (tick % 50 === 0) store = await this.#restart(store);
    }
    this.#advance(2000);
    await store.sweep();
    await this.#read(store);
    await this.#told(store);
    const told = this.#lives.ended;
    assert.equal(told, this.#begun, `${this.#begun} lives began, and watchers were told of ${told} ends`);
    assert.deepEqual((await store.verify()).problems, []);
    return { ...this.#counts, "lives watched to their end": told };
  }

  async close(): Promise<void> {
    await this.#store?.close();
    // Closing ends the watch with an error.
    await this.#watching.catch(() => {});
  }

  async #open(): Promise<EmbeddedStore> {
    const store = await openStore({ dataDir: join(this.#folder, "data"), clock: this.#clock, durability: "buffered" });
    this.#store = store;
    this.#now = store.now();
    const watch = store.watch({ since: this.#lives.revision });
    this.#watching = (async () => {
      for await (const commit of watch) for (const told of this.#view.told(commit)) this.#lives.add(told);
    })();
    // A violation is thrown where it is awaited.
    this.#watching.catch(() => {});
    return store;
  }

  /** While nobody has the store open, deadlines pass. */
  async #restart(store: EmbeddedStore): Promise<EmbeddedStore> {
    await this.#told(store);
    await store.close();
    await assert.rejects(this.#watching, { code: "store_closed" });
    this.#counts.restarts += 1;
    this.#clock.advance(this.#random.below(200));
    return await this.#open();
  }

  /** Waits until the watcher has come to the newest commit; throws what it has found. */
  async #told(store: EmbeddedStore): Promise<void> {
    for (let turn = 0; this.#lives.revision < store.revision; turn++) {
      await Promise.race([this.#watching, new Promise((resolve) => setImmediate(resolve))]);
      assert.ok(turn < 100_000, `the watcher stays at ${this.#lives.revision} of ${store.revision}`);
    }
  }

  #advance(ms: number): void {
    this.#clock.advance(ms);
    this.#now += ms;
  }

  #write(store: EmbeddedStore): Promise<unknown>[] {
    const writes: Promise<unknown>[] = [];
    for (const id of ids) {
      const lives = this.#living(id);
      const left = (lives?.deadline ?? 0) - this.#now;
      // Most are left alone until just before their end; then three in four are written again.
      if (lives !== undefined && (left > 5 || this.#random.below(4) === 0)) continue;
      if (lives === undefined && this.#random.below(4) !== 0) continue;
      const ms = 1 + this.#random.below(this.#random.below(4) === 0 ? 300 : 30);
      const renews = lives !== undefined && this.#random.below(2) === 0;
      this.#n += 1;
      const n = renews ? lives.n : this.#n;
      this.#replaced.set(id, lives);
      this.#deadlines.set(id, { n, deadline: this.#now + ms });
      this.#counts.writes += 1;
      if (lives === undefined) this.#begun += 1;
      else this.#counts["last-moment renewals"] += 1;
      const ttl = ms / 1000;
      const if_match = { exists: lives !== undefined };
      writes.push(
        renews ? store.patch({ shape, id, ttl, if_match }) : store.put({ shape, id, set: { n }, ttl, if_match }),
      );
    }
    return writes;
  }

  #living(id: string): Life | undefined {
    const lives = this.#deadlines.get(id);
    return lives === undefined || lives.deadline <= this.#now ? undefined : lives;
  }

  /**
   * What a document may show now: one thing, but for writes that are on their way. Those may be durable already; if not,
   * readers see what they replace as long as it lives, and wait for them when that is over.
   */
  #allowed(id: string): readonly (number | undefined)[] {
    const now = this.#living(id)?.n;
    if (!this.#replaced.has(id)) return [now];
    const before = this.#replaced.get(id);
    if (before === undefined) return [now, undefined];
    return before.deadline > this.#now ? [now, before.n] : [now];
  }

  async #read(store: EmbeddedStore): Promise<void> {
    const allowed = ids.map((id) => this.#allowed(id));
    const compare = (how: string, shown: readonly unknown[]): void => {
      for (const [index, id] of ids.entries()) {
        const right = allowed[index] ?? [];
        const n = shown[index];
        if (right.includes(n as number | undefined)) continue;
        assert.fail(`${how} of ${id} at ${this.#now} shows ${String(n)}; right is ${right.map(String).join(" or ")}`);
      }
      this.#counts.reads += ids.length;
      this.#counts.expired += allowed.filter((right) => right.length === 1 && right[0] === undefined).length;
    };
    const { get } = this.#view;
    compare(
      "get",
      (await Promise.all(ids.map((id) => get(store, id)))).map((fields) => fields?.["n"]),
    );
    const many = await store.getMany(ids.map((id) => ({ shape, id })));
    compare(
      "getMany",
      many.map((document) => document?.fields["n"]),
    );
    const { documents } = await store.list(shape, { limit: 1000 });
    const listed = new Map(documents.map(({ id, fields }) => [id, fields["n"]]));
    compare(
      "list",
      ids.map((id) => listed.get(id)),
    );
  }
}

/** A piece of work for the long run: a million reads. */
export const expiryStress: Trial = { name: "expiry", run: (random) => readAroundDeadlines(random, 1_000_000) };
