import { openMemoryStore } from "oncekv";

// Follows changes, stops, and goes on where it stopped without missing any. Run it: npx tsx examples/watch-and-resume.ts
// The same code works with createClient({ url }) in place of the store.

const store = await openMemoryStore<{ job: { state: string } }>();

/** Prints changes after a revision until there were `count` of them; gives the revision to go on from. */
async function follow(since: number, count: number): Promise<number> {
  let left = count;
  for await (const commit of store.watch({ shape: "job", since })) {
    // A commit is a whole: both changes of a batch come together.
    for (const { type, id, document } of commit.changes) {
      console.log(`revision ${commit.revision}: ${type} ${id} ${document?.fields.state ?? ""}`.trimEnd());
    }
    left -= commit.changes.length;
    if (left <= 0) return commit.revision;
  }
  return since;
}

await store.put({ shape: "job", id: "a", set: { state: "queued" } });
const seen = await follow(0, 1);

// Nobody watches while these happen.
await store.batch([
  { op: "put", shape: "job", id: "a", set: { state: "running" } },
  { op: "put", shape: "job", id: "b", set: { state: "queued" } },
]);
await store.delete({ shape: "job", id: "a" });

await follow(seen, 3);
await store.close();
