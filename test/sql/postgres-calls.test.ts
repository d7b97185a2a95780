import { Client } from "pg";
import { expect, it } from "vitest";
import { createTableSql, onceInTransaction, purgeExpired } from "../../src/sql/index.js";
import { Gate, openScene } from "./postgres-scene.js";
import { describeWithPostgres } from "./postgres-server.js";

describeWithPostgres("a call in PostgreSQL", (server) => {
  it("is done once, and its row commits with what the work wrote", async () => {
    const scene = await openScene(server);
    const first = await scene.order({});
    const second = await scene.order({});
    expect(first).toEqual({
      result: { order: 1 },
      was_replay: false,
      original_called_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      key: first.key,
    });
    expect(second).toEqual({ ...first, was_replay: true });
    expect(await scene.orderCount()).toBe(1);
    expect(await scene.rows()).toMatchObject([{ key: first.key, tool: "place_order", result: '{"order":1}' }]);
    expect(first.key).toMatch(/^place_order:[0-9a-f]{64}$/);
  });

  it("tells the time of the call and of its end by the database's clock", async () => {
    const scene = await openScene(server);
    const { rows: before } = await scene.pool.query<{ now: Date }>("SELECT clock_timestamp() AS now");
    const { original_called_at: calledAt } = await scene.order({ completedTtl: 600 });
    const [row] = await scene.rows();
    expect(Date.parse(calledAt)).toBe(row?.called_at.getTime());
    expect(Date.parse(calledAt)).toBeGreaterThanOrEqual(before[0]?.now.getTime() ?? Number.POSITIVE_INFINITY);
    expect((row?.expires_at?.getTime() ?? 0) - (row?.completed_at?.getTime() ?? 0)).toBeGreaterThanOrEqual(599_999);
    expect((row?.expires_at?.getTime() ?? 0) - (row?.completed_at?.getTime() ?? 0)).toBeLessThan(601_000);
  });

  it("tells the work its key and how often it was entered", async () => {
    const scene = await openScene(server);
    const told: unknown[] = [];
    const request = { tool: "place_order", args: {}, key: "order-1", scope: "turn/7", table: scene.calls };
    await onceInTransaction(scene.pool, request, (_client, call) => {
      told.push(call);
    });
    expect(told).toEqual([{ key: "turn%2F7/place_order:order-1", attempt: 1 }]);
  });

  it("is another call in another scope, with another key, and in another table", async () => {
    const scene = await openScene(server);
    const other = await openScene(server);
    await scene.order({});
    await scene.order({ scope: "turn-1" });
    await scene.order({ scope: "turn-2" });
    await scene.order({ key: "second" });
    await scene.order({ table: other.calls });
    expect(await scene.orderCount()).toBe(5);
  });

  it("leaves nothing behind when the work throws, so that the next caller does it", async () => {
    const scene = await openScene(server);
    const failure = new Error("out of stock");
    const failing = scene.order({}, async (client) => {
      await scene.insert(client);
      throw failure;
    });
    await expect(failing).rejects.toBe(failure);
    expect(await scene.rows()).toEqual([]);
    expect(await scene.orderCount()).toBe(0);
    expect(await scene.order({})).toMatchObject({ was_replay: false });
  });

  it.each([
    undefined,
    null,
    0,
    "",
    false,
    [],
    {},
    'it\'s "quoted" \u0000 \u{1F600}',
    { nested: [1.5, "a\u0000b", null] },
  ])("stores and replays %j as it was returned", async (result) => {
    const scene = await openScene(server);
    const first = await scene.order({}, () => result);
    const second = await scene.order({}, () => "another");
    expect(first.result).toStrictEqual(result);
    expect(second.result).toStrictEqual(result);
    expect([first.was_replay, second.was_replay]).toEqual([false, true]);
  });

  it("gives the first caller what a replay gives: JSON's idea of it", async () => {
    const scene = await openScene(server);
    const returned = { gone: undefined, zero: -0, kept: [1] };
    const first = await scene.order({}, () => returned);
    returned.kept.push(2);
    expect(first.result).toStrictEqual({ zero: 0, kept: [1] });
    expect((await scene.order({})).result).toStrictEqual({ zero: 0, kept: [1] });
  });

  it.each([
    ["a date", () => ({ at: new Date(0) }), "result.at"],
    ["a bigint", () => 1n, "result"],
    ["a function", () => [() => 0], "result[0]"],
    ["not a number", () => ({ total: Number.NaN }), "result.total"],
  ])("refuses %s as a result before anything is committed", async (_what, result, path) => {
    const scene = await openScene(server);
    const refused = scene.order({}, async (client) => {
      await scene.insert(client);
      return result();
    });
    await expect(refused).rejects.toMatchObject({ code: "invalid_request", path });
    expect(await scene.orderCount()).toBe(0);
    expect(await scene.rows()).toEqual([]);
  });

  it("refuses a result that is too large before anything is committed", async () => {
    const scene = await openScene(server);
    const refused = scene.order({}, async (client) => {
      await scene.insert(client);
      return "x".repeat(2 ** 20);
    });
    await expect(refused).rejects.toMatchObject({ code: "too_large", path: "result" });
    expect(await scene.orderCount()).toBe(0);
  });

  it("refuses other arguments under the same key, whatever they are, and never replays to them", async () => {
    const scene = await openScene(server);
    const first = await scene.order({ key: "k", args: { amount: 10 } });
    const conflict = scene.order({ key: "k", args: { amount: 11 } });
    await expect(conflict).rejects.toMatchObject({
      name: "IdempotencyConflictError",
      code: "idempotency_conflict",
      status: 422,
      key: "place_order:k",
      tool: "place_order",
      call_status: "completed",
      original_called_at: first.original_called_at,
    });
    expect(await scene.orderCount()).toBe(1);
    expect(await scene.order({ key: "k", args: { amount: 10 } })).toMatchObject({ was_replay: true });
  });

  it("takes a call whose window is over for absent, also with other arguments", async () => {
    const scene = await openScene(server);
    const first = await scene.order({ key: "k" });
    await scene.expireAll();
    const second = await scene.order({ key: "k", args: { other: true }, completedTtl: 60 });
    expect(second).toMatchObject({ was_replay: false, result: { order: 2 } });
    expect(Date.parse(second.original_called_at)).toBeGreaterThan(Date.parse(first.original_called_at));
    expect(await scene.rows()).toHaveLength(1);
    expect(await scene.order({ key: "k", args: { other: true } })).toEqual({ ...second, was_replay: true });
  });

  it("keeps the row of a call whose window is over when the work that was to replace it throws", async () => {
    const scene = await openScene(server);
    await scene.order({ key: "k" });
    await scene.expireAll();
    const before = await scene.rows();
    await expect(scene.order({ key: "k" }, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await scene.rows()).toEqual(before);
  });

  it.each([
    'it\'s "quoted"',
    "'; DROP TABLE calls; --",
    "\u{1F600} \u00e9 \u202e",
    "a\nb\tc\\d",
    "$1",
    "x".repeat(900),
  ])("keeps the key %j apart from all others", async (key) => {
    const scene = await openScene(server);
    const args = { text: `${key}\u0000` };
    const first = await scene.order({ key, args });
    expect(await scene.order({ key, args })).toEqual({ ...first, was_replay: true });
    expect(await scene.order({ key: `${key}.`, args })).toMatchObject({ was_replay: false });
    expect((await scene.rows()).map((row) => row.key)).toContain(first.key);
  });

  it("tells U+0000 in the arguments from no U+0000, and refuses it in what names the call", async () => {
    const scene = await openScene(server);
    const one = await scene.order({ args: { text: "a\u0000b" } });
    const other = await scene.order({ args: { text: "ab" } });
    expect([one.was_replay, other.was_replay]).toEqual([false, false]);
    for (const [name, value] of Object.entries({ key: "a\u0000b", scope: "s\u0000", tool: "\u0000t" })) {
      await expect(scene.order({ [name]: value })).rejects.toMatchObject({
        code: "invalid_request",
        path: name,
        message: expect.stringContaining("U+0000"),
      });
    }
    expect(await scene.orderCount()).toBe(2);
  });

  it("works with a table of another schema, whose name needs quotes", async () => {
    const scene = await openScene(server);
    await scene.pool.query('CREATE SCHEMA "Select"');
    const table = "Select.Order$1";
    await scene.pool.query(createTableSql({ dialect: "postgres", table }));
    await scene.pool.query(createTableSql({ dialect: "postgres", table }));
    await scene.order({ table });
    expect(await scene.order({ table })).toMatchObject({ was_replay: true });
    const { rows } = await scene.pool.query(`SELECT tool FROM "Select"."Order$1"`);
    expect(rows).toEqual([{ tool: "place_order" }]);
  });

  it("says what the database says when the table is missing, and gives the connection back", async () => {
    const scene = await openScene(server, 1);
    await expect(scene.order({ table: "nowhere" })).rejects.toMatchObject({ code: "42P01" });
    expect(await scene.order({})).toMatchObject({ was_replay: false });
  });

  it("judges the whole request on the way to a replay, too", async () => {
    const scene = await openScene(server);
    await scene.order({});
    await expect(scene.order({ completedTtl: -1 })).rejects.toMatchObject({ path: "completedTtl" });
    await expect(scene.order({ args: undefined })).rejects.toMatchObject({ path: "args" });
  });

  it("begins and commits a transaction on a client that is in none", async () => {
    const scene = await openScene(server);
    const client = await scene.pool.connect();
    try {
      const request = { tool: "place_order", args: {}, table: scene.calls };
      const first = await onceInTransaction(client, request, (own) => scene.insert(own));
      expect(first).toMatchObject({ result: 1, was_replay: false });
      expect(await scene.orderCount()).toBe(1);
      const failing = onceInTransaction(client, { ...request, key: "k" }, async (own) => {
        await scene.insert(own);
        throw new Error("no");
      });
      await expect(failing).rejects.toThrow("no");
      expect(await scene.orderCount()).toBe(1);
      await expect(client.query("SAVEPOINT outside")).rejects.toMatchObject({ code: "25P01" });
    } finally {
      client.release();
    }
  });

  it("is forgotten by a purge when its window is over, and not before", async () => {
    const scene = await openScene(server);
    for (const key of ["a", "b", "c"]) await scene.order({ key });
    await scene.expireAll();
    await scene.order({ key: "d" });
    const table = scene.calls;
    expect(await purgeExpired(scene.pool, { table, limit: 2 })).toBe(2);
    expect(await purgeExpired(scene.pool, { table })).toBe(1);
    expect(await purgeExpired(scene.pool, { table })).toBe(0);
    expect(await scene.rows()).toMatchObject([{ key: "place_order:d" }]);
    await expect(purgeExpired(scene.pool, { limit: 1.5 })).rejects.toMatchObject({ path: "limit" });
    await expect(purgeExpired(scene.pool, { table: "no; such" })).rejects.toMatchObject({ path: "table" });
  });

  it("is passed over by a purge while another call replaces its row", async () => {
    const scene = await openScene(server);
    await scene.order({ key: "k" });
    await scene.expireAll();
    const gate = new Gate();
    const again = scene.order({ key: "k" }, () => gate.pass());
    await gate.reached;
    expect(await purgeExpired(scene.pool, { table: scene.calls })).toBe(0);
    gate.open();
    expect((await again).was_replay).toBe(false);
    expect(await scene.order({ key: "k" })).toMatchObject({ was_replay: true });
  });

  it("does not take a client for a pool: it is not connected, and nothing is done with it", async () => {
    const scene = await openScene(server);
    const client = new Client({ host: "/nowhere" });
    client.on("error", () => {});
    let entered = false;
    const call = onceInTransaction(client, { tool: "t", args: {}, table: scene.calls, waitTimeout: 0 }, () => {
      entered = true;
    });
    client.connect().catch(() => {});
    await expect(call).rejects.toThrow();
    expect(entered).toBe(false);
  });
});
