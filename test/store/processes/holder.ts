import { writeSync } from "node:fs";
import { openStore } from "../../../src/level/index.js";

/** Opens the folder that it is given, says so, and keeps it open until it is killed: `holder.ts <folder>`. */

const [dataDir = ""] = process.argv.slice(2);
const store = await openStore({ dataDir });
await store.put({ shape: "held", id: "a", set: { by: "holder" } });
writeSync(1, "open\n");
setInterval(() => undefined, 1000);
