import { openStore } from "../../../src/level/index.js";

/** Writes documents that expire sooner and later, watches, and ends without closing: `unclosed.ts <folder>`. */

const [dataDir = ""] = process.argv.slice(2);
process.on("warning", (warning) => process.stdout.write(`${warning.name}\n`));
const store = await openStore({ dataDir });
for (const ttl of [0.05, 5, 3600, 86_400 * 30, 86_400 * 365, store.limits.ttlSecondsMax]) {
  await store.put({ shape: "lease", id: `${ttl}`, set: {}, ttl });
}
const watch = store.watch({ shape: "lease" })[Symbol.asyncIterator]();
void watch.next();
await new Promise((resolve) => setTimeout(resolve, 300));
const { documents } = await store.list("lease");
process.stdout.write(`${documents.length} left\n`);
