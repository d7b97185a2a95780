import assert from "node:assert/strict";
import type { Commit } from "../../documents/contract.js";
import type { Register } from "./case.js";
import { CommitReader, listedIds, revisionOf, takeCommits } from "./observing.js";

function tokensOf(commits: readonly Commit[]): unknown[] {
  return commits.flatMap((commit) => commit.changes.map((change) => change.document?.fields["n"]));
}

/** watch: nothing missed, nothing doubled. */
export function watchResumingCases(register: Register): void {
  register("a watch that is cut again and again, and resumed, sees every commit once", async ({ store, shape }) => {
    const count = 200;
    const cuts = 20;
    let since = await revisionOf(store, shape);
    const writer = (async () => {
      for (let n = 0; n < count; n++) await store.put({ shape, id: `d${n % 7}`, set: { n } });
    })();
    const seen: Commit[] = [];
    while (seen.length < count) {
      const part = await takeCommits(store.watch({ shape, since }), Math.min(count / cuts, count - seen.length));
      seen.push(...part);
      since = part.at(-1)?.revision ?? since;
    }
    await writer;
    assert.deepEqual(
      tokensOf(seen),
      Array.from({ length: count }, (_, n) => n),
    );
    for (const [n, commit] of seen.entries()) {
      const before = seen[n - 1];
      if (before !== undefined) assert.ok(commit.revision > before.revision);
    }
  });

  register("watching from the first page's revision misses nothing", async ({ store, shape }) => {
    const known = new Map<string, unknown>();
    const writer = (async () => {
      for (let n = 0; n < 150; n++) {
        if (n % 5 === 4) await store.delete({ shape, id: `d${(n * 7) % 30}` });
        else await store.put({ shape, id: `d${(n * 7) % 30}`, set: { n } });
      }
      return (await store.put({ shape, id: "end", set: {} })).revision;
    })();
    await store.put({ shape, id: "d1", set: { n: -1 } });
    const first = await store.list(shape, { limit: 3 });
    let page = first;
    for (;;) {
      for (const document of page.documents) known.set(document.id, document.fields);
      if (page.next === null) break;
      page = await store.list(shape, { limit: 3, after: page.next });
    }
    const reader = new CommitReader(store.watch({ shape, since: first.revision }));
    for (;;) {
      const commit = await reader.next();
      for (const { id, document } of commit.changes) {
        if (document === null) known.delete(id);
        else known.set(id, document.fields);
      }
      if (commit.changes.some((change) => change.id === "end")) break;
    }
    await reader.end();
    await writer;
    const ids = await listedIds(store, shape);
    assert.deepEqual([...known.keys()].toSorted(), ids.toSorted());
    for (const id of ids) assert.deepEqual(known.get(id), await store.get(shape, id));
  });

  register("several watchers see the same commits, each at its own pace", async ({ store, shape }) => {
    const since = await revisionOf(store, shape);
    const watchers = Array.from({ length: 5 }, () => takeCommits(store.watch({ shape, since }), 50));
    const write = (n: number) => store.put({ shape, id: `d${n}`, set: { n } });
    await Promise.all(Array.from({ length: 50 }, (_, n) => write(n)));
    const late = takeCommits(store.watch({ shape, since }), 50);
    const [first, ...others] = await Promise.all([...watchers, late]);
    assert.deepEqual(tokensOf(first ?? []).toSorted(), Array.from({ length: 50 }, (_, n) => n).toSorted());
    for (const other of others) {
      assert.deepEqual(
        other.map((commit) => [commit.revision, commit.changes[0]?.id]),
        first?.map((commit) => [commit.revision, commit.changes[0]?.id]),
      );
    }
  });

  register("a watcher that reads late gets every commit, however many came before", async ({ store, shape }) => {
    const count = 1500;
    const since = await revisionOf(store, shape);
    const reader = new CommitReader(store.watch({ shape, since }));
    const first = reader.next();
    for (let start = 0; start < count; start += 500) {
      await Promise.all(
        Array.from({ length: 500 }, (_, n) => store.put({ shape, id: `d${n}`, set: { n: start + n } })),
      );
    }
    const commits = [await first, ...(await reader.take(count - 1))];
    await reader.end();
    assert.equal(new Set(tokensOf(commits)).size, count);
    for (const [n, commit] of commits.entries()) {
      const before = commits[n - 1];
      if (before !== undefined) assert.ok(commit.revision > before.revision, `commit ${n}`);
    }
  });
}
