import { describe, expect, it } from "vitest";
import { createTableSql } from "../../src/sql/index.js";

describe("the statements that create the table of calls", () => {
  it("name the table and its index, each quoted", () => {
    const text = createTableSql({ dialect: "postgres", table: "Sales.calls" });
    expect(text).toContain('CREATE TABLE IF NOT EXISTS "Sales"."calls" (');
    expect(text).toContain('CREATE INDEX IF NOT EXISTS "calls_expires_at" ON "Sales"."calls" (expires_at)');
  });

  it("put the schema where SQLite wants it", () => {
    const text = createTableSql({ dialect: "sqlite", table: "main.calls" });
    expect(text).toContain('CREATE TABLE IF NOT EXISTS "main"."calls" (');
    expect(text).toContain('CREATE INDEX IF NOT EXISTS "main"."calls_expires_at" ON "calls" (expires_at)');
  });

  it.each(["postgres", "sqlite"] as const)("have a name when none is given: %s", (dialect) => {
    expect(createTableSql({ dialect })).toContain('CREATE TABLE IF NOT EXISTS "oncekv_calls" (');
  });

  it("make the columns that they made in every earlier version: a table that is there is not changed", () => {
    const columns = (dialect: "postgres" | "sqlite") => /\(\n([^;]*)\n\);/.exec(createTableSql({ dialect }))?.[1];
    const nullable = ["completed_at timestamptz", "expires_at timestamptz", "result text"];
    expect(columns("postgres")?.split(/,?\n +/)).toEqual([
      '  key text COLLATE "C" PRIMARY KEY',
      "tool text NOT NULL",
      "fingerprint text NOT NULL",
      "called_at timestamptz NOT NULL",
      ...nullable,
    ]);
    expect(columns("sqlite")?.split(/,?\n +/)).toEqual([
      "  key text NOT NULL PRIMARY KEY",
      "tool text NOT NULL",
      "fingerprint text NOT NULL",
      "called_at text NOT NULL",
      ...nullable.map((column) => column.replace("timestamptz", "text")),
    ]);
  });

  it.each([
    "",
    "1st",
    "a b",
    'a"b',
    "a;b",
    "a.b.c",
    ".a",
    "a.",
    "a--",
    "caf\u00e9",
    "a\u0000",
    "x".repeat(49),
    null,
    7,
  ])("refuse %j as the name of a table", (table) => {
    expect(() => createTableSql({ dialect: "postgres", table: table as string })).toThrow(
      expect.objectContaining({ code: "invalid_request", path: "table" }),
    );
  });

  it("refuse a dialect that is not spoken, and options that are not known", () => {
    expect(() => createTableSql({ dialect: "mysql" as "sqlite" })).toThrow(
      expect.objectContaining({ path: "dialect", message: 'dialect: must be one of postgres, sqlite, not "mysql"' }),
    );
    expect(() => createTableSql({ dialect: "sqlite", name: "calls" } as { dialect: "sqlite" })).toThrow(
      expect.objectContaining({ path: "name" }),
    );
  });
});
