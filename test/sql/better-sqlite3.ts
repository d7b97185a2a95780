import { createRequire } from "node:module";
import { describe, it } from "vitest";
import type { SqliteDatabase } from "../../src/sql/index.js";

/** What is used of better-sqlite3 beyond what the calls need. */
export interface Database extends SqliteDatabase {
  prepare(sql: string): ReturnType<SqliteDatabase["prepare"]> & { all(...values: unknown[]): unknown[] };
  defaultSafeIntegers(on: boolean): unknown;
  close(): unknown;
}

type Constructor = new (file: string) => Database;

/** It is installed for the benchmarks, in a folder of its own. @throws when it is not */
export function loadDatabase(): Constructor {
  const load = createRequire(new URL("../../bench/peers/package.json", import.meta.url));
  const found = load("better-sqlite3") as Constructor;
  // Its native part is loaded when it is used.
  new found(":memory:").close();
  return found;
}

/** Tests with better-sqlite3; without it they are skipped, and where CI runs they fail. */
export function describeWithSqlite(name: string, tests: (Database: Constructor) => void): void {
  let found: Constructor;
  try {
    found = loadDatabase();
  } catch (error) {
    const problem = error instanceof Error ? error.message.split("\n")[0] : String(error);
    const reason = `better-sqlite3 cannot be loaded (npm ci --prefix bench/peers): ${problem}`;
    if (process.env["CI"]) it(name, () => Promise.reject(new Error(reason)));
    else {
      console.log(`skipped: ${name}: ${reason}`);
      describe.skip(`${name} (${reason})`, () => it("needs better-sqlite3", () => {}));
    }
    return;
  }
  describe(name, () => tests(found));
}
