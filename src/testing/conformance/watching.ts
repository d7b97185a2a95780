import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Commit, WatchOptions } from "../../documents/contract.js";
import { type Register, soon } from "./case.js";
import { CommitReader, drain, present, revisionOf, summary, takeCommits, timeless } from "./observing.js";
import { failsCondition, refuses, refusesRequest, untyped } from "./refusals.js";

/** watch: what it yields, filters and refusals. */
export function watchingCases(register: Register): void {
  register("watch yields each commit once, whole, in order, with its documents", async ({ store, shape }) => {
    const since = await revisionOf(store, shape);
    const first = await store.put({ shape, id: "a", set: { n: 1 }, ttl: 60 });
    const a = await present(store, shape, "a");
    const second = await store.batch([
      { op: "put", shape, id: "c", set: { n: 2 } },
      { op: "patch", shape, id: "a", merge: { m: 2 } },
      { op: "put", shape, id: "b", set: { n: 2 } },
    ]);
    const third = await store.delete({ shape, id: "a" });
    const commits = await takeCommits(store.watch({ shape, since }), 3);
    assert.deepEqual(
      commits.map((commit) => commit.revision),
      [first.revision, second.revision, third.revision],
    );
    assert.deepEqual(summary(commits), ["put a", "put c", "put a", "put b", "delete a"]);
    const changes = commits.flatMap((commit) => commit.changes);
    assert.ok(changes.every((change) => change.shape === shape));
    assert.deepEqual(timeless(changes[0]?.document), timeless(a));
    assert.deepEqual(timeless(changes[1]?.document), timeless(await present(store, shape, "c")));
    assert.deepEqual(changes[2]?.document?.fields, { n: 1, m: 2 });
    assert.equal(changes[2]?.document?.revision, second.revision);
    assert.equal(changes[2]?.document?.expires_at, a.expires_at);
    assert.equal(changes[4]?.document, null);
  });

  register("watch follows commits as they come", async ({ store, shape }) => {
    const reader = new CommitReader(store.watch({ shape, since: await revisionOf(store, shape) }));
    for (let n = 0; n < 10; n++) {
      const coming = reader.next();
      const { revision } = await store.put({ shape, id: "a", set: { n } });
      const commit = await coming;
      assert.equal(commit.revision, revision);
      assert.deepEqual(commit.changes[0]?.document?.fields, { n });
    }
    await reader.end();
  });

  register("watch without since begins now, not earlier", async ({ store, shape }) => {
    await store.put({ shape, id: "before", set: {} });
    const reader = new CommitReader(store.watch({ shape }));
    const first = reader.next();
    let seen = false;
    void first.then(() => {
      seen = true;
    });
    // A remote watch takes a while to begin; the first write that it sees is then one of these.
    for (let n = 0; !seen && n < 500; n++) {
      await store.put({ shape, id: "during", set: { n } });
      await sleep(5);
    }
    assert.deepEqual(summary([await first]), ["put during"]);
    await reader.end();
  });

  register("watch begins at the call, also when iteration begins later", async ({ store, shape }) => {
    const since = await revisionOf(store, shape);
    const commits = store.watch({ shape, since });
    await store.put({ shape, id: "a", set: {} });
    await store.put({ shape, id: "b", set: {} });
    await sleep(20);
    assert.deepEqual(summary(await takeCommits(commits, 2)), ["put a", "put b"]);
  });

  register("watch keeps to a shape, an id or a prefix", async (subject) => {
    const { store, shape } = subject;
    const other = subject.freshShape();
    const since = await revisionOf(store, shape);
    await store.batch([
      { op: "put", shape, id: "a", set: {} },
      { op: "put", shape: other, id: "a", set: {} },
      { op: "put", shape, id: "ab", set: {} },
    ]);
    await store.put({ shape: other, id: "ab", set: {} });
    await store.put({ shape, id: "b", set: {} });
    await store.put({ shape, id: "\u{1F600}", set: {} });
    await store.delete({ shape, id: "ab" });
    await store.put({ shape, id: "a", set: { last: true } });
    const cases: [options: WatchOptions, changes: string[][]][] = [
      [{ shape }, [["put a", "put ab"], ["put b"], ["put \u{1F600}"], ["delete ab"], ["put a"]]],
      [{ shape: other }, [["put a"], ["put ab"]]],
      [{ shape, id: "a" }, [["put a"], ["put a"]]],
      [{ shape, id: "ab" }, [["put ab"], ["delete ab"]]],
      [{ shape, prefix: "a" }, [["put a", "put ab"], ["delete ab"], ["put a"]]],
      [{ shape, prefix: "ab" }, [["put ab"], ["delete ab"]]],
      [{ shape, prefix: "\u{1F600}" }, [["put \u{1F600}"]]],
    ];
    for (const [options, expected] of cases) {
      const commits = await takeCommits(store.watch({ ...options, since }), expected.length);
      assert.deepEqual(
        commits.map((commit) => summary([commit])),
        expected,
        JSON.stringify(options),
      );
    }
  });

  register("watch of the whole store yields batches whole, across shapes", async (subject) => {
    const { store, shape } = subject;
    const other = subject.freshShape();
    const since = await revisionOf(store, shape);
    const { revision } = await store.batch([
      { op: "put", shape, id: "a", set: {} },
      { op: "put", shape: other, id: "b", set: {} },
    ]);
    const reader = new CommitReader(store.watch({ since }));
    let commit = await reader.next();
    // Others may have committed to a shared store before.
    while (commit.revision < revision) commit = await reader.next();
    assert.equal(commit.revision, revision);
    const changes = commit.changes.filter((change) => change.shape === shape || change.shape === other);
    assert.deepEqual(
      changes.map((change) => [change.shape, change.id]),
      [
        [shape, "a"],
        [other, "b"],
      ],
    );
    await reader.end();
  });

  register("what changes nothing is no commit", async ({ store, shape }) => {
    const since = await revisionOf(store, shape);
    await store.delete({ shape, id: "nobody" });
    await store.batch([{ op: "check", shape, id: "nobody", if_match: { exists: false } }]);
    await failsCondition(() => store.put({ shape, id: "nobody", set: {}, if_match: { exists: true } }));
    await store.put({ shape, id: "a", set: {} });
    assert.deepEqual(summary(await takeCommits(store.watch({ shape, since }), 1)), ["put a"]);
  });

  register("an expiry is one change of its own kind, before any of the document's next life", async (subject) => {
    const { store, shape } = subject;
    const since = await revisionOf(store, shape);
    await store.put({ shape, id: "a", set: { life: 1 }, ttl: 0.2 });
    await subject.pass(250);
    assert.equal(await store.get(shape, "a"), undefined);
    const { revision } = await store.put({ shape, id: "a", set: { life: 2 } });
    await store.put({ shape, id: "end", set: {} });
    const commits: Commit[] = [];
    const reader = new CommitReader(store.watch({ shape, since }));
    while (commits.at(-1)?.changes.at(-1)?.id !== "end") commits.push(await reader.next());
    await reader.end();
    assert.deepEqual(summary(commits), ["put a", "expire a", "put a", "put end"]);
    const changes = commits.flatMap((commit) => commit.changes.map((change) => ({ ...change, at: commit.revision })));
    assert.equal(changes[1]?.document, null);
    assert.ok((changes[1]?.at ?? 0) <= revision);
    assert.equal(changes[2]?.at, revision);
    const document = await present(store, shape, "a");
    assert.equal(document.revision, revision);
    assert.equal(document.created_revision, revision);
  });

  register(
    "a commit that meets an expired document carries its expire first, with the same revision",
    async (subject) => {
      const { store, shape } = subject;
      // Whether a sweep comes first is the store's business; then the expire has a revision of its own.
      const since = await revisionOf(store, shape);
      const ids = Array.from({ length: 20 }, (_, n) => `d${n}`);
      await store.batch(ids.map((id) => ({ op: "put" as const, shape, id, set: { life: 1 }, ttl: 0.2 })));
      await subject.pass(250);
      const { revision } = await store.batch(ids.map((id) => ({ op: "put" as const, shape, id, set: { life: 2 } })));
      const expired: string[] = [];
      const reader = new CommitReader(store.watch({ shape, since }));
      await reader.next();
      for (let done = false; !done; ) {
        const commit = await reader.next();
        done = commit.revision === revision;
        assert.ok(commit.revision <= revision);
        for (const change of commit.changes) {
          if (change.type === "expire") expired.push(change.id);
          else assert.ok(expired.includes(change.id), `${change.id} was put before it expired`);
        }
      }
      await reader.end();
      assert.deepEqual(expired.toSorted(), ids.toSorted());
    },
  );

  register("a document that is renewed or deleted in time never expires in the eyes of a watcher", async (subject) => {
    const { store, shape } = subject;
    const since = await revisionOf(store, shape);
    await store.put({ shape, id: "renewed", set: {}, ttl: 0.5 });
    await store.put({ shape, id: "deleted", set: {}, ttl: 0.5 });
    await store.put({ shape, id: "replaced", set: {}, ttl: 0.5 });
    await store.patch({ shape, id: "renewed", ttl: 3600 });
    await store.delete({ shape, id: "deleted" });
    await store.put({ shape, id: "replaced", set: {} });
    await subject.pass(700);
    await subject.pass(700);
    await store.put({ shape, id: "end", set: {} });
    assert.deepEqual(summary(await takeCommits(store.watch({ shape, since }), 7)), [
      "put renewed",
      "put deleted",
      "put replaced",
      "put renewed",
      "delete deleted",
      "put replaced",
      "put end",
    ]);
  });

  register("watch refuses options that are wrong or unknown", async ({ store, shape }) => {
    const wrong: [options: object, path: string][] = [
      [{ shape: "Not a shape" }, "shape"],
      [{ shape, id: "" }, "id"],
      [{ id: "a" }, "id"],
      [{ prefix: "a" }, "prefix"],
      [{ shape, id: "a", prefix: "a" }, "prefix"],
      [{ shape, prefix: 5 }, "prefix"],
      [{ shape, since: -1 }, "since"],
      [{ shape, since: 1.5 }, "since"],
      [{ shape, since: "1" }, "since"],
      [{ shape, since: Number.NaN }, "since"],
      [{ shape, from: 1 }, "from"],
      [{ shape, signal: {} }, "signal"],
    ];
    for (const [options, path] of wrong) {
      await refusesRequest(() => drain(() => untyped(store).watch(options)), path, JSON.stringify(options));
    }
  });

  register("watch since a revision that the store has not reached is revision_unknown", async ({ store, shape }) => {
    const { revision } = await store.put({ shape, id: "a", set: {} });
    const error = await refuses(
      () => drain(() => store.watch({ shape, since: revision + 2 ** 30 })),
      "revision_unknown",
    );
    assert.equal(error.status, 400);
  });

  register("an aborted watch ends with the signal's reason", async ({ store, shape }) => {
    const reason = new Error("enough");
    const gone = AbortSignal.abort(reason);
    await assert.rejects(soon(drain(() => store.watch({ shape, signal: gone }))), reason);
    const controller = new AbortController();
    const watching = drain(() => store.watch({ shape, signal: controller.signal }));
    const ended = assert.rejects(soon(watching), reason);
    await sleep(10);
    controller.abort(reason);
    await ended;
    await store.put({ shape, id: "after", set: {} });
  });

  register("a watch that is left, even while it waits, ends at once", async ({ store, shape }) => {
    const since = await revisionOf(store, shape);
    const iterator = store.watch({ shape, since })[Symbol.asyncIterator]();
    const waiting = (async () => {
      for (;;) {
        const { done } = await iterator.next();
        if (done === true) return;
      }
    })();
    await sleep(20);
    await soon(Promise.resolve(iterator.return?.()), "leaving");
    await soon(waiting, "the pending read");
    assert.equal((await soon(iterator.next())).done, true);
  });
}
