import { once } from "node:events";
import { writeSync } from "node:fs";
import type { PutOperation, WriteIdentity } from "../../src/documents/contract.js";
import { type EmbeddedStore, openStore } from "../../src/level/index.js";

/**
 * Writes without end, to be killed: `writer.ts <folder> <durability> <round>`. It opens the folder when it is told to
 * go, and prints each write before it begins and again when it is acknowledged, one JSON line each.
 */

/** What it prints. */
export type WriterLine =
  | { readonly line: "ready" }
  | { readonly line: "open"; readonly revision: number }
  | { readonly line: "begin"; readonly worker: number; readonly write: PutOperation & WriteIdentity }
  | { readonly line: "put"; readonly worker: number; readonly n: number; readonly revision: number }
  | { readonly line: "batch"; readonly worker: number; readonly token: number; readonly revision: number };

/** Workers write to documents of their own: a counter each, and a group of documents that always hold one token. */
export const workers = 8;
export const groupSize = 5;

function print(line: WriterLine): void {
  // Synchronous: what is acknowledged is in the pipe before anything else happens.
  writeSync(1, `${JSON.stringify(line)}\n`);
}

async function work(store: EmbeddedStore, worker: number, round: string): Promise<never> {
  for (let step = 0; ; step++) {
    const id = `${worker}`;
    const counter = await store.getDocument("counter", id);
    const n = Number(counter?.fields["n"] ?? 0) + 1;
    const write = {
      shape: "counter",
      id,
      set: { n, text: "x".repeat((n * 37) % 3000) },
      if_match: counter === undefined ? { exists: false } : { revision: counter.revision },
      write_id: `${round}-${worker}-${step}`,
    };
    print({ line: "begin", worker, write });
    const put = await store.put(write);
    print({ line: "put", worker, n, revision: put.revision });

    const members = Array.from({ length: groupSize }, (_, member) => `${worker}-${member}`);
    const token = Number((await store.get("group", `${worker}-0`))?.["token"] ?? 0) + 1;
    // Now and then all go, and come back with the next token.
    const operations = members.map((member) =>
      token % 10 === 0
        ? { op: "patch" as const, shape: "group", id: member, merge: { token, filler: null } }
        : { op: "put" as const, shape: "group", id: member, set: { token, filler: "y".repeat((token * 53) % 2000) } },
    );
    const { revision } = await store.batch(operations);
    print({ line: "batch", worker, token, revision });
  }
}

if (process.argv[1]?.endsWith("writer.ts")) {
  const [dataDir = "", durability = "durable", round = "0"] = process.argv.slice(2);
  print({ line: "ready" });
  await once(process.stdin, "data");
  const store = await openStore({ dataDir, durability: durability === "buffered" ? "buffered" : "durable" });
  print({ line: "open", revision: store.revision });
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(store, worker, round)));
}
