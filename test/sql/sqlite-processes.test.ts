import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { createTableSql, onceInTransactionSync } from "../../src/sql/index.js";
import { temporaryFolder } from "../store/temporary-folder.js";
import { type Database, describeWithSqlite } from "./better-sqlite3.js";

/** A process that waits for the word to begin. */
interface Caller {
  readonly ready: Promise<unknown>;
  /** What it printed, or the signal that ended it. */
  go(): Promise<string>;
}

function startCaller(...args: readonly string[]): Caller {
  const path = fileURLToPath(new URL("sqlite-caller.ts", import.meta.url));
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, ["--import", "tsx", path, ...args]);
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const closed = once(child, "close");
  return {
    ready: once(child.stdout, "data"),
    async go() {
      child.stdin.end("go\n");
      const [, signal] = await closed;
      return signal === null ? text.replace("ready\n", "") : String(signal);
    },
  };
}

describeWithSqlite("several processes on one file of SQLite", (Sqlite) => {
  async function openFile(): Promise<{ readonly file: string; readonly database: Database }> {
    const file = join(await temporaryFolder(), "orders.db");
    const database = new Sqlite(file);
    onTestFinished(() => {
      database.close();
    });
    database.exec("PRAGMA journal_mode = wal");
    database.exec(createTableSql({ dialect: "sqlite" }));
    database.exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)");
    return { file, database };
  }

  it("do each call once between them", async () => {
    const { file, database } = await openFile();
    const rounds = 200;
    const callers = [startCaller(file, String(rounds)), startCaller(file, String(rounds))];
    await Promise.all(callers.map(({ ready }) => ready));
    const printed = await Promise.all(callers.map((caller) => caller.go()));
    const done = printed.flatMap((line) => JSON.parse(line) as number[]);
    expect(done.sort((a, b) => a - b)).toEqual(Array.from({ length: rounds }, (_, round) => round));
    const { count } = database.prepare("SELECT count(*) AS count FROM orders").get() as { readonly count: number };
    expect(count).toBe(rounds);
  });

  it("leave nothing behind when one is killed in its work, and the next caller does it", async () => {
    const { file, database } = await openFile();
    const caller = startCaller(file, "1", "kill");
    await caller.ready;
    expect(await caller.go()).toBe("SIGKILL");
    const request = { tool: "place_order", args: {}, key: "order-0" };
    const outcome = onceInTransactionSync(database, request, (own) =>
      own.prepare("SELECT count(*) AS count FROM orders").get(),
    );
    expect(outcome).toMatchObject({ was_replay: false, result: { count: 0 } });
  });
});
