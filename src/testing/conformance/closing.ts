import assert from "node:assert/strict";
import { OnceKvError } from "../../base/errors.js";
import { type Register, soon } from "./case.js";
import { drain, revisionOf } from "./observing.js";
import { refuses } from "./refusals.js";

function isClosed(error: unknown): boolean {
  return error instanceof OnceKvError && error.code === "store_closed";
}

/** close. */
export function closingCases(register: Register): void {
  register("after close every call rejects with store_closed", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: {} });
    await store.close();
    const calls: [name: string, call: () => Promise<unknown>][] = [
      ["get", () => store.get(shape, "a")],
      ["getDocument", () => store.getDocument(shape, "a")],
      ["getMany", () => store.getMany([{ shape, id: "a" }])],
      ["put", () => store.put({ shape, id: "a", set: {} })],
      ["patch", () => store.patch({ shape, id: "a", merge: { n: 1 } })],
      ["delete", () => store.delete({ shape, id: "a" })],
      ["batch", () => store.batch([{ op: "put", shape, id: "a", set: {} }])],
      ["list", () => store.list(shape)],
      ["scan", () => drain(() => store.scan(shape))],
      ["watch", () => drain(() => store.watch({ shape }))],
      ["watch since", () => drain(() => store.watch({ shape, since: 1 }))],
      ["waitFor", () => store.waitFor(shape, "a", { after: 0, timeout: 60 })],
    ];
    for (const [name, call] of calls) await refuses(call, "store_closed", name);
  });

  register("close may be called again, and together", async ({ store }) => {
    await soon(Promise.all([store.close(), store.close()]), "closing twice");
    await soon(store.close(), "closing again");
  });

  register("close ends those who wait and watch", async ({ store, shape }) => {
    const since = await revisionOf(store, shape);
    const waiting = [0, 1, 2].map((n) => store.waitFor(shape, `d${n}`, { after: 0, timeout: 60 }));
    const watching = [0, 1, 2].map(() => drain(() => store.watch({ shape, since })));
    const outcomes = Promise.allSettled([...waiting, ...watching]);
    await store.get(shape, "a");
    await soon(store.close(), "closing");
    for (const outcome of await soon(outcomes, "those who wait")) {
      assert.ok(outcome.status === "rejected" && isClosed(outcome.reason), JSON.stringify(outcome));
    }
  });

  register("a write that close overtakes is done or rejected, never left pending", async ({ store, shape }) => {
    const writes = Array.from({ length: 100 }, (_, n) => store.put({ shape, id: `d${n}`, set: { n } }));
    const outcomes = Promise.allSettled(writes);
    await soon(store.close(), "closing");
    for (const outcome of await soon(outcomes, "the writes")) {
      if (outcome.status === "fulfilled") continue;
      const { reason } = outcome;
      // A remote store may have lost the answer to a write that it had sent.
      const known = isClosed(reason) || (reason instanceof OnceKvError && reason.code === "outcome_unknown");
      assert.ok(known, String(reason));
    }
  });

  register("reads, lists and scans that close overtakes are answered or rejected", async ({ store, shape }) => {
    await store.batch(Array.from({ length: 200 }, (_, n) => ({ op: "put" as const, shape, id: `d${n}`, set: {} })));
    const outcomes = Promise.allSettled([
      ...Array.from({ length: 20 }, (_, n) => store.get(shape, `d${n}`)),
      ...Array.from({ length: 20 }, () => store.list(shape)),
      ...Array.from({ length: 20 }, () => drain(() => store.scan(shape))),
    ]);
    await soon(store.close(), "closing");
    for (const outcome of await soon(outcomes, "the reads")) {
      if (outcome.status === "rejected") assert.ok(isClosed(outcome.reason), String(outcome.reason));
    }
  });
}
