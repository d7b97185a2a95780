import type { Client, Pool, PoolClient } from "pg";
import { describe, expect, expectTypeOf, it } from "vitest";
import { type ClientOf, onceInTransaction, type PostgresClient, type PostgresRequest } from "../../src/sql/index.js";

/** A connection that nothing may be sent to. */
const untouched: PostgresClient = {
  query: (text) => Promise.reject(new Error(`sent: ${text}`)),
};

describe("a request for a call in PostgreSQL", () => {
  it.each<[string, Partial<PostgresRequest> & { readonly [name: string]: unknown }, string]>([
    ["an unknown member", { waitTimout: 3 }, "waitTimout"],
    ["no arguments", { args: undefined }, "args"],
    ["arguments that are not JSON", { args: { at: new Date(0) } }, "args.at"],
    ["an empty tool", { tool: "" }, "tool"],
    ["an empty key", { key: "" }, "key"],
    ["a key that is too long", { key: "x".repeat(1100) }, "key"],
    ["a lone surrogate in the key", { key: "\ud800" }, "key"],
    ["a function that makes no key", { key: () => undefined as unknown as string }, "key"],
    ["an empty scope", { scope: "" }, "scope"],
    ["no window", { completedTtl: 0 }, "completedTtl"],
    ["a window of no number", { completedTtl: Number.NaN }, "completedTtl"],
    ["a window beyond ten years", { completedTtl: 315_360_001 }, "completedTtl"],
    ["a wait below zero", { waitTimeout: -1 }, "waitTimeout"],
    ["a wait beyond a day", { waitTimeout: 86_401 }, "waitTimeout"],
    ["a wait that is a text", { waitTimeout: "5" as unknown as number }, "waitTimeout"],
    ["an injected table", { table: "calls; DROP TABLE orders" }, "table"],
    ["an unknown isolation level", { isolationLevel: "chaos" as "serializable" }, "isolationLevel"],
    [
      "an isolation level that is a list",
      { isolationLevel: ["serializable"] as unknown as "serializable" },
      "isolationLevel",
    ],
    ["no attempt", { attempts: 0 }, "attempts"],
    ["half an attempt", { attempts: 1.5 }, "attempts"],
    ["attempts without end", { attempts: Number.POSITIVE_INFINITY }, "attempts"],
  ])("is refused for %s before anything is sent", async (_what, own, path) => {
    const call = onceInTransaction(untouched, { tool: "t", args: {}, ...own }, () => 0);
    await expect(call).rejects.toMatchObject({ code: "invalid_request", path });
  });

  it("is refused without work, and without a database", async () => {
    const request = { tool: "t", args: {} };
    const noWork = onceInTransaction(untouched, request, "work" as unknown as () => number);
    await expect(noWork).rejects.toMatchObject({ path: "work" });
    for (const database of [null, "postgres://", {}, () => untouched]) {
      const call = onceInTransaction(database as unknown as PostgresClient, request, () => 0);
      await expect(call).rejects.toMatchObject({ code: "invalid_request", path: "database" });
    }
  });

  it("gives the work the client that the database has, and the caller what the work returns", () => {
    expectTypeOf<ClientOf<Pool>>().toEqualTypeOf<PoolClient>();
    expectTypeOf<ClientOf<Client>>().toEqualTypeOf<Client>();
    expectTypeOf<ClientOf<PoolClient>>().toEqualTypeOf<PoolClient>();
    expectTypeOf<ClientOf<PostgresClient>>().toEqualTypeOf<PostgresClient>();
    const call = (pool: Pool) =>
      onceInTransaction(pool, { tool: "t", args: { id: 1 }, key: (args) => String(args.id) }, async (client) => {
        expectTypeOf(client).toEqualTypeOf<PoolClient>();
        return { order: 1 };
      });
    expectTypeOf<Awaited<ReturnType<typeof call>>["result"]>().toEqualTypeOf<{ order: number }>();
  });
});
