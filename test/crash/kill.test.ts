import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { Commit } from "../../src/documents/contract.js";
import { type EmbeddedStore, openStore } from "../../src/level/index.js";
import { SeededRandom } from "./seeded-random.js";
import { groupSize, type WriterLine, workers } from "./writer.js";
import { WriterProcess, type WriterRun } from "./writer-process.js";

/** The jump of the counter when a part of the past may be lost. */
const stride = 2 ** 24;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "oncekv-kill-"));
});

afterAll(() => rm(folder, { recursive: true }));

/** What all killed writers together have been promised. */
class Promised {
  /** The newest acknowledged revision. */
  revision = 0;
  readonly #counters = new Map<number, number>();
  readonly #tokens = new Map<number, number>();
  acknowledged = 0;

  add({ lines, opened }: WriterRun): void {
    if (opened !== undefined) {
      assert.ok(opened >= this.revision, `opened at ${opened}, but ${this.revision} was acknowledged`);
    }
    const seen = new Set<number>();
    for (const line of lines) {
      if (line.line !== "put" && line.line !== "batch") continue;
      this.acknowledged += 1;
      assert.ok(line.revision > (opened ?? 0), "a new commit has a revision of its own");
      assert.ok(!seen.has(line.revision), `revision ${line.revision} was given out twice`);
      seen.add(line.revision);
      if (line.line === "put") this.#counters.set(line.worker, line.n);
      else this.#tokens.set(line.worker, line.token);
    }
    this.revision = Math.max(this.revision, opened ?? 0, ...seen);
  }

  /** Every acknowledged write is there, or a later one of the same worker, which was under way; no batch is torn. */
  async compare(store: EmbeddedStore): Promise<void> {
    for (let worker = 0; worker < workers; worker++) {
      const n = Number((await store.get("counter", `${worker}`))?.["n"] ?? 0);
      const promised = this.#counters.get(worker) ?? 0;
      assert.ok(n === promised || n === promised + 1, `counter ${worker} is ${n}, acknowledged was ${promised}`);
      const keys = Array.from({ length: groupSize }, (_, member) => ({ shape: "group", id: `${worker}-${member}` }));
      const group = await store.getMany(keys);
      const tokens = new Set(group.map((document) => Number(document?.fields["token"] ?? 0)));
      assert.equal(tokens.size, 1, `the batch of worker ${worker} is torn: ${[...tokens]}`);
      assert.equal(new Set(group.map((document) => document?.revision)).size, 1);
      const [token = 0] = tokens;
      const acknowledged = this.#tokens.get(worker) ?? 0;
      assert.ok(token === acknowledged || token === acknowledged + 1, `token ${token} after ${acknowledged}`);
      // One that was under way and is there counts from here on, also when the next writer dies before it writes again.
      this.#tokens.set(worker, token);
    }
  }

  /** What was under way when the writer died and is there now counts from here on. */
  note(worker: number, n: number): void {
    this.#counters.set(worker, n);
  }
}

/** The last write that each worker has begun, and its answer, if it came. */
function lastWrites(lines: readonly WriterLine[]): Map<number, LastWrite> {
  const last = new Map<number, LastWrite>();
  for (const line of lines) {
    if (line.line === "begin") last.set(line.worker, { write: line.write, revision: undefined });
    else if (line.line === "put") {
      const begun = last.get(line.worker);
      assert.ok(begun !== undefined);
      last.set(line.worker, { write: begun.write, revision: line.revision });
    }
  }
  return last;
}

interface LastWrite {
  readonly write: Extract<WriterLine, { line: "begin" }>["write"];
  readonly revision: number | undefined;
}

/**
 * A client that lost its answer sends the write again with its write id. An acknowledged one gets its first answer; one
 * that was in doubt is done now or was done before; neither is ever told that it has lost.
 */
async function repeatLastWrites(store: EmbeddedStore, run: WriterRun, promised: Promised): Promise<number> {
  let undone = 0;
  for (const [worker, { write, revision }] of lastWrites(run.lines)) {
    const again = await store.put(write);
    if (revision !== undefined) {
      assert.deepEqual([again.replayed, again.revision], [true, revision], `write id ${write.write_id}`);
    }
    if (again.replayed !== true) undone += 1;
    const stored = await store.getDocument("counter", `${worker}`);
    assert.deepEqual([stored?.fields, stored?.revision], [write.set, again.revision]);
    promised.note(worker, Number(write.set["n"]));
  }
  return undone;
}

/** Every acknowledged commit is in the history, in order, each once. */
async function compareHistory(store: EmbeddedStore, run: WriterRun): Promise<void> {
  if (run.opened === undefined) return;
  const until = store.revision;
  const told: Commit[] = [];
  if (until > run.opened) {
    for await (const commit of store.watch({ since: run.opened })) {
      told.push(commit);
      if (commit.revision >= until) break;
    }
  }
  const revisions = told.map((commit) => commit.revision);
  assert.deepEqual(
    revisions,
    Array.from({ length: until - run.opened }, (_, n) => (run.opened ?? 0) + n + 1),
  );
  for (const line of run.lines) {
    if (line.line !== "batch") continue;
    const commit: Commit | undefined = told[line.revision - run.opened - 1];
    assert.equal(commit?.changes.length, groupSize);
    assert.ok(commit.changes.every((change) => change.document?.fields["token"] === line.token));
  }
}

async function killRounds(
  durability: "durable" | "buffered",
  rounds: number,
  random: SeededRandom,
  check: (store: EmbeddedStore, run: WriterRun, promised: Promised) => Promise<void>,
): Promise<Promised> {
  const dataDir = join(folder, durability);
  const promised = new Promised();
  let next = new WriterProcess(dataDir, durability, 0);
  for (let round = 0; round < rounds; round++) {
    const writer = next;
    // Loads its code while this round runs.
    next = new WriterProcess(dataDir, durability, round + 1);
    // One in five dies while it opens the store; the others while they write.
    const early = random.below(5) === 0;
    const run = await writer.runAndKill(early ? random.below(60) : random.below(300), early ? "go" : "open");
    promised.add(run);
    const store = await openStore({ dataDir, durability });
    assert.ok(store.revision >= promised.revision, `at ${store.revision}, but ${promised.revision} was acknowledged`);
    await promised.compare(store);
    await check(store, run, promised);
    const { problems } = await store.verify();
    assert.deepEqual(problems, [], `round ${round}`);
    promised.revision = store.revision;
    await store.close();
  }
  await next.kill();
  return promised;
}

describe("kill -9 in the middle of load", () => {
  test("durable, 60 times: nothing acknowledged is lost, no batch is torn, revisions only grow, write ids are remembered", async () => {
    const random = new SeededRandom();
    console.log(`seed of the durable rounds: ${random.seed}`);
    let undone = 0;
    const promised = await killRounds("durable", 60, random, async (store, run, promises) => {
      await compareHistory(store, run);
      undone += await repeatLastWrites(store, run, promises);
    });
    console.log(`${promised.acknowledged} writes were acknowledged, ${undone} begun ones had not happened`);
    assert.ok(promised.acknowledged > 60);
  });

  test("buffered, 15 times: what the process was told survives it, and the counter jumps past what may be lost", async () => {
    const random = new SeededRandom();
    console.log(`seed of the buffered rounds: ${random.seed}`);
    const promised = await killRounds("buffered", 15, random, async (store, run, promises) => {
      if (run.opened !== undefined) {
        const given = Math.max(run.opened, ...run.lines.map((line) => ("revision" in line ? line.revision : 0)));
        assert.ok(store.revision >= given + stride, `from ${given} to ${store.revision}`);
        assert.equal(store.stats().oldest_revision, store.revision);
      }
      await repeatLastWrites(store, run, promises);
    });
    console.log(`${promised.acknowledged} writes were acknowledged`);
    assert.ok(promised.acknowledged > 15);
  });
});
