import { writeSync } from "node:fs";
import { createClient } from "../../client/index.js";
import { type LeaseOptions, toolCalls } from "../../src/tool-calls/index.js";

/*
 * A worker in a process of its own whose tool holds up its event loop for several leases:
 *
 *     blocking-worker.ts <url> <where claims are renewed> <milliseconds>
 *
 * It prints "entered" when the tool is, what the tool could say about its claim in the end, and what the call came to.
 */

const [url = "", renewIn = "", blockMs = ""] = process.argv.slice(2);
const client = createClient({ url, retryFor: 0, timeout: 5 });
const lease = { renewIn } as LeaseOptions;
const calls = toolCalls(client, { pendingTtl: 2, lease });

/** Computes, as far as the event loop can tell. */
function block(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(blockMs));
}

let valid: boolean | undefined;
let aborted: boolean | undefined;
const ended = await calls
  .run({ tool: "compute", args: 1 }, async (call) => {
    // At once: what is written otherwise goes out when the event loop is free again.
    writeSync(1, "entered\n");
    block();
    valid = call.isValid();
    // What fell due meanwhile happens first.
    for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate);
    aborted = call.signal.aborted;
    return "computed";
  })
  .then(
    ({ result, persisted }) => ({ result, persisted }),
    (error: { code?: string }) => ({ code: error.code }),
  );
process.stdout.write(`${JSON.stringify({ valid, aborted, ...ended })}\n`);
await calls.close({ timeout: 0.001 });
await client.close();
