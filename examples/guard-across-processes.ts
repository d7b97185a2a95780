import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { toolCalls } from "oncekv";
import { createClient } from "oncekv/client";

// Several processes share the calls through a server. Run it: npx tsx examples/guard-across-processes.ts

const url = process.argv[2];
await (url === undefined ? startWorkers() : work(url));

/** A worker: everything but the URL is as with an embedded store. */
async function work(serverUrl: string): Promise<void> {
  const client = createClient({ url: serverUrl });
  const calls = toolCalls(client);
  const args = { card: "visa-4242", amount: "12.50" };
  const outcome = await calls.run({ tool: "charge_card", args, key: "invoice-2041" }, async (call) => {
    // Here the card is charged; give `call.headers` to the request, so that the other side knows a repeat as well.
    return `charged by process ${process.pid}, attempt ${call.attempt}`;
  });
  console.log(`worker ${process.pid}: ${outcome.result}${outcome.was_replay ? " (replay)" : ""}`);
  await calls.close();
  await client.close();
}

async function startWorkers(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), "oncekv-example-"));
  const { serve } = await import("oncekv/server"); // the workers need no server
  const server = await serve({ dataDir, port: 0, logLevel: "silent" }); // in real life: `oncekv serve`
  const workers = [1, 2, 3].map(() => fork(fileURLToPath(import.meta.url), [server.url]));
  await Promise.all(workers.map((worker) => once(worker, "exit")));
  await server.close();
  await rm(dataDir, { recursive: true });
}
