import { expect, it } from "vitest";
import { onceInTransaction } from "../../src/sql/index.js";
import { FaultyPool } from "./faulty-pool.js";
import { Gate, openScene, waitingSessions } from "./postgres-scene.js";
import { describeWithPostgres } from "./postgres-server.js";

const levels = ["read committed", "repeatable read", "serializable"] as const;

describeWithPostgres("calls side by side in PostgreSQL", (server) => {
  it("runs one of a hundred callers of one key, and replays its result to the others", async () => {
    const scene = await openScene(server, 50);
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => scene.order({})));
    expect(await scene.orderCount()).toBe(1);
    expect(outcomes.filter(({ was_replay }) => !was_replay)).toHaveLength(1);
    expect(outcomes.filter(({ was_replay }) => was_replay)).toHaveLength(99);
    expect(new Set(outcomes.map(({ result }) => JSON.stringify(result))).size).toBe(1);
    expect(new Set(outcomes.map((outcome) => outcome.original_called_at)).size).toBe(1);
  });

  it.each(levels)("makes the others wait for the one who runs, under %s", async (isolationLevel) => {
    const scene = await openScene(server);
    const gate = new Gate();
    const first = scene.order({ isolationLevel }, async (client) => {
      await gate.pass();
      return scene.insert(client);
    });
    await gate.reached;
    const others = [scene.order({ isolationLevel }), scene.order({ isolationLevel }), scene.order({ isolationLevel })];
    await waitingSessions(scene.pool, 3);
    gate.open();
    expect((await first).was_replay).toBe(false);
    for (const other of await Promise.all(others)) expect(other).toEqual({ ...(await first), was_replay: true });
    expect(await scene.orderCount()).toBe(1);
  });

  it.each(levels)(
    "lets one of those who wait do it when the one who runs rolls back, under %s",
    async (isolationLevel) => {
      const scene = await openScene(server);
      const gate = new Gate();
      const first = scene.order({ isolationLevel }, async (client) => {
        await scene.insert(client);
        await gate.pass();
        throw new Error("rolled back");
      });
      await gate.reached;
      const others = [
        scene.order({ isolationLevel }),
        scene.order({ isolationLevel }),
        scene.order({ isolationLevel }),
      ];
      await waitingSessions(scene.pool, 3);
      gate.open();
      await expect(first).rejects.toThrow("rolled back");
      const replays = (await Promise.all(others)).map(({ was_replay }) => was_replay);
      expect(replays.sort()).toEqual([false, true, true]);
      expect(await scene.orderCount()).toBe(1);
    },
  );

  it.each(levels)(
    "makes the others wait for the one who replaces a row whose window is over, under %s",
    async (level) => {
      const scene = await openScene(server);
      await scene.order({ key: "k" });
      await scene.expireAll();
      const gate = new Gate();
      const replacing = scene.order({ key: "k", isolationLevel: level }, async (client) => {
        await gate.pass();
        return scene.insert(client);
      });
      await gate.reached;
      const others = [
        scene.order({ key: "k", isolationLevel: level }),
        scene.order({ key: "k", isolationLevel: level }),
      ];
      await waitingSessions(scene.pool, 2);
      gate.open();
      const replaced = await replacing;
      expect(replaced.was_replay).toBe(false);
      for (const other of await Promise.all(others)) expect(other).toEqual({ ...replaced, was_replay: true });
      expect(await scene.orderCount()).toBe(2);
    },
  );

  it.each(levels)("does not replace what another has replaced since it looked, under %s", async (isolationLevel) => {
    const scene = await openScene(server);
    await scene.order({ key: "k" });
    await scene.expireAll();
    const pool = new FaultyPool(scene.pool);
    pool.at("UPDATE", async (_client, proceed) => {
      expect(await scene.order({ key: "k" })).toMatchObject({ was_replay: false });
      return proceed();
    });
    const request = { tool: "place_order", args: { user: "U" }, key: "k", table: scene.calls, isolationLevel };
    expect(await onceInTransaction(pool, request, () => "again")).toMatchObject({
      was_replay: true,
      result: { order: 2 },
    });
  });

  it.each(levels)("looks again when a row is gone that was in the way, under %s", async (isolationLevel) => {
    const scene = await openScene(server);
    await scene.order({ key: "k" });
    const pool = new FaultyPool(scene.pool);
    pool.at("SELECT fingerprint", async (_client, proceed) => {
      await scene.pool.query(`DELETE FROM ${scene.calls}`);
      return proceed();
    });
    const request = { tool: "place_order", args: { user: "U" }, key: "k", table: scene.calls, isolationLevel };
    const outcome = await onceInTransaction(pool, request, () => "again");
    // Above READ COMMITTED the transaction goes on seeing the row, and its answer is the one from before the deletion.
    const sees = isolationLevel === "read committed" ? { was_replay: false, result: "again" } : { was_replay: true };
    expect(outcome).toMatchObject(sees);
  });

  it.each(levels)("lets one of several replace a row whose window is over, under %s", async (isolationLevel) => {
    const scene = await openScene(server, 20);
    await scene.order({ key: "k" });
    await scene.expireAll();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => scene.order({ key: "k", isolationLevel })));
    expect(outcomes.filter(({ was_replay }) => !was_replay)).toHaveLength(1);
    expect(await scene.orderCount()).toBe(2);
    expect(await scene.rows()).toHaveLength(1);
  });

  it.each(levels)("lets one of two sets of arguments win, and refuses the other, under %s", async (isolationLevel) => {
    const scene = await openScene(server, 20);
    const calls = Array.from({ length: 20 }, (_, n) =>
      scene.order({ key: "k", args: { amount: n % 2 }, isolationLevel }),
    );
    const settled = await Promise.allSettled(calls);
    const done = settled.filter((one) => one.status === "fulfilled");
    const refused = settled.filter((one) => one.status === "rejected");
    expect(done).toHaveLength(10);
    expect(done.filter(({ value }) => !value.was_replay)).toHaveLength(1);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: "idempotency_conflict", status: 422 });
    expect(await scene.orderCount()).toBe(1);
  });

  it("gives up waiting with an error that says so, and disturbs nobody", async () => {
    const scene = await openScene(server);
    const gate = new Gate();
    const first = scene.order({ key: "k" }, async (client) => {
      await gate.pass();
      return scene.insert(client);
    });
    await gate.reached;
    for (const waitTimeout of [0, 0.05]) {
      await expect(scene.order({ key: "k", waitTimeout })).rejects.toMatchObject({
        name: "CallInFlightError",
        code: "call_in_flight",
        status: 409,
        retryable: true,
        key: "place_order:k",
        call_status: "pending",
        cause: expect.objectContaining({ code: "55P03" }),
      });
    }
    expect(await scene.order({ key: "other", waitTimeout: 0 })).toMatchObject({ was_replay: false });
    gate.open();
    expect((await first).was_replay).toBe(false);
    expect(await scene.order({ key: "k", waitTimeout: 0 })).toMatchObject({ was_replay: true });
  });

  it("bounds the waiting for the key alone, and leaves the work and the connection as they were", async () => {
    const scene = await openScene(server, 1);
    const shown = async (client: { query(text: string): Promise<{ rows: unknown[] }> }): Promise<unknown> =>
      (await client.query("SHOW lock_timeout")).rows;
    await scene.pool.query("SET lock_timeout = '7s'");
    const inWork = await scene.order({ waitTimeout: 0.5 }, shown);
    expect(inWork.result).toEqual([{ lock_timeout: "7s" }]);
    await scene.order({ waitTimeout: 0.5 });
    expect(await shown(scene.pool)).toEqual([{ lock_timeout: "7s" }]);
  });

  it("replays beside a transaction that has replayed and not ended: a replay holds up nobody", async () => {
    const scene = await openScene(server);
    await scene.order({ key: "k" });
    const client = await scene.pool.connect();
    try {
      await client.query("BEGIN");
      const request = { tool: "place_order", args: { user: "U" }, key: "k", table: scene.calls, waitTimeout: 0 };
      expect(await onceInTransaction(client, request, () => 0)).toMatchObject({ was_replay: true });
      expect(await scene.order({ key: "k", waitTimeout: 0 })).toMatchObject({ was_replay: true });
      await client.query("COMMIT");
    } finally {
      client.release();
    }
  });

  it.each(["repeatable read", "serializable"] as const)(
    "tries the whole again when the work is the victim of another transaction, under %s",
    async (isolationLevel) => {
      const scene = await openScene(server);
      await scene.pool.query(`INSERT INTO ${scene.orders} (note) VALUES ('0')`);
      const gates = { a: new Gate(), b: new Gate() };
      const count = (key: "a" | "b"): Promise<{ readonly result: number }> => {
        const request = { tool: "count", args: {}, key, table: scene.calls, isolationLevel };
        return onceInTransaction(scene.pool, request, async (client, { attempt }) => {
          const { rows } = await client.query<{ note: string }>(`SELECT note FROM ${scene.orders}`);
          if (attempt === 1) await gates[key].pass();
          await client.query(`UPDATE ${scene.orders} SET note = $1`, [String(Number(rows[0]?.note) + 1)]);
          return attempt;
        });
      };
      const both = [count("a"), count("b")];
      await Promise.all([gates.a.reached, gates.b.reached]);
      gates.a.open();
      gates.b.open();
      expect((await Promise.all(both)).map(({ result }) => result).sort()).toEqual([1, 2]);
      const { rows } = await scene.pool.query(`SELECT note FROM ${scene.orders}`);
      expect(rows).toEqual([{ note: "2" }]);
    },
  );

  it("tries again after a deadlock", async () => {
    const scene = await openScene(server);
    await scene.pool.query(`INSERT INTO ${scene.orders} (note) VALUES ('a'), ('b')`);
    const gates = { "1": new Gate(), "2": new Gate() };
    const lock = async (
      client: { query(text: string, values: unknown[]): Promise<unknown> },
      id: string,
    ): Promise<void> => {
      await client.query(`UPDATE ${scene.orders} SET note = note || '+' WHERE id = $1`, [id]);
    };
    const crossing = (key: "1" | "2", other: "1" | "2"): Promise<{ readonly result: number }> =>
      onceInTransaction(
        scene.pool,
        { tool: "cross", args: {}, key, table: scene.calls },
        async (client, { attempt }) => {
          await lock(client, key);
          if (attempt === 1) await gates[key].pass();
          await lock(client, other);
          return attempt;
        },
      );
    const both = [crossing("1", "2"), crossing("2", "1")];
    await Promise.all([gates["1"].reached, gates["2"].reached]);
    gates["1"].open();
    gates["2"].open();
    const attempts = (await Promise.all(both)).map(({ result }) => result);
    expect(attempts.sort()).toEqual([1, 2]);
    const { rows } = await scene.pool.query(`SELECT note FROM ${scene.orders} ORDER BY id`);
    expect(rows).toEqual([{ note: "a++" }, { note: "b++" }]);
  });

  it("tries no more often than it is told, and no error but the database's own twice", async () => {
    const scene = await openScene(server);
    let entered = 0;
    const victim = Object.assign(new Error("could not serialize access"), { code: "40001" });
    const asCause = new Error("the mapper failed", { cause: victim });
    const failing = (error: Error) => () => {
      entered += 1;
      throw error;
    };
    await expect(scene.order({ attempts: 3 }, failing(victim))).rejects.toBe(victim);
    expect(entered).toBe(3);
    await expect(scene.order({ attempts: 2 }, failing(asCause))).rejects.toBe(asCause);
    expect(entered).toBe(5);
    await expect(scene.order({}, failing(new Error("another")))).rejects.toThrow("another");
    expect(entered).toBe(6);
    expect(await scene.rows()).toEqual([]);
  });
});
