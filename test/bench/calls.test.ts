import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { benchCalls } from "../../bench/calls/calls.js";
import { Effects } from "../../bench/calls/effects.js";
import { CallNumbers, freshCalls, replayedCalls } from "../../bench/calls/protocol-cases.js";
import { summarizeWakings, wakeOnce } from "../../bench/calls/waking.js";
import { type MeasuredCase, measureInterleaved } from "../../bench/measure.js";
import type { BenchTable } from "../../bench/table.js";
import { openMemoryStore } from "../../src/index.js";
import type { EmbeddedStore } from "../../src/level/embedded-store.js";
import { type ToolCalls, toolCalls } from "../../src/tool-calls/index.js";
import { ignoresConditions, type PutFault, storesNothing, withFault } from "./faulty-store.js";
import { tablesOf, tinyWorld } from "./tiny-world.js";

describe("the group calls", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "oncekv-test-"));
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function tables(signal: AbortSignal): Promise<BenchTable[]> {
    return tablesOf(benchCalls(await tinyWorld(folder, { durabilities: ["durable"], signal })));
  }

  it("measures calls and wakings in this process and over HTTP, and leaves nothing behind", async () => {
    const list = await tables(new AbortController().signal);
    expect(list.map(({ setting }) => setting)).toEqual([
      { measures: "cost", target: "embedded", durability: "durable", callers: 4 },
      { measures: "cost", target: "http", durability: "durable", callers: 4 },
      { measures: "waking", durability: "durable", waiters: 5 },
    ]);
    for (const { title, setting, rows } of list) {
      expect(title).toContain("durable (");
      expect(rows.map((row) => row.case)).toEqual(
        setting["measures"] === "cost"
          ? ["put-new", "create-if-absent", "run-fresh", "run-replay"]
          : ["embedded", "http", "bare node:http"].flatMap((place) => [`${place}, 1 waiter`, `${place}, 5 waiters`]),
      );
      for (const { values } of rows) {
        // A waiter may be awake before complete is answered.
        const { last_after_completed_p50_ms: after = 0, ...others } = values;
        expect(after).toSatisfy(Number.isFinite);
        for (const value of Object.values(others)) expect(value).toBeGreaterThan(0);
      }
    }
    expect(list.at(-1)?.targets).toMatchObject([
      { name: "complete to waiter awake, over HTTP, median", unit: "ms", target: 2 },
      { name: "5 waiters awake, over HTTP, the last one, median", unit: "ms", target: 50 },
    ]);
    expect(await readdir(folder)).toEqual([]);
  }, 180_000);

  it("ends when it is interrupted, and leaves nothing behind", async () => {
    await expect(tables(AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("the cases of a tool call", () => {
  let store: EmbeddedStore;

  beforeEach(async () => {
    store = await openMemoryStore();
  });

  afterEach(() => store.close());

  function measure(one: MeasuredCase): Promise<unknown> {
    return measureInterleaved([one], { callers: 2, warmupRounds: 0, rounds: 2, roundMs: 0, operationsPerCaller: 2 });
  }

  it("pass on calls that are right", async () => {
    const calls = toolCalls(store);
    const numbers = new CallNumbers();
    await expect(measure(freshCalls(calls, numbers))).resolves.toBeDefined();
    await expect(measure(await replayedCalls(calls, numbers, 4))).resolves.toBeDefined();
  });

  /** Completes with another result than the tool's. */
  const storesOtherResults: PutFault = (target, write) =>
    target.put("result" in write.set ? { ...write, set: { ...write.set, result: "another" } } : write);

  const storeFaults: readonly (readonly [PutFault, RegExp])[] = [
    [ignoresConditions, /has fired again/],
    [storesNothing, /must be recorded as completed/],
    [storesOtherResults, /must be recorded as completed/],
  ];

  it.each(storeFaults)("fail when calls are fresh on a store with a fault: %o", async (fault, words) => {
    await expect(measure(freshCalls(toolCalls(withFault(store, fault)), new CallNumbers()))).rejects.toThrow(words);
  });

  it("fail when a completed call fires again", async () => {
    const calls = toolCalls(withFault(store, ignoresConditions));
    await expect(measure(await replayedCalls(calls, new CallNumbers(), 4))).rejects.toThrow("has fired again");
  });

  it("fail when a completed call is answered with another result", async () => {
    const one = await replayedCalls(toolCalls(withFault(store, storesOtherResults)), new CallNumbers(), 4);
    await expect(measure(one)).rejects.toThrow("must be a replay");
  });

  it("fail when the tool is entered twice, or not at all, or for a call that nobody made", () => {
    const effects = new Effects();
    effects.tool(1)();
    effects.checkOnce([1]);
    effects.tool(2)();
    effects.tool(2)();
    expect(() => effects.checkOnce([2])).toThrow("2 effects");
    expect(() => effects.checkOnce([2, 3])).toThrow();
    const others = new Effects();
    expect(() => others.checkOnce([4])).toThrow("0 effects");
    others.tool(4)();
    others.tool(5)();
    expect(() => others.checkOnce([4])).toThrow("was not made");
  });

  describe("that is waited for", () => {
    function wake(calls: ToolCalls, waiters = 3): ReturnType<typeof wakeOnce> {
      const waiting = (): Promise<number> => Promise.resolve(store.stats().waiters);
      return wakeOnce({ name: "embedded", calls, waiting }, new CallNumbers(), waiters);
    }

    /** Calls whose `run` is not what it should be. */
    function withRun(run: (...given: Parameters<ToolCalls["run"]>) => Promise<unknown>): ToolCalls {
      const calls = toolCalls(store);
      return new Proxy(calls, {
        get(target, name): unknown {
          if (name === "run") return run;
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    }

    it("wakes all, and each gets the stored result", async () => {
      const { awakeMs, completedMs } = await wake(toolCalls(store));
      expect(awakeMs).toHaveLength(3);
      expect(awakeMs).toEqual(awakeMs.toSorted((one, other) => one - other));
      expect(completedMs).toBeGreaterThan(0);
    });

    it("fails when a waiter fires", async () => {
      await expect(wake(toolCalls(withFault(store, ignoresConditions)))).rejects.toThrow("has fired again");
    });

    it("fails when a waiter does not wait", async () => {
      const calls = withRun(() =>
        Promise.resolve({
          result: { message_id: "message-1", accepted: true },
          was_replay: true,
          attempt: 1,
          persisted: true,
        }),
      );
      await expect(wake(calls)).rejects.toThrow("did not wait");
    });

    it("fails when a waiter gets something else", async () => {
      const real = toolCalls(store);
      const calls = withRun(async (request, tool) => ({ ...(await real.run(request, tool)), result: "another" }));
      await expect(wake(calls)).rejects.toThrow("must be a replay");
    });

    it("is summed up over all waiters and over the last ones", () => {
      const summary = summarizeWakings([
        { awakeMs: [1, 2, 3], completedMs: 4 },
        { awakeMs: [2, 3, 9], completedMs: 4 },
      ]);
      expect(summary).toEqual({
        waiterP50Ms: 2,
        waiterP99Ms: 9,
        lastP50Ms: 3,
        lastMaxMs: 9,
        lastAfterCompletedP50Ms: -1,
      });
    });
  });
});
