import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { isPending, type Register, soon } from "./case.js";
import { present, timeless } from "./observing.js";
import { refusesRequest, unchecked } from "./refusals.js";

/** waitFor. */
export function waitingCases(register: Register): void {
  register("waitFor answers at once when the document is not as the caller knew it", async ({ store, shape }) => {
    const old = await store.put({ shape, id: "a", set: { n: 1 } });
    await store.put({ shape, id: "a", set: { n: 2 } });
    const current = await present(store, shape, "a");
    for (const after of [0, old.revision, current.revision + 2 ** 20]) {
      const result = await soon(store.waitFor(shape, "a", { after, timeout: 60 }));
      assert.equal(result.changed, true, `after ${after}`);
      assert.deepEqual(timeless(result.document), timeless(current));
    }
    const gone = await soon(store.waitFor(shape, "nobody", { after: old.revision, timeout: 60 }));
    assert.deepEqual(gone, { changed: true, document: null });
  });

  register("waitFor with timeout 0 tells whether something has changed, without waiting", async ({ store, shape }) => {
    assert.deepEqual(await soon(store.waitFor(shape, "a", { after: 0, timeout: 0 })), {
      changed: false,
      document: null,
    });
    assert.deepEqual(await soon(store.waitFor(shape, "a", { timeout: 0 })), { changed: false, document: null });
    const { revision } = await store.put({ shape, id: "a", set: { n: 1 } });
    const same = await soon(store.waitFor(shape, "a", { after: revision, timeout: 0 }));
    assert.equal(same.changed, false);
    assert.deepEqual(timeless(same.document), timeless(await present(store, shape, "a")));
    assert.equal((await soon(store.waitFor(shape, "a", { after: 0, timeout: 0 }))).changed, true);
  });

  register("waitFor wakes when an absent document is created", async ({ store, shape }) => {
    const waiting = store.waitFor(shape, "a", { after: 0, timeout: 60 });
    assert.ok(await isPending(waiting));
    const { revision } = await store.put({ shape, id: "a", set: { n: 1 } });
    const { changed, document } = await soon(waiting);
    assert.deepEqual([changed, document?.revision, document?.fields], [true, revision, { n: 1 }]);
  });

  register("waitFor wakes at a put, a patch, a renewal and a deletion", async ({ store, shape }) => {
    let after = (await store.put({ shape, id: "a", set: { n: 1 } })).revision;
    const writes: (() => Promise<{ revision: number }>)[] = [
      () => store.put({ shape, id: "a", set: { n: 2 } }),
      () => store.patch({ shape, id: "a", merge: { n: 3 } }),
      () => store.patch({ shape, id: "a", ttl: 60 }),
      () => store.batch([{ op: "patch", shape, id: "a", merge: { n: 4 } }]),
    ];
    for (const write of writes) {
      const waiting = store.waitFor(shape, "a", { after, timeout: 60 });
      assert.ok(await isPending(waiting));
      const { revision } = await write();
      const { changed, document } = await soon(waiting);
      assert.deepEqual([changed, document?.revision], [true, revision]);
      after = revision;
    }
    const waiting = store.waitFor(shape, "a", { after, timeout: 60 });
    assert.ok(await isPending(waiting));
    await store.delete({ shape, id: "a" });
    assert.deepEqual(await soon(waiting), { changed: true, document: null });
  });

  register("waitFor without after waits for a change of the state at the call", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: { n: 0 } });
    const waiting = store.waitFor(shape, "a", { timeout: 60 });
    assert.ok(await isPending(waiting));
    let woken = false;
    void waiting.then(() => {
      woken = true;
    });
    // A remote store may learn of the call only after the first of these.
    for (let n = 1; !woken && n < 200; n++) {
      await store.put({ shape, id: "a", set: { n } });
      await sleep(5);
    }
    const { changed, document } = await soon(waiting);
    assert.equal(changed, true);
    assert.notDeepEqual(document?.fields, { n: 0 });
  });

  register("waitFor is not woken by other documents", async (subject) => {
    const { store, shape } = subject;
    const other = subject.freshShape();
    const { revision } = await store.put({ shape, id: "a", set: {} });
    const waiting = store.waitFor(shape, "a", { after: revision, timeout: 60 });
    await store.put({ shape, id: "ab", set: {} });
    await store.put({ shape, id: "", set: {} }).catch(() => undefined);
    await store.put({ shape: other, id: "a", set: {} });
    await store.batch([{ op: "check", shape, id: "a", if_match: { exists: true } }]);
    assert.ok(await isPending(waiting));
    await store.delete({ shape, id: "a" });
    assert.equal((await soon(waiting)).changed, true);
  });

  register(
    "waitFor answers changed: false with the document when its time is over",
    async ({ store, shape, settle }) => {
      const { revision } = await store.put({ shape, id: "a", set: { n: 1 } });
      const present = await settle(store.waitFor(shape, "a", { after: revision, timeout: 0.3 }));
      assert.equal(present.changed, false);
      assert.deepEqual(present.document?.fields, { n: 1 });
      const absent = await settle(store.waitFor(shape, "nobody", { after: 0, timeout: 0.3 }));
      assert.deepEqual(absent, { changed: false, document: null });
    },
  );

  register("an expiry wakes waitFor at the deadline, not at a sweep", async ({ store, shape, pass, exactTime }) => {
    // Not a round instant, at which a sweeper might come by chance.
    const { revision } = await store.put({ shape, id: "a", set: {}, ttl: 0.537 });
    const waiting = store.waitFor(shape, "a", { after: revision, timeout: 60 });
    assert.ok(await isPending(waiting));
    await pass(exactTime ? 536 : 100);
    assert.ok(await isPending(waiting), "the document still lives");
    await pass(exactTime ? 1 : 487);
    assert.deepEqual(await soon(waiting), { changed: true, document: null });
  });

  register("waitFor of an expired document answers at once", async ({ store, shape, pass }) => {
    const { revision } = await store.put({ shape, id: "a", set: {}, ttl: 0.2 });
    await pass(250);
    const result = await soon(store.waitFor(shape, "a", { after: revision, timeout: 60 }));
    assert.deepEqual(result, { changed: true, document: null });
    assert.deepEqual(await store.waitFor(shape, "a", { after: 0, timeout: 0 }), { changed: false, document: null });
  });

  register("a renewal moves the deadline that waitFor wakes at", async ({ store, shape, pass }) => {
    await store.put({ shape, id: "a", set: {}, ttl: 0.3 });
    const { revision } = await store.patch({ shape, id: "a", ttl: 1 });
    const waiting = store.waitFor(shape, "a", { after: revision, timeout: 60 });
    assert.ok(await isPending(waiting));
    await pass(400);
    assert.ok(await isPending(waiting), "the first deadline no longer counts");
    await pass(650);
    assert.deepEqual(await soon(waiting), { changed: true, document: null });
  });

  register("an aborted waitFor rejects with the signal's reason", async ({ store, shape }) => {
    const reason = new Error("enough");
    const options = { after: 0, timeout: 60 };
    await assert.rejects(soon(store.waitFor(shape, "a", { ...options, signal: AbortSignal.abort(reason) })), reason);
    const controller = new AbortController();
    const waiting = store.waitFor(shape, "a", { ...options, signal: controller.signal });
    const ended = assert.rejects(soon(waiting), reason);
    await sleep(10);
    controller.abort(reason);
    await ended;
    await store.put({ shape, id: "a", set: {} });
  });

  register("one write wakes everybody who waits for the document", async ({ store, shape }) => {
    const waiting = Array.from({ length: 50 }, () => store.waitFor(shape, "a", { after: 0, timeout: 60 }));
    assert.ok(await isPending(Promise.race(waiting)));
    const { revision } = await store.put({ shape, id: "a", set: { n: 1 } });
    const results = await soon(Promise.all(waiting), "all who wait");
    assert.ok(results.every(({ changed, document }) => changed && document?.revision === revision));
  });

  register("following a document with waitFor reaches its last state", async ({ store, shape }) => {
    const writer = (async () => {
      for (let n = 1; n <= 100; n++) await store.put({ shape, id: "a", set: { n } });
    })();
    let after = 0;
    let n = 0;
    while (n < 100) {
      const { changed, document } = await soon(store.waitFor(shape, "a", { after, timeout: 60 }));
      assert.equal(changed, true);
      const next = Number(document?.fields["n"]);
      assert.ok(next > n, "never back, never the same twice");
      n = next;
      after = document?.revision ?? 0;
    }
    await writer;
  });

  register("waitFor refuses options that are wrong or unknown", async ({ store, shape }) => {
    const { waitSecondsMax } = store.limits;
    const wrong: object[] = [
      { timeout: -1 },
      { timeout: waitSecondsMax + 1 },
      { timeout: Number.NaN },
      { timeout: Infinity },
      { timeout: "1" },
      { timeout: null },
      { after: -1 },
      { after: 1.5 },
      { after: "1" },
      { after: null },
      { since: 1 },
      { signal: {} },
    ];
    for (const options of wrong) {
      const [name] = Object.keys(options);
      await refusesRequest(() => store.waitFor(shape, "a", unchecked(options)), name, JSON.stringify(options));
    }
    await refusesRequest(() => store.waitFor(shape, ""), "id");
    await refusesRequest(() => store.waitFor("Not a shape", "a"), "shape");
    await refusesRequest(() => store.waitFor(shape, "a", unchecked(null)));
  });
}
