import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import {
  createTableSql,
  onceInTransactionSync,
  purgeExpiredSync,
  type SqliteRequest,
  type TransactionOutcome,
} from "../../src/sql/index.js";
import { temporaryFolder } from "../store/temporary-folder.js";
import { type Database, describeWithSqlite } from "./better-sqlite3.js";

const request = { tool: "place_order", args: { user: "U" } };

describeWithSqlite("a call in SQLite", (Sqlite) => {
  function open(file: string = ":memory:"): Database {
    const database = new Sqlite(file);
    onTestFinished(() => {
      database.close();
    });
    database.exec(createTableSql({ dialect: "sqlite" }));
    database.exec("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, note TEXT)");
    return database;
  }

  const insert = (database: Database): number =>
    Number(database.prepare("INSERT INTO orders (note) VALUES ('ordered')").run().changes);

  const order = (
    database: Database,
    own: Partial<SqliteRequest> = {},
    work: (database: Database) => unknown = insert,
  ): TransactionOutcome<unknown> => onceInTransactionSync(database, { ...request, ...own }, work);

  const orderCount = (database: Database): number => database.prepare("SELECT id FROM orders").all().length;

  const rows = (database: Database): unknown[] => database.prepare("SELECT * FROM oncekv_calls ORDER BY key").all();

  const expireAll = (database: Database): void => {
    database.exec("UPDATE oncekv_calls SET expires_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')");
  };

  it("is done once, and its row commits with what the work wrote", () => {
    const database = open();
    const first = order(database, { completedTtl: 600 });
    expect(first).toEqual({
      result: 1,
      was_replay: false,
      original_called_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      key: expect.stringMatching(/^place_order:[0-9a-f]{64}$/),
    });
    expect(order(database)).toEqual({ ...first, was_replay: true });
    expect(orderCount(database)).toBe(1);
    expect(database.inTransaction).toBe(false);
    const [row] = rows(database) as { called_at: string; completed_at: string; expires_at: string }[];
    expect(row).toMatchObject({ key: first.key, called_at: first.original_called_at, result: "1" });
    expect(Date.parse(row?.expires_at ?? "") - Date.parse(row?.completed_at ?? "")).toBe(600_000);
  });

  it("leaves nothing behind when the work throws, so that the next caller does it", () => {
    const database = open();
    const failure = new Error("out of stock");
    const failing = (): unknown =>
      order(database, {}, () => {
        insert(database);
        throw failure;
      });
    expect(failing).toThrow(failure);
    expect([orderCount(database), rows(database), database.inTransaction]).toEqual([0, [], false]);
    expect(order(database).was_replay).toBe(false);
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
  ])("stores and replays %j as it was returned", (result) => {
    const database = open();
    database.defaultSafeIntegers(true);
    expect(order(database, {}, () => result).result).toStrictEqual(result);
    expect(order(database, {}, () => "another")).toMatchObject({ was_replay: true });
    expect(order(database, {}, () => "another").result).toStrictEqual(result);
  });

  it.each([
    ["a date", () => ({ at: new Date(0) }), "invalid_request"],
    ["a bigint", () => 1n, "invalid_request"],
    ["a text that is too large", () => "x".repeat(2 ** 20), "too_large"],
  ])("refuses %s as a result before anything is committed", (_what, result, code) => {
    const database = open();
    const refused = (): unknown =>
      order(database, {}, () => {
        insert(database);
        return result();
      });
    expect(refused).toThrow(expect.objectContaining({ code }));
    expect([orderCount(database), rows(database), database.inTransaction]).toEqual([0, [], false]);
  });

  it("refuses async work before it is entered, and rolls back when a promise comes out", async () => {
    const database = open();
    const entered: string[] = [];
    const isAsync = async (): Promise<void> => {
      entered.push("async");
    };
    expect(() => order(database, {}, isAsync)).toThrow(
      expect.objectContaining({ code: "invalid_request", path: "work" }),
    );
    expect(entered).toEqual([]);
    const returnsPromise = (): unknown => {
      insert(database);
      return Promise.reject(new Error("nobody waits for this"));
    };
    expect(() => order(database, {}, returnsPromise)).toThrow(/promise/);
    // A rejection that nobody listens to would be reported by now, and fail the test.
    await turn();
    expect([orderCount(database), rows(database), database.inTransaction]).toEqual([0, [], false]);
  });

  it("refuses other arguments under the same key, whatever the window still is", () => {
    const database = open();
    const first = order(database, { key: "k" });
    expect(() => order(database, { key: "k", args: { user: "V" } })).toThrow(
      expect.objectContaining({
        name: "IdempotencyConflictError",
        status: 422,
        call_status: "completed",
        original_called_at: first.original_called_at,
      }),
    );
    expect(order(database, { key: "k" }).was_replay).toBe(true);
  });

  it("takes a call whose window is over for absent, also with other arguments", () => {
    const database = open();
    order(database, { key: "k" });
    expireAll(database);
    const before = rows(database);
    expect(() => order(database, { key: "k" }, () => JSON.parse("no JSON"))).toThrow(SyntaxError);
    expect(rows(database)).toEqual(before);
    const second = order(database, { key: "k", args: { user: "V" } }, () => "second");
    expect(second).toMatchObject({ was_replay: false, result: "second" });
    expect(order(database, { key: "k", args: { user: "V" } })).toEqual({ ...second, was_replay: true });
    expect(rows(database)).toHaveLength(1);
  });

  it.each(['it\'s "quoted"', "'; DROP TABLE oncekv_calls; --", "\u{1F600} \u00e9", "?1 :a", "x".repeat(900)])(
    "keeps the key %j apart from all others",
    (key) => {
      const database = open();
      const first = order(database, { key });
      expect(order(database, { key })).toEqual({ ...first, was_replay: true });
      expect(order(database, { key: `${key}.` }).was_replay).toBe(false);
    },
  );

  it("refuses U+0000 in what names the call, and takes it in arguments", () => {
    const database = open();
    expect(() => order(database, { key: "a\u0000" })).toThrow(expect.objectContaining({ path: "key" }));
    expect(order(database, { args: "a\u0000" }).was_replay).toBe(false);
    expect(order(database, { args: "a" }).was_replay).toBe(false);
  });

  it("is a part of a transaction that is open, and counts when that commits", () => {
    const database = open();
    database.exec("BEGIN");
    insert(database);
    order(database, { key: "rolled back" });
    database.exec("ROLLBACK");
    expect([orderCount(database), rows(database)]).toEqual([0, []]);
    database.exec("BEGIN");
    insert(database);
    const failing = (): unknown =>
      order(database, { key: "fails" }, () => {
        insert(database);
        throw new Error("no");
      });
    expect(failing).toThrow("no");
    order(database, { key: "k" });
    expect(order(database, { key: "k" }).was_replay).toBe(true);
    database.exec("COMMIT");
    expect(orderCount(database)).toBe(2);
    expect(rows(database)).toHaveLength(1);
  });

  it("may hold other calls, but not itself", () => {
    const database = open();
    const outcome = order(database, { key: "outer" }, () => {
      expect(() => order(database, { key: "outer" })).toThrow(expect.objectContaining({ code: "call_in_flight" }));
      return [order(database, { key: "inner" }).result, order(database, { key: "inner" }).was_replay];
    });
    expect(outcome).toMatchObject({ result: [1, true], was_replay: false });
    expect(rows(database)).toHaveLength(2);
  });

  it("goes with the outer call, when that one fails", () => {
    const database = open();
    const outer = (): unknown =>
      order(database, { key: "outer" }, () => {
        order(database, { key: "inner" });
        throw new Error("the outer one fails");
      });
    expect(outer).toThrow("the outer one fails");
    expect([orderCount(database), rows(database)]).toEqual([0, []]);
  });

  it.each(["COMMIT", "COMMIT; BEGIN"])("tells work that ends it with %s, and waits for somebody to look", (ending) => {
    const database = open();
    const ended = (): unknown =>
      order(database, { key: "k" }, () => {
        insert(database);
        database.exec(ending);
      });
    expect(ended).toThrow(expect.objectContaining({ code: "invalid_request", path: "work" }));
    expect(database.inTransaction).toBe(false);
    expect(() => order(database, { key: "k" })).toThrow(expect.objectContaining({ code: "needs_review" }));
    expect(orderCount(database)).toBe(1);
  });

  it.each(["ROLLBACK", "ROLLBACK; BEGIN"])("tells work that ends it with %s, and the next caller does it", (ending) => {
    const database = open();
    const ended = (): unknown =>
      order(database, {}, () => {
        insert(database);
        database.exec(ending);
      });
    expect(ended).toThrow(expect.objectContaining({ code: "invalid_request", path: "work" }));
    expect(orderCount(database)).toBe(0);
    expect(order(database).was_replay).toBe(false);
  });

  it.each(["delete", "wal"])("gives up waiting for who else writes, with an error that says so: %s", async (mode) => {
    const file = join(await temporaryFolder(), "orders.db");
    const database = open(file);
    database.exec(`PRAGMA journal_mode = ${mode}`);
    const other = open(file);
    database.exec("PRAGMA busy_timeout = 1234");
    other.exec("BEGIN IMMEDIATE");
    for (const waitTimeout of [0, 0.02]) {
      expect(() => order(database, { waitTimeout })).toThrow(
        expect.objectContaining({
          name: "CallInFlightError",
          status: 409,
          retryable: true,
          cause: expect.objectContaining({ code: "SQLITE_BUSY" }),
        }),
      );
    }
    expect(database.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 1234 });
    other.exec("COMMIT");
    expect(order(database, { waitTimeout: 0 }).was_replay).toBe(false);
    expect(order(other).was_replay).toBe(true);
  });

  it("commits nothing when a reader does not let it, and says so", async () => {
    const file = join(await temporaryFolder(), "orders.db");
    const database = open(file);
    const reader = open(file);
    insert(database);
    reader.exec("BEGIN");
    expect(orderCount(reader)).toBe(1);
    expect(() => order(database, { waitTimeout: 0 })).toThrow(expect.objectContaining({ code: "call_in_flight" }));
    expect(database.inTransaction).toBe(false);
    reader.exec("COMMIT");
    expect(orderCount(database)).toBe(1);
    expect(order(database).was_replay).toBe(false);
  });

  it("is refused for good in a transaction that has read what others have changed since: that one must begin anew", async () => {
    const file = join(await temporaryFolder(), "orders.db");
    const database = open(file);
    database.exec("PRAGMA journal_mode = wal");
    const other = open(file);
    database.exec("BEGIN");
    expect(orderCount(database)).toBe(0);
    order(other);
    expect(() => order(database)).toThrow(expect.objectContaining({ code: "SQLITE_BUSY_SNAPSHOT" }));
    database.exec("ROLLBACK");
    expect(order(database).was_replay).toBe(true);
  });

  it("leaves what the work was kept waiting by to the work", () => {
    const database = open();
    const busy = Object.assign(new Error("another file is locked"), { code: "SQLITE_BUSY" });
    const failing = (): unknown =>
      order(database, {}, () => {
        throw busy;
      });
    expect(failing).toThrow(busy);
  });

  it("works with a table of another schema, whose name needs quotes", () => {
    const database = open();
    database.exec("ATTACH ':memory:' AS Other");
    database.exec(createTableSql({ dialect: "sqlite", table: "Other.Select" }));
    database.exec(createTableSql({ dialect: "sqlite", table: "Other.Select" }));
    order(database, { table: "Other.Select" });
    expect(order(database, { table: "Other.Select" }).was_replay).toBe(true);
    expect(database.prepare('SELECT tool FROM Other."Select"').all()).toEqual([{ tool: "place_order" }]);
  });

  it("is forgotten by a purge when its window is over, and not before", () => {
    const database = open();
    for (const key of ["a", "b", "c"]) order(database, { key });
    expireAll(database);
    order(database, { key: "d" });
    expect(purgeExpiredSync(database, { limit: 2 })).toBe(2);
    expect(purgeExpiredSync(database)).toBe(1);
    expect(purgeExpiredSync(database)).toBe(0);
    expect(rows(database)).toMatchObject([{ key: "place_order:d" }]);
    expect(() => purgeExpiredSync(database, { limit: 0 })).toThrow(expect.objectContaining({ path: "limit" }));
    expect(() => purgeExpiredSync(database, { table: "no; such" })).toThrow(expect.objectContaining({ path: "table" }));
  });

  it("refuses what is no database of better-sqlite3", () => {
    const none = { prepare: "no", exec: "no", inTransaction: "no" } as unknown as Database;
    expect(() => order(none)).toThrow(expect.objectContaining({ code: "invalid_request", path: "database" }));
  });
});
