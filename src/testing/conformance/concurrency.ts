import assert from "node:assert/strict";
import { PreconditionFailedError } from "../../documents/precondition-failed.js";
import type { Register } from "./case.js";
import { during, present } from "./observing.js";

/** Many callers at once. */
export function concurrencyCases(register: Register): void {
  register("of 100 that create the same document at once, exactly one wins", async ({ store, shape }) => {
    for (let round = 0; round < 5; round++) {
      const id = `r${round}`;
      const outcomes = await Promise.allSettled(
        Array.from({ length: 100 }, (_, by) => store.put({ shape, id, set: { by }, if_match: { exists: false } })),
      );
      const winners = outcomes.flatMap((outcome, n) => (outcome.status === "fulfilled" ? [n] : []));
      assert.equal(winners.length, 1);
      const document = await present(store, shape, id);
      assert.deepEqual(document.fields, { by: winners[0] });
      for (const outcome of outcomes) {
        if (outcome.status === "fulfilled") continue;
        assert.ok(outcome.reason instanceof PreconditionFailedError);
        assert.equal(outcome.reason.failures[0]?.current?.revision, document.revision);
      }
    }
  });

  register("of 100 that replace the same revision at once, exactly one wins", async ({ store, shape }) => {
    let { revision } = await store.put({ shape, id: "a", set: {} });
    for (let round = 0; round < 5; round++) {
      const if_match = { revision };
      const outcomes = await Promise.allSettled(
        Array.from({ length: 100 }, (_, by) => store.patch({ shape, id: "a", merge: { by, round }, if_match })),
      );
      const winners = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
      assert.equal(winners.length, 1);
      assert.equal((await present(store, shape, "a")).revision, winners[0]?.revision);
      revision = winners[0]?.revision ?? 0;
    }
  });

  register("a counter that is raised by compare-and-swap and retry ends exact", async ({ store, shape }) => {
    await store.put({ shape, id: "counter", set: { n: 0 } });
    const raise = async (): Promise<void> => {
      for (;;) {
        const document = await present(store, shape, "counter");
        const n = Number(document.fields["n"]) + 1;
        try {
          await store.put({ shape, id: "counter", set: { n }, if_match: { revision: document.revision } });
          return;
        } catch (error) {
          if (!(error instanceof PreconditionFailedError)) throw error;
        }
      }
    };
    const worker = async (): Promise<void> => {
      for (let times = 0; times < 10; times++) await raise();
    };
    await Promise.all(Array.from({ length: 10 }, worker));
    assert.deepEqual(await store.get(shape, "counter"), { n: 100 });
  });

  register("money that is moved between documents by batches is neither made nor lost", async ({ store, shape }) => {
    const accounts = ["a", "b", "c", "d"];
    await store.batch(accounts.map((id) => ({ op: "put" as const, shape, id, set: { balance: 100 } })));
    const move = async (from: string, to: string): Promise<void> => {
      const [source, target] = [await present(store, shape, from), await present(store, shape, to)];
      const balances = [Number(source.fields["balance"]) - 1, Number(target.fields["balance"]) + 1];
      await store
        .batch([
          { op: "put", shape, id: from, set: { balance: balances[0] ?? 0 }, if_match: { revision: source.revision } },
          { op: "put", shape, id: to, set: { balance: balances[1] ?? 0 }, if_match: { revision: target.revision } },
        ])
        .catch((error: unknown) => {
          if (!(error instanceof PreconditionFailedError)) throw error;
        });
    };
    const movers = accounts.flatMap((from, n) => accounts.slice(n + 1).map((to) => [from, to] as const));
    await Promise.all(
      movers.map(async ([from, to], n) => {
        for (let times = 0; times < 10; times++) await (n % 2 === 0 ? move(from, to) : move(to, from));
      }),
    );
    const documents = await store.getMany(accounts.map((id) => ({ shape, id })));
    const total = documents.reduce((sum, document) => sum + Number(document?.fields["balance"]), 0);
    assert.equal(total, 400);
  });

  register("of unconditional writes to one document at once, the newest commit stays", async ({ store, shape }) => {
    const results = await Promise.all(Array.from({ length: 100 }, (_, n) => store.put({ shape, id: "a", set: { n } })));
    const last = results.reduce((one, other) => (other.revision > one.revision ? other : one));
    const document = await present(store, shape, "a");
    assert.equal(document.revision, last.revision);
    assert.deepEqual(document.fields, { n: results.indexOf(last) });
    assert.equal(results.filter((result) => result.created).length, 1, "only the first commit created it");
  });

  register("a reader never sees a document go back", async ({ store, shape }) => {
    await store.put({ shape, id: "a", set: { n: 0 } });
    const writing = (async () => {
      for (let n = 1; n <= 60; n++) await store.put({ shape, id: "a", set: { n } });
    })();
    let seen = 0;
    await during(writing, async () => {
      const { revision } = await present(store, shape, "a");
      assert.ok(revision >= seen);
      seen = revision;
    });
  });

  register("creates and deletes of one document in turn never lose one another", async ({ store, shape }) => {
    let held = 0;
    let most = 0;
    const worker = async (): Promise<void> => {
      for (let entered = 0; entered < 3; ) {
        const lock = await store
          .put({ shape, id: "lock", set: {}, if_match: { exists: false } })
          .catch(() => undefined);
        if (lock === undefined) continue;
        entered++;
        held++;
        most = Math.max(most, held);
        await store.get(shape, "other");
        held--;
        await store.delete({ shape, id: "lock", if_match: { revision: lock.revision } });
      }
    };
    await Promise.all(Array.from({ length: 12 }, worker));
    assert.equal(most, 1, "never two inside");
    assert.equal(await store.get(shape, "lock"), undefined);
  });
}
