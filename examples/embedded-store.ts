import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, PreconditionFailedError } from "oncekv";

// The store in your own process: documents, compare-and-swap, expiry. Run it: npx tsx examples/embedded-store.ts

type Note = { text: string; likes: number };

const dataDir = await mkdtemp(join(tmpdir(), "oncekv-example-"));
const store = await openStore<{ note: Note; lock: { owner: string } }>({ dataDir });

// Created only if there is none; `revision` names this version of it.
const first = await store.put({
  shape: "note",
  id: "1",
  set: { text: "hello", likes: 0 },
  if_match: { exists: false },
});

// Two writers read the same version; the second one is told what is there instead.
await store.put({ shape: "note", id: "1", set: { text: "hello", likes: 1 }, if_match: { revision: first.revision } });
try {
  await store.put({ shape: "note", id: "1", set: { text: "hi", likes: 0 }, if_match: { revision: first.revision } });
} catch (error) {
  if (!(error instanceof PreconditionFailedError)) throw error;
  console.log("too late, there is already:", error.failures[0]?.current?.fields);
}

// A lock that goes by itself: from its deadline on the document is absent, and whoever waits hears of it.
const lock = await store.put({ shape: "lock", id: "report", set: { owner: "me" }, ttl: 0.2 });
const { changed, document } = await store.waitFor("lock", "report", { after: lock.revision, timeout: 5 });
console.log("the lock is gone:", changed && document === null);

await store.close();
await rm(dataDir, { recursive: true });
