/*
 * A process of its own, started with --expose-gc: a mixed load over an embedded store and its server, in stretches, each
 * followed by a line of JSON with what it has left behind. Arguments: folder, seed, stretches, rounds a stretch, leak.
 */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "../../client/index.js";
import { createServer } from "../../server/index.js";
import { openStore, toolCalls } from "../../src/index.js";
import { ManualClock } from "../../src/testing/index.js";
import { SeededRandom } from "../crash/seeded-random.js";
import { compactedBytes } from "./compacted-bytes.js";
import type { Measured } from "./levelling.js";

const [folder = "", seed = "0", stretches = "9", rounds = "40", leak = "none"] = process.argv.slice(2);
const random = new SeededRandom(Number(seed));
const clock = new ManualClock();
const dataDir = join(folder, "data");
/** A past that is never cut off is what a leak on the disk looks like. */
const maxAgeSeconds = leak === "disk" ? 1_000_000 : 60;
const store = await openStore({ dataDir, clock, durability: "buffered", history: { maxAgeSeconds } });
const app = createServer({ store, clock });
await app.listen({ host: "127.0.0.1", port: 0 });
const address = app.server.address();
const port = typeof address === "object" && address !== null ? address.port : 0;
const client = createClient({ url: `http://127.0.0.1:${port}` });
const calls = toolCalls(store, { clock, completedTtl: 60, pendingTtl: 20, failedTtl: 10 });
/** What a leak holds on to. */
const held: unknown[] = [];
let claims = 0;
const roundMs = 2000;

for (let stretch = 0; stretch < Number(stretches); stretch++) {
  for (let round = 0; round < Number(rounds); round++) await workRound();
  // Two minutes a stretch: write ids are remembered for ten, which must be over well before the end.
  clock.advance(120_000 - Number(rounds) * roundMs);
  await store.backup(join(folder, "backup"));
  await rm(join(folder, "backup"));
  process.stdout.write(`${JSON.stringify(await measure())}\n`);
}
await client.close();
await app.close();
await calls.close();
await store.close();

async function workRound(): Promise<void> {
  const places = Array.from({ length: 40 }, () => `d${random.below(500)}`);
  const watching = new AbortController();
  const watcher = leak === "watches" ? new AbortController() : watching;
  const watches = [store.watch({ signal: watcher.signal }), client.watch({ signal: watching.signal })];
  const firsts = watches.map((watch) =>
    watch[Symbol.asyncIterator]()
      .next()
      .catch(() => {}),
  );
  if (leak === "watches")
    held.push(
      Array.from({ length: 20 }, () =>
        store
          .watch({})
          .next()
          .catch(() => {}),
      ),
    );
  const writers = places.map((id, n) => {
    const through = n % 3 === 0 ? client : store;
    const ttl = [null, 1, 30, 7200][random.below(4)] ?? null;
    return through.put({
      shape: "note",
      id,
      set: { text: textOf(random.below(1000)) },
      ttl,
      write_id: `${claims++}`,
    });
  });
  const waits = [
    store.waitFor("note", places[0] ?? "", { timeout: 5, signal: watching.signal }),
    client.waitFor("note", places[1] ?? "", { timeout: 5, signal: watching.signal }),
  ];
  const call = { tool: "soak", key: `${claims % 200}`, args: {} };
  await calls.run(call, async () => ({ n: claims })).catch(() => {});
  await Promise.all(writers);
  if (leak === "memory") held.push(Buffer.alloc(256 * 1024, 1).toString("latin1") + claims);
  clock.advance(roundMs);
  watching.abort();
  await Promise.allSettled([...waits, ...(leak === "watches" ? firsts.slice(1) : firsts)]);
}

/** Text that does not get small when it is compressed. */
function textOf(length: number): string {
  let text = "";
  while (text.length < length) text += random.next().toString(36).slice(2);
  return text.slice(0, length);
}

async function measure(): Promise<Measured> {
  // What was cut needs a moment until both ends have noticed.
  await new Promise((resolve) => setTimeout(resolve, 150));
  globalThis.gc?.();
  await new Promise((resolve) => setImmediate(resolve));
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  const open = await readdir("/proc/self/fd").catch(() => []);
  const disk = await compactedBytes(dataDir, join(folder, "copy"));
  const resources = process.getActiveResourcesInfo().length;
  const { watchers, waiters } = store.stats();
  return { heap: heapUsed, buffers: arrayBuffers, files: open.length, resources, watches: watchers + waiters, disk };
}
