import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { OnceKvError } from "../../src/base/errors.js";
import { type EmbeddedStore, openStore } from "../../src/level/index.js";
import { rejection } from "./rejection.js";
import { temporaryFolder } from "./temporary-folder.js";

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items) {
    // Only the end matters.
  }
}

function endsAsClosed(outcome: PromiseSettledResult<unknown>): void {
  if (outcome.status === "fulfilled") return;
  const error: unknown = outcome.reason;
  assert.ok(error instanceof OnceKvError && error.code === "store_closed", String(error));
}

/** Everything that can be under way at once; those who watch and wait are returned apart, they never end by themselves. */
function keepBusy(store: EmbeddedStore, round: number): { ending: Promise<unknown>[]; puts: Promise<unknown>[] } {
  const puts = Array.from({ length: 50 }, (_, n) => store.put({ shape: "note", id: `r${round}-${n}`, set: { n } }));
  const ending = [
    ...Array.from({ length: 25 }, () => drain(store.scan("note"))),
    ...Array.from({ length: 25 }, () => store.list("note", { limit: 1000 })),
    ...Array.from({ length: 5 }, () => drain(store.watch({ since: store.stats().oldest_revision }))),
    ...Array.from({ length: 5 }, (_, n) => store.waitFor("nobody", `${n}`, { after: 0, timeout: 60 })),
    ...Array.from({ length: 20 }, (_, n) => store.getMany([{ shape: "note", id: `r0-${n}` }])),
    store.sweep(),
    store.verify(),
  ];
  return { ending, puts };
}

describe("closing", () => {
  test("close during scans, lists, watchers, waits and puts, 12 times: all settle, and no answered put is lost", async () => {
    const dataDir = await temporaryFolder();
    const kept = new Set<string>();
    for (let round = 0; round < 12; round++) {
      const store = await openStore({ dataDir });
      const { ending, puts } = keepBusy(store, round);
      const outcomes = Promise.allSettled([...puts, ...ending]);
      // Close at another moment each time: at once, within the group's write, or after it.
      for (let turn = 0; turn < round % 6; turn++) await new Promise(setImmediate);
      await store.close();
      const settled = await outcomes;
      settled.forEach(endsAsClosed);
      settled.slice(0, puts.length).forEach((outcome, n) => {
        if (outcome.status === "fulfilled") kept.add(`r${round}-${n}`);
      });
      const again = await openStore({ dataDir });
      const found = new Set<string>();
      for await (const { id } of again.scan("note")) found.add(id);
      assert.deepEqual(
        [...kept].filter((id) => !found.has(id)),
        [],
        `round ${round}`,
      );
      await again.close();
    }
    assert.ok(kept.size > 0);
  });

  test("two stores of one folder, one after the other, never meet", async () => {
    const dataDir = await temporaryFolder();
    const first = await openStore({ dataDir });
    const writes = Promise.all(Array.from({ length: 50 }, (_, n) => first.put({ shape: "note", id: `${n}`, set: {} })));
    const closing = first.close();
    await writes;
    await closing;
    const second = await openStore({ dataDir });
    assert.equal((await second.list("note", { limit: 1000 })).documents.length, 50);
    await rejection(first.get("note", "1"), "store_closed");
    await rejection(first.sweep(), "store_closed");
    await rejection(first.verify(), "store_closed");
    await rejection(first.backup(`${dataDir}.backup`), "store_closed");
    await second.close();
  });

  test("a scan that is left unfinished does not keep close from ending, and ends with store_closed", async () => {
    const store = await openStore({ dataDir: await temporaryFolder() });
    await store.batch(Array.from({ length: 1000 }, (_, n) => ({ op: "put", shape: "note", id: `${n}`, set: {} })));
    const scan = store.scan("note")[Symbol.asyncIterator]();
    assert.equal((await scan.next()).done, false);
    await store.close();
    const reading = (async () => {
      while ((await scan.next()).done !== true) {
        // Until the scan notices.
      }
    })();
    await rejection(reading, "store_closed");
  });

  test("after use nothing is held: no locks, watchers, waiters or staged bytes", async () => {
    const store = await openStore({ dataDir: await temporaryFolder() });
    const controller = new AbortController();
    const watching = Promise.allSettled([
      drain(store.watch({ shape: "note", signal: controller.signal })),
      drain(store.watch({ shape: "note", id: "a", signal: controller.signal })),
      store.waitFor("note", "never", { after: 0, timeout: 60, signal: controller.signal }),
      store.waitFor("note", "a", { after: 0, timeout: 60 }),
    ]);
    const writes = Promise.allSettled(
      Array.from({ length: 50 }, (_, n) => [
        store.put({ shape: "note", id: "a", set: { n } }),
        store.put({ shape: "note", id: `b${n}`, set: { n }, if_match: { exists: n % 2 === 0 } }),
        store.patch({ shape: "note", id: `nobody${n}`, merge: {} }),
        store.batch([
          { op: "delete", shape: "note", id: "a" },
          { op: "put", shape: "note", id: "c", set: {} },
        ]),
        store.put({ shape: "note", id: "bad", set: { n: Number.NaN } }),
      ]).flat(),
    );
    const busy = store.stats();
    assert.equal(busy.watchers, 2);
    assert.equal(busy.waiters, 2);
    assert.ok(busy.staged_bytes > 0);
    for await (const _ of store.watch({ since: 0 })) break;
    await writes;
    await store.put({ shape: "note", id: "a", set: {} });
    controller.abort(new Error("enough"));
    await watching;
    const { locks, watchers, waiters, staged_bytes } = store.stats();
    assert.deepEqual(
      { locks, watchers, waiters, staged_bytes },
      { locks: 0, watchers: 0, waiters: 0, staged_bytes: 0 },
    );
    await store.close();
  });
});
