import type { PoolClient } from "pg";
import { expect, it } from "vitest";
import { onceInTransaction, type PostgresClient } from "../../src/sql/index.js";
import { SeededRandom } from "../crash/seeded-random.js";
import { FaultyPool } from "./faulty-pool.js";
import { Gate, openScene, type Scene, terminate, waitingSessions } from "./postgres-scene.js";
import { describeWithPostgres } from "./postgres-server.js";

const lostConnection = new Error("Connection terminated unexpectedly");

/** A call through a pool with faults, that writes one order. */
function order(pool: FaultyPool, scene: Scene): Promise<{ readonly result: number; readonly was_replay: boolean }> {
  const request = { tool: "place_order", args: { user: "U" }, table: scene.calls };
  return onceInTransaction(pool, request, async (client, { attempt }) => {
    await client.query(`INSERT INTO ${scene.orders} (note) VALUES ('faulty')`);
    return attempt;
  });
}

describeWithPostgres("connections to PostgreSQL that break", (server) => {
  it("leave nothing behind in the middle of the work, and the next caller does it", async () => {
    const scene = await openScene(server);
    const broken = scene.order({}, async (client) => {
      await scene.insert(client);
      await terminate(scene.pool, client);
      return scene.insert(client);
    });
    await expect(broken).rejects.toThrow(/terminat|connection error/);
    await expect(broken).rejects.not.toMatchObject({ code: "outcome_unknown" });
    expect(await scene.orderCount()).toBe(0);
    expect(await scene.order({})).toMatchObject({ was_replay: false });
    expect(await scene.orderCount()).toBe(1);
  });

  it("leave nothing behind after the work, before its result is written", async () => {
    const scene = await openScene(server);
    const broken = scene.order({}, async (client) => {
      await scene.insert(client);
      await terminate(scene.pool, client);
    });
    await expect(broken).rejects.not.toMatchObject({ code: "outcome_unknown" });
    expect(await scene.orderCount()).toBe(0);
    expect(await scene.order({})).toMatchObject({ was_replay: false });
  });

  it("free the callers who wait, one of whom does it", async () => {
    const scene = await openScene(server);
    const gate = new Gate();
    const broken = scene.order({}, async (client) => {
      await scene.insert(client);
      await gate.pass();
      await terminate(scene.pool, client);
    });
    await gate.reached;
    const others = [scene.order({}), scene.order({})];
    await waitingSessions(scene.pool, 2);
    gate.open();
    await expect(broken).rejects.toThrow();
    expect((await Promise.all(others)).map(({ was_replay }) => was_replay).sort()).toEqual([false, true]);
    expect(await scene.orderCount()).toBe(1);
  });

  it("leave the outcome unknown right before the commit, and the next caller does it", async () => {
    const scene = await openScene(server);
    const pool = new FaultyPool(scene.pool);
    pool.at("COMMIT", async (client, proceed) => {
      await terminate(scene.pool, client);
      return proceed();
    });
    await expect(order(pool, scene)).rejects.toMatchObject({ code: "outcome_unknown", status: 503 });
    expect(pool.released).toEqual([true]);
    expect(await scene.orderCount()).toBe(0);
    expect(await order(pool, scene)).toMatchObject({ was_replay: false });
    expect(await scene.orderCount()).toBe(1);
  });

  it("leave the outcome unknown when the answer to the commit is lost, and the next caller gets the result", async () => {
    const scene = await openScene(server);
    const pool = new FaultyPool(scene.pool);
    pool.at("COMMIT", async (_client, proceed) => {
      await proceed();
      throw lostConnection;
    });
    await expect(order(pool, scene)).rejects.toMatchObject({ code: "outcome_unknown", cause: lostConnection });
    expect(pool.released).toEqual([true]);
    expect(await order(pool, scene)).toMatchObject({ was_replay: true, result: 1 });
    expect(await scene.orderCount()).toBe(1);
  });

  it("do not lose a replay that was read already", async () => {
    const scene = await openScene(server);
    const pool = new FaultyPool(scene.pool);
    await order(pool, scene);
    pool.at("ROLLBACK", () => Promise.reject(lostConnection));
    expect(await order(pool, scene)).toMatchObject({ was_replay: true });
    expect(pool.released).toEqual([false, true]);
  });

  it("are destroyed when they broke in the pool, and nothing was done", async () => {
    const scene = await openScene(server);
    const pool = new FaultyPool(scene.pool);
    pool.at("BEGIN", async (client, proceed) => {
      await terminate(scene.pool, client);
      return proceed();
    });
    await expect(order(pool, scene)).rejects.toThrow();
    expect(pool.released).toEqual([true]);
    expect(await order(pool, scene)).toMatchObject({ was_replay: false });
  });

  it("that cannot be made are the pool's own error", async () => {
    const pool = server.pool({ host: "/nowhere", connectionTimeoutMillis: 5000 });
    const call = onceInTransaction(pool, { tool: "t", args: {} }, () => 0);
    await expect(call).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describeWithPostgres("callers whose connections break at any point", (server) => {
  it("have each call done once in the end, when each calls until it is answered", async () => {
    const scene = await openScene(server, 20);
    const random = new SeededRandom(7);
    // Who breaks connections must not wait for one of those that wait for it.
    const operator = server.pool({ max: 2 });
    const pool = new FaultyPool(scene.pool);
    const breaking = (beginning: string): void => {
      pool.at(beginning, async (client, proceed) => {
        if (random.below(2) === 0) {
          await terminate(operator, client);
          return proceed();
        }
        await proceed();
        throw lostConnection;
      });
    };
    const points = ["BEGIN", "INSERT", "UPDATE", "COMMIT", "ROLLBACK", "SELECT"];
    let failures = 0;
    const callUntilAnswered = async (key: string): Promise<number> => {
      for (;;) {
        if (failures < 60) breaking(points[random.below(points.length)] ?? "COMMIT");
        try {
          const request = { tool: "place_order", args: {}, key, table: scene.calls };
          const outcome = await onceInTransaction(pool, request, async (client) => {
            const { rows } = await client.query(`INSERT INTO ${scene.orders} (note) VALUES ($1) RETURNING id`, [key]);
            return rows.length;
          });
          return outcome.result;
        } catch {
          failures += 1;
        }
      }
    };
    const keys = Array.from({ length: 40 }, (_, n) => `key-${n % 8}`);
    expect(await Promise.all(keys.map(callUntilAnswered))).toEqual(keys.map(() => 1));
    expect(failures).toBeGreaterThanOrEqual(5);
    const { rows } = await scene.pool.query(`SELECT note, count(*)::int AS count FROM ${scene.orders} GROUP BY note`);
    expect(rows.sort((a, b) => (a.note < b.note ? -1 : 1))).toEqual(
      Array.from({ length: 8 }, (_, n) => ({ note: `key-${n}`, count: 1 })),
    );
  });
});

describeWithPostgres("a commit that PostgreSQL refuses", (server) => {
  it("is the database's error, leaves nothing behind, and the connection is used again", async () => {
    const scene = await openScene(server);
    await scene.pool.query(`ALTER TABLE ${scene.orders} ADD UNIQUE (note) DEFERRABLE INITIALLY DEFERRED`);
    const pool = new FaultyPool(scene.pool);
    const request = { tool: "place_order", args: {}, table: scene.calls };
    const twice = onceInTransaction(pool, request, async (client) => {
      await client.query(`INSERT INTO ${scene.orders} (note) VALUES ('same'), ('same')`);
    });
    await expect(twice).rejects.toMatchObject({ code: "23505" });
    expect(pool.released).toEqual([false]);
    expect(await scene.orderCount()).toBe(0);
    expect(await scene.rows()).toEqual([]);
  });

  it("is tried again, with the work, when another transaction was the reason", async () => {
    const scene = await openScene(server);
    const pool = new FaultyPool(scene.pool);
    pool.at("COMMIT", async (client) => {
      await client.query("ROLLBACK");
      throw Object.assign(new Error("could not serialize access"), { code: "40001" });
    });
    expect(await order(pool, scene)).toMatchObject({ was_replay: false, result: 2 });
    expect(await scene.orderCount()).toBe(1);
  });

  it("is no success when a statement has failed behind the work's back", async () => {
    const scene = await openScene(server);
    const pool = new FaultyPool(scene.pool);
    pool.at("COMMIT", async (client, proceed) => {
      await expect(client.query("SELECT 1/0")).rejects.toThrow();
      return proceed();
    });
    await expect(order(pool, scene)).rejects.toMatchObject({ code: "invalid_request", path: "work" });
    expect(await scene.orderCount()).toBe(0);
    expect(await scene.rows()).toEqual([]);
  });

  it("never comes to pass when the work has hidden an error: the database refuses the result", async () => {
    const scene = await openScene(server);
    const hiding = scene.order({}, async (client) => {
      await scene.insert(client);
      await expect(client.query("SELECT 1/0")).rejects.toThrow();
    });
    await expect(hiding).rejects.toMatchObject({ code: "25P02" });
    expect(await scene.orderCount()).toBe(0);
  });
});

describeWithPostgres("work that ends its transaction itself", (server) => {
  const endings: readonly (readonly [string, readonly string[]])[] = [
    ["commits", ["COMMIT"]],
    ["commits and begins another", ["COMMIT", "BEGIN"]],
  ];

  async function run(client: PostgresClient | PoolClient, statements: readonly string[]): Promise<void> {
    for (const statement of statements) await client.query(statement);
  }

  it.each(endings)(
    "is told so when it %s, and the call is not done again before somebody has looked",
    async (_, ending) => {
      const scene = await openScene(server);
      const ended = scene.order({ key: "k" }, async (client) => {
        await scene.insert(client);
        await run(client, ending);
      });
      await expect(ended).rejects.toMatchObject({ code: "invalid_request", path: "work" });
      await expect(scene.order({ key: "k" })).rejects.toMatchObject({ code: "needs_review", status: 409 });
      await expect(scene.order({ key: "k", args: 1 })).rejects.toMatchObject({
        code: "idempotency_conflict",
        call_status: "pending",
      });
      expect(await scene.orderCount()).toBe(1);
      await scene.pool.query(`DELETE FROM ${scene.calls}`);
      expect(await scene.order({ key: "k" })).toMatchObject({ was_replay: false });
    },
  );

  it.each([
    ["rolls back", ["ROLLBACK"]],
    ["rolls back and begins another", ["ROLLBACK", "BEGIN"]],
  ])("is told so when it %s, and the next caller does it", async (_, ending) => {
    const scene = await openScene(server);
    const ended = scene.order({}, async (client) => {
      await scene.insert(client);
      await run(client, ending);
    });
    await expect(ended).rejects.toMatchObject({ code: "invalid_request", path: "work" });
    expect(await scene.orderCount()).toBe(0);
    expect(await scene.order({})).toMatchObject({ was_replay: false });
  });
});
