import type { PoolClient } from "pg";
import { expect, it } from "vitest";
import { onceInTransaction } from "../../src/sql/index.js";
import { Gate, openScene, type Scene } from "./postgres-scene.js";
import { describeWithPostgres, type PostgresServer } from "./postgres-server.js";

interface NamedCall {
  readonly tool: string;
  readonly args: object;
  readonly key: string;
  readonly table: string;
}

/** A scene and a connection that is in a transaction of its own. */
async function inTransaction(
  server: PostgresServer,
  test: (scene: Scene, client: PoolClient, request: NamedCall) => Promise<void>,
  begin: string = "BEGIN",
): Promise<void> {
  const scene = await openScene(server);
  const client = await scene.pool.connect();
  try {
    await client.query(begin);
    await test(scene, client, { tool: "place_order", args: {}, key: "k", table: scene.calls });
  } finally {
    client.release(true);
  }
}

describeWithPostgres("a call within a transaction that its caller has begun", (server) => {
  it("counts when the caller commits, and not before", () =>
    inTransaction(server, async (scene, client, request) => {
      await scene.insert(client, "the caller's own");
      const first = await onceInTransaction(client, request, (own) => scene.insert(own));
      expect(first).toMatchObject({ was_replay: false, result: 2 });
      expect(await onceInTransaction(client, request, () => 0)).toEqual({ ...first, was_replay: true });
      await expect(scene.order({ ...request, waitTimeout: 0 })).rejects.toMatchObject({ code: "call_in_flight" });
      expect(await scene.orderCount()).toBe(0);
      await client.query("COMMIT");
      expect(await scene.orderCount()).toBe(2);
      expect(await scene.order(request)).toEqual({ ...first, was_replay: true });
    }));

  it("has not been when the caller rolls back", () =>
    inTransaction(server, async (scene, client, request) => {
      await onceInTransaction(client, request, (own) => scene.insert(own));
      await client.query("ROLLBACK");
      expect(await scene.rows()).toEqual([]);
      expect(await scene.order(request)).toMatchObject({ was_replay: false });
    }));

  it("is rolled back alone when its work throws", () =>
    inTransaction(server, async (scene, client, request) => {
      await scene.insert(client, "the caller's own");
      const failing = onceInTransaction(client, request, async (own) => {
        await scene.insert(own);
        await own.query("SELECT 1/0");
      });
      await expect(failing).rejects.toMatchObject({ code: "22012" });
      await client.query("COMMIT");
      expect(await scene.orderCount()).toBe(1);
      expect(await scene.rows()).toEqual([]);
    }));

  it("leaves the transaction usable when it is refused, and its settings as they were", () =>
    inTransaction(server, async (scene, client, request) => {
      const gate = new Gate();
      const other = scene.order(request, () => gate.pass());
      await gate.reached;
      await client.query("SET LOCAL lock_timeout = '3s'");
      const busy = onceInTransaction(client, { ...request, waitTimeout: 0 }, () => 0);
      await expect(busy).rejects.toMatchObject({ code: "call_in_flight" });
      gate.open();
      await other;
      const conflict = onceInTransaction(client, { ...request, args: { other: 1 } }, () => 0);
      await expect(conflict).rejects.toMatchObject({ code: "idempotency_conflict" });
      const level = onceInTransaction(client, { ...request, isolationLevel: "serializable" }, () => 0);
      await expect(level).rejects.toMatchObject({ code: "invalid_request", path: "isolationLevel" });
      await onceInTransaction(client, request, () => 0);
      await onceInTransaction(client, { ...request, key: "new" }, () => 0);
      expect((await client.query("SHOW lock_timeout")).rows).toEqual([{ lock_timeout: "3s" }]);
      await client.query("COMMIT");
      expect(await scene.rows()).toHaveLength(2);
    }));

  it("is not tried again alone: the transaction is its caller's to repeat", () =>
    inTransaction(
      server,
      async (scene, client, request) => {
        await client.query("SELECT 1");
        await scene.order(request);
        let entered = 0;
        const late = onceInTransaction(client, request, () => {
          entered += 1;
        });
        await expect(late).rejects.toMatchObject({ code: "40001" });
        expect(entered).toBe(0);
      },
      "BEGIN ISOLATION LEVEL REPEATABLE READ",
    ));

  it("is refused in a transaction that has failed", () =>
    inTransaction(server, async (_scene, client, request) => {
      await expect(client.query("SELECT 1/0")).rejects.toThrow();
      await expect(onceInTransaction(client, request, () => 0)).rejects.toMatchObject({ code: "25P02" });
    }));

  it.each([["COMMIT"], ["ROLLBACK"], ["ROLLBACK TO SAVEPOINT of_caller"]])(
    "tells work that ends it with %s what it has done",
    (statement) =>
      inTransaction(server, async (scene, client, request) => {
        await client.query("SAVEPOINT of_caller");
        const ended = onceInTransaction(client, request, async (own) => {
          await scene.insert(own);
          await own.query(statement);
        });
        await expect(ended).rejects.toMatchObject({ code: "invalid_request", path: "work" });
      }),
  );
});

describeWithPostgres("calls within calls", (server) => {
  it("commit together with the outer one", async () => {
    const scene = await openScene(server);
    const request = { tool: "place_order", args: {}, table: scene.calls };
    const nested = (fails: boolean): Promise<unknown> =>
      onceInTransaction(scene.pool, { ...request, key: "outer" }, async (client) => {
        await onceInTransaction(client, { ...request, key: "inner" }, (own) => scene.insert(own));
        await onceInTransaction(client, { ...request, key: "next" }, (own) => scene.insert(own));
        if (fails) throw new Error("the outer one fails");
      });
    await expect(nested(true)).rejects.toThrow("the outer one fails");
    expect(await scene.rows()).toEqual([]);
    await nested(false);
    expect((await scene.rows()).map(({ key }) => key)).toEqual([
      "place_order:inner",
      "place_order:next",
      "place_order:outer",
    ]);
    expect(await scene.orderCount()).toBe(2);
  });

  it("may fail alone, when the outer one goes on", async () => {
    const scene = await openScene(server);
    const request = { tool: "place_order", args: {}, table: scene.calls };
    await onceInTransaction(scene.pool, { ...request, key: "outer" }, async (client) => {
      await scene.insert(client);
      const inner = onceInTransaction(client, { ...request, key: "inner" }, async (own) => {
        await scene.insert(own);
        throw new Error("the inner one fails");
      });
      await expect(inner).rejects.toThrow("the inner one fails");
    });
    expect((await scene.rows()).map(({ key }) => key)).toEqual(["place_order:outer"]);
    expect(await scene.orderCount()).toBe(1);
  });

  it("are refused when they are the outer one itself", async () => {
    const scene = await openScene(server);
    const request = { tool: "place_order", args: {}, key: "k", table: scene.calls };
    const outcome = await onceInTransaction(scene.pool, request, async (client) => {
      const itself = onceInTransaction(client, request, () => 0);
      await expect(itself).rejects.toMatchObject({ code: "call_in_flight" });
      const elsewhere = onceInTransaction(scene.pool, { ...request, waitTimeout: 0 }, () => 0);
      await expect(elsewhere).rejects.toMatchObject({ code: "call_in_flight" });
      return "done";
    });
    expect(outcome).toMatchObject({ result: "done", was_replay: false });
  });

  it("are refused side by side on one connection, where they would end each other's transaction", async () => {
    const scene = await openScene(server);
    const client = await scene.pool.connect();
    try {
      const request = { tool: "place_order", args: {}, table: scene.calls };
      const call = (key: string): Promise<unknown> =>
        onceInTransaction(client, { ...request, key }, async (own) => {
          await scene.insert(own);
          const within = ["x", "y"].map((name) =>
            onceInTransaction(own, { ...request, key: `${key}-${name}` }, () => scene.insert(own)),
          );
          return (await Promise.allSettled(within)).map(({ status }) => status);
        });
      const [first, second] = await Promise.allSettled([call("a"), call("b")]);
      expect(first).toMatchObject({ value: { was_replay: false, result: ["fulfilled", "rejected"] } });
      expect(second).toMatchObject({ reason: { code: "invalid_request", path: "database" } });
      expect(await call("b")).toMatchObject({ was_replay: false });
      expect((await scene.rows()).map(({ key }) => key)).toEqual(
        ["a", "a-x", "b", "b-x"].map((key) => `place_order:${key}`),
      );
    } finally {
      client.release();
    }
  });
});
