import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryLevel } from "memory-level";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ScatteredIds } from "../../bench/claim-documents.js";
import { sweepBarely } from "../../bench/expiry/bare-sweep.js";
import { Claiming } from "../../bench/expiry/claiming.js";
import { deadlineKinds } from "../../bench/expiry/deadlines.js";
import { expiringId, followExpiries } from "../../bench/expiry/expire-events.js";
import { benchExpiry } from "../../bench/expiry/expiry.js";
import { lagOf } from "../../bench/expiry/lag.js";
import { SkippingClock } from "../../bench/expiry/skipping-clock.js";
import { checkSwept, sweepLoaded } from "../../bench/expiry/sweeping.js";
import type { BenchTable } from "../../bench/table.js";
import type { Change, Commit, DocumentStore } from "../../src/documents/contract.js";
import { openMemoryStore } from "../../src/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { ignoresConditions, refusesAll, storesNothing, storesOtherFields, withFault } from "./faulty-store.js";
import { tablesOf, tinyWorld } from "./tiny-world.js";

describe("the group expiry", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "oncekv-test-"));
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function tables(signal: AbortSignal): Promise<BenchTable[]> {
    return tablesOf(benchExpiry(await tinyWorld(folder, { durabilities: ["durable"], signal })));
  }

  it("measures sweeps and lags of both kinds of deadlines, and leaves nothing behind", async () => {
    const list = await tables(new AbortController().signal);
    expect(list.map(({ setting }) => `${setting["measures"]} ${setting["deadlines"]}`)).toEqual([
      "sweep within an hour",
      "sweep beyond an hour",
      "lag undefined",
    ]);
    for (const { title, setting, rows, targets } of list) {
      expect(title).toContain("durable (");
      for (const { values } of rows) {
        for (const value of Object.values(values)) if (value !== null) expect(value).toBeGreaterThanOrEqual(0);
      }
      if (setting["measures"] === "lag") {
        expect(rows.map(({ values }) => values["events"])).toEqual([10, 10]);
        continue;
      }
      const cases = rows.map((row) => row.case);
      expect(cases).toEqual(["claim, nothing to sweep", "claim, sweep under way", "LevelDB alone"]);
      expect(rows[1]?.values["swept_per_second"]).toBeGreaterThan(0);
      expect(rows[2]?.values["swept_per_second"]).toBeGreaterThan(0);
      expect(targets.map(({ unit, target }) => `${target} ${unit}`)).toEqual(["100000 documents/s", "2 x"]);
      for (const { measured } of targets) expect(measured).toBeGreaterThan(0);
    }
    expect(await readdir(folder)).toEqual([]);
  });

  it("ends when it is interrupted, and leaves nothing behind", async () => {
    await expect(tables(AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("a sweep by LevelDB alone", () => {
  it("fails when a document is gone already", async () => {
    const level = new MemoryLevel<Buffer, Buffer>({ keyEncoding: "buffer", valueEncoding: "buffer" });
    const keys = [Buffer.from("1"), Buffer.from("2")];
    await level.put(keys[0] as Buffer, Buffer.from("there"));
    const swept = sweepBarely(level as never, keys, new AbortController().signal);
    await expect(swept).rejects.toThrow("a document is gone");
    await level.close();
  });
});

describe("following expiries", () => {
  const expiry = (number: number, changes: Partial<Change> = {}): Change => ({
    type: "expire",
    shape: "expiring",
    id: expiringId(number),
    document: null,
    ...changes,
  });

  async function* watch(...commits: Commit[]): AsyncGenerator<Commit> {
    yield* commits;
  }

  it("ends with the last of them", async () => {
    const heard: number[] = [];
    const commits = watch(
      { revision: 3, changes: [expiry(1)] },
      { revision: 3, changes: [] },
      { revision: 5, changes: [expiry(0), expiry(2)] },
      { revision: 4, changes: [] },
    );
    await followExpiries(commits, 3, (number) => heard.push(number));
    expect(heard).toEqual([1, 0, 2]);
  });

  it.each<[string, RegExp, Commit[]]>([
    ["an expiry comes twice", /twice/, [{ revision: 1, changes: [expiry(0), expiry(0)] }]],
    ["an expiry is missing", /before 1 of 2/, [{ revision: 1, changes: [expiry(0)] }]],
    ["a document comes back", /a put of/, [{ revision: 1, changes: [expiry(0, { type: "put" })] }]],
    ["a document is unknown", /only expiries/, [{ revision: 1, changes: [expiry(2)] }]],
    ["an id is not one of them", /only expiries/, [{ revision: 1, changes: [expiry(0, { id: "other-0" })] }]],
    [
      "commits are out of order",
      /revision 1 after revision 2/,
      [
        { revision: 2, changes: [expiry(0)] },
        { revision: 1, changes: [expiry(1)] },
      ],
    ],
  ])("fails when %s", async (_, words, commits) => {
    await expect(followExpiries(watch(...commits), 2)).rejects.toThrow(words);
  });

  it("fails when the time is over, and with what the watch throws", async () => {
    const failing = async function* (error: unknown): AsyncGenerator<Commit> {
      yield { revision: 1, changes: [expiry(0)] };
      throw error;
    };
    const late = new DOMException("too late", "TimeoutError");
    await expect(followExpiries(failing(late), 2)).rejects.toThrow("before 1 of 2 expiries");
    await expect(followExpiries(failing(new Error("enough")), 2)).rejects.toThrow("enough");
  });

  it("takes no event before the deadline", () => {
    expect(lagOf(1000, 1007)).toBe(7);
    expect(() => lagOf(1000, 999)).toThrow("1 ms before its deadline");
    expect(() => lagOf(undefined, 999)).toThrow();
  });
});

describe("claims beside a sweep", () => {
  const claimingIn = (store: DocumentStore): Claiming =>
    new Claiming(store, { shape: "claim", ids: new ScatteredIds(), ttl: 60, callers: 3 });

  it("go on until the end, at least once a caller", async () => {
    const store = await openMemoryStore();
    const claiming = claimingIn(store);
    const { latenciesMs } = await claiming.until(Promise.resolve());
    expect(latenciesMs.length).toBeGreaterThanOrEqual(3);
    expect(claiming.won).toBe(latenciesMs.length);
    await expect(claiming.until(Promise.reject(new Error("enough")))).rejects.toThrow("enough");
    await store.close();
  });

  it.each([storesNothing, storesOtherFields, refusesAll])("fail on a store that loses them: %o", async (fault) => {
    const store = await openMemoryStore();
    await expect(claimingIn(withFault(store, fault)).until(Promise.resolve())).rejects.toThrow();
    await store.close();
  });

  it("fail on a store that gives a claim twice", async () => {
    const store = await openMemoryStore();
    const claim = (): Promise<unknown> => claimingIn(withFault(store, ignoresConditions)).until(Promise.resolve());
    await claim();
    await expect(claim()).rejects.toThrow("did not create it");
    await store.close();
  });
});

describe("the check after a sweep", () => {
  it("fails when something is left on disk", async () => {
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock, sweep: false });
    await store.put({ shape: "expiring", id: "1", set: {}, ttl: 1 });
    await checkSwept(store, 1);
    await expect(checkSwept(store, 0)).rejects.toThrow("but 1 documents");
    clock.advance(2000);
    await expect(checkSwept(store, 0)).rejects.toThrow("1 expiries were told of before");
    await store.close();
  });

  it("fails when an expiry is never told of", async () => {
    const clock = new SkippingClock();
    const store = await openMemoryStore({ clock });
    const [kind] = deadlineKinds;
    if (kind === undefined) throw new Error("there is no kind of deadlines");
    await store.put({ shape: "expiring", id: expiringId(0), set: {}, ttl: kind.ttl });
    const world = { signal: new AbortController().signal, say: () => {} };
    const patience = vi
      .spyOn(AbortSignal, "timeout")
      .mockReturnValue(AbortSignal.abort(new DOMException("", "TimeoutError")));
    const plan = { documents: 2, callers: 1, quietMs: 0, stillMs: 0 };
    await expect(sweepLoaded(store, clock, world, kind, plan)).rejects.toThrow(/of 2 expiries/);
    patience.mockRestore();
    await store.close();
  });
});

describe("the clock that skips", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("moves both clocks, and fires what falls due at once", () => {
    const clock = new SkippingClock();
    const [wall, monotonic] = [clock.wallNow(), clock.monotonicNow()];
    const fired: string[] = [];
    clock.setTimer(5000, () => fired.push("due"));
    clock.setTimer(10_000, () => fired.push("later"), { keepAlive: true });
    const cancel = clock.setTimer(5000, () => fired.push("cancelled"));
    cancel();
    clock.skip(6000);
    expect([clock.wallNow() - wall, clock.monotonicNow() - monotonic]).toEqual([6000, 6000]);
    vi.advanceTimersByTime(0);
    expect(fired).toEqual(["due"]);
    vi.advanceTimersByTime(3999);
    expect(fired).toEqual(["due"]);
    vi.advanceTimersByTime(1);
    expect(fired).toEqual(["due", "later"]);
  });

  it("does not fire a timer that is longer than the system's before its time", () => {
    const clock = new SkippingClock();
    const fired = vi.fn();
    clock.setTimer(2 ** 32, fired);
    vi.advanceTimersByTime(2 ** 31);
    expect(fired).not.toHaveBeenCalled();
    clock.skip(2 ** 32);
    vi.advanceTimersByTime(0);
    expect(fired).toHaveBeenCalledOnce();
  });
});
