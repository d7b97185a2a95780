import { once } from "node:events";
import { onceInTransactionSync } from "../../src/sql/index.js";
import { loadDatabase } from "./better-sqlite3.js";

/**
 * One of several processes on one file: `sqlite-caller.ts <file> <rounds> [kill]`. It waits for a line, makes a call in
 * each round, and prints which of them it did itself. With `kill` it dies in the work of its first call.
 */

const [file = "", rounds = "0", kill] = process.argv.slice(2);
const Database = loadDatabase();
const database = new Database(file);
console.log("ready");
await once(process.stdin, "data");
const done: number[] = [];
for (let round = 0; round < Number(rounds); round++) {
  const outcome = onceInTransactionSync(database, { tool: "place_order", args: {}, key: `order-${round}` }, () => {
    database.prepare("INSERT INTO orders (note) VALUES (?)").run(String(round));
    if (kill !== undefined) process.kill(process.pid, "SIGKILL");
    return round;
  });
  if (outcome.result !== round) throw new Error(`round ${round} has the result ${outcome.result}`);
  if (!outcome.was_replay) done.push(round);
}
console.log(JSON.stringify(done));
process.exit();
