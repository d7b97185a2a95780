import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { openMemoryStore, openStore } from "../../src/level/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { rejection } from "./rejection.js";
import { temporaryFolder } from "./temporary-folder.js";

describe("staged writes", () => {
  test("no reader sees a write before it is durable", async () => {
    const store = await openStore({ dataDir: await temporaryFolder() });
    // Two at a time: after a lone commit the next one would begin at once, and might be on disk before it is looked for.
    await Promise.all(["a", "c"].map((id) => store.put({ shape: "note", id, set: { n: 1 } })));
    const { revision } = store;
    const seen: string[] = [];
    const watcher = store.watch({ since: revision })[Symbol.asyncIterator]();
    const told = watcher.next().then(() => seen.push("watch"));
    const waiting = store.waitFor("note", "b", { after: 0, timeout: 60 }).then(() => seen.push("waitFor"));
    const writing = store.put({ shape: "note", id: "a", set: { n: 2 } }).then(() => seen.push("put a"));
    const creating = store.put({ shape: "note", id: "b", set: {} }).then(() => seen.push("put b"));
    assert.deepEqual(await store.get("note", "a"), { n: 1 });
    assert.equal(await store.get("note", "b"), undefined);
    assert.equal(store.revision, revision);
    assert.deepEqual(seen, []);
    await Promise.all([told, waiting, writing, creating]);
    assert.deepEqual(seen.toSorted(), ["put a", "put b", "waitFor", "watch"]);
    await watcher.return?.();
    await store.close();
  });

  test("a write is judged by the staged state, and its refusal waits until that state is durable", async () => {
    const store = await openStore({ dataDir: await temporaryFolder() });
    const order: string[] = [];
    const first = store.put({ shape: "note", id: "a", set: { n: 1 }, if_match: { exists: false } }).then((result) => {
      order.push("created");
      return result;
    });
    const losers = [
      rejection(store.put({ shape: "note", id: "a", set: {}, if_match: { exists: false } }), "precondition_failed"),
      rejection(
        store.batch([{ op: "check", shape: "note", id: "a", if_match: { exists: false } }]),
        "precondition_failed",
      ),
    ].map((loser) => loser.then(() => order.push("refused")));
    const follower = store.patch({ shape: "note", id: "a", merge: { m: 2 } }).then(() => order.push("patched"));
    const removal = store
      .delete({ shape: "note", id: "a", if_match: { fields: { m: 2 } } })
      .then(() => order.push("gone"));
    const missing = rejection(store.patch({ shape: "note", id: "a", merge: {} }), "not_found").then(() =>
      order.push("missing"),
    );
    await Promise.all([first, ...losers, follower, removal, missing]);
    assert.equal(order[0], "created");
    assert.equal(await store.get("note", "a"), undefined);
    await store.close();
  });

  test("a check that holds against a staged state is answered no earlier than it", async () => {
    const store = await openStore({ dataDir: await temporaryFolder() });
    let written = false;
    const writing = store.put({ shape: "note", id: "a", set: {} }).then(() => {
      written = true;
    });
    await store.batch([{ op: "check", shape: "note", id: "a", if_match: { exists: true } }]);
    assert.ok(written || store.revision > 0);
    assert.deepEqual(await store.get("note", "a"), {});
    await writing;
    await store.close();
  });

  test("a renewal that was accepted in time never looks absent while it is being written", async () => {
    const clock = new ManualClock();
    for (const name of ["get", "getDocument", "getMany", "list", "scan", "waitFor"] as const) {
      const store = await openStore({ dataDir: await temporaryFolder(), clock });
      await store.put({ shape: "lease", id: "a", set: { n: 1 }, ttl: 1 });
      clock.advance(999);
      const renewing = store.patch({ shape: "lease", id: "a", ttl: 60 });
      clock.advance(5);
      const readers = {
        get: () => store.get("lease", "a"),
        getDocument: () => store.getDocument("lease", "a"),
        getMany: async () => (await store.getMany([{ shape: "lease", id: "a" }]))[0],
        list: async () => (await store.list("lease")).documents[0],
        scan: async () => {
          for await (const document of store.scan("lease")) return document;
          return undefined;
        },
        waitFor: async () => (await store.waitFor("lease", "a", { timeout: 0 })).document,
      };
      assert.ok(await readers[name](), name);
      await renewing;
      await store.close();
    }
  });

  test("the deadline of a write that is judged late counts from the instant it was judged", async () => {
    const clock = new ManualClock();
    const store = await openMemoryStore({ clock });
    await store.put({ shape: "lease", id: "a", set: {}, ttl: 1 });
    clock.advance(999);
    const renewing = store.patch({ shape: "lease", id: "a", ttl: 1, return: "document" });
    clock.advance(500);
    const { document, expires_at } = await renewing;
    assert.equal(Date.parse(expires_at ?? "") - Date.parse(document?.updated_at ?? ""), 1000);
    clock.advance(499);
    assert.notEqual(await store.get("lease", "a"), undefined);
    clock.advance(1);
    assert.equal(await store.get("lease", "a"), undefined);
    await store.close();
  });

  test("polling reads do not keep a write from happening", async () => {
    const store = await openMemoryStore();
    const writing = store.put({ shape: "note", id: "a", set: {} });
    let reads = 0;
    while ((await store.get("note", "a")) === undefined) {
      reads += 1;
      assert.ok(reads < 1_000_000, "the write never happens while somebody polls for it");
    }
    await writing;
    await store.close();
  });
});
