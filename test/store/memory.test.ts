import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, test } from "vitest";
import { openStore } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { temporaryFolder } from "./temporary-folder.js";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

function heapMegabytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

describe("memory", () => {
  test("20,000 distinct ids, written, waited for and gone, leave the heap where it was", async () => {
    const clock = new ManualClock();
    const store = await openStore({
      dataDir: await temporaryFolder(),
      durability: "buffered",
      clock,
      history: { maxBytes: 1024 * 1024 },
    });
    const useIds = async (label: string, count: number): Promise<void> => {
      for (let start = 0; start < count; start += 500) {
        await Promise.all(
          Array.from({ length: 500 }, async (_, n) => {
            const key = { shape: "lease", id: `${label}-${start + n}` };
            await store.put({ ...key, set: { n }, ttl: 1, if_match: { exists: false } });
            await store.put({ ...key, set: {}, if_match: { exists: false } }).catch(() => undefined);
            await store.waitFor(key.shape, key.id, { after: 0, timeout: 5 });
          }),
        );
        clock.advance(1100);
        await store.sweep();
      }
    };
    await useIds("warm", 5_000);
    const before = heapMegabytes();
    await useIds("used", 20_000);
    const after = heapMegabytes();
    const { locks, waiters, watchers, staged_bytes } = store.stats();
    assert.deepEqual([locks, waiters, watchers, staged_bytes], [0, 0, 0, 0]);
    assert.equal((await store.verify()).documents, 0);
    assert.ok(after - before < 8, `the heap grew from ${before.toFixed(1)} to ${after.toFixed(1)} MB`);
    await store.close();
  });

  test("the timers of waits that ended, in whichever way, are gone", async () => {
    const clock = new ManualClock();
    const store = await openStore({ dataDir: await temporaryFolder(), clock });
    const idle = clock.timerCount;
    const controllers = Array.from({ length: 30 }, () => new AbortController());
    const waits = controllers.map(({ signal }, n) =>
      store.waitFor("note", `${n % 3}`, { after: 0, timeout: 300, signal }),
    );
    const watches = Array.from({ length: 5 }, () => store.watch({ shape: "note" })[Symbol.asyncIterator]());
    const pending = watches.map((watch) => watch.next());
    await new Promise(setImmediate);
    assert.ok(clock.timerCount >= idle + 30);
    await store.put({ shape: "note", id: "0", set: {} });
    for (const controller of controllers) controller.abort();
    await Promise.allSettled(waits);
    for (const watch of watches) await watch.return?.();
    await Promise.allSettled(pending);
    assert.ok(clock.timerCount <= idle, `${clock.timerCount} timers, ${idle} before`);
    await store.close();
    assert.equal(clock.timerCount, 0, "after close there are none at all");
  });
});
