/*
 * A client stops waiting for a slow tool, its model emits the same call again, and once more to a server that was started
 * anew over the same store. One mail is sent.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { openStore, toolCalls } from "oncekv";
import { guardMcpServer, resultMeta } from "oncekv/adapters/mcp";
import { z } from "zod";

const dataDir = await mkdtemp(path.join(tmpdir(), "oncekv-mcp-"));
const mail = { name: "send_email", arguments: { to: "ann@example.com" } };
let emitted = 0;
let sent = 0;

/** One life of the server, with a client that makes one call after the other, waiting so many milliseconds for each. */
async function live(...timeouts: readonly number[]): Promise<void> {
  const store = await openStore({ dataDir });
  const calls = toolCalls(store);
  const server = new McpServer({ name: "mail", version: "1.0.0" });
  guardMcpServer(server, calls); // the one line
  server.registerTool("send_email", { inputSchema: z.object({ to: z.string() }) }, async ({ to }) => {
    sent += 1;
    await pause(2500); // a slow mail server
    return { content: [{ type: "text", text: `sent message ${sent} to ${to}` }] };
  });
  const client = new Client({ name: "agent", version: "1.0.0" });
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  await server.connect(serverSide);
  await client.connect(clientSide);
  for (const timeout of timeouts) {
    emitted += 1;
    try {
      const { content, _meta } = await client.callTool(mail, { timeout });
      const text = content.at(-1);
      console.log(`call ${emitted}: ${text?.type === "text" && text.text}, replay: ${_meta?.[resultMeta.was_replay]}`);
    } catch (error) {
      console.log(`call ${emitted}: ${error instanceof Error && error.message}`);
    }
  }
  await client.close();
  await calls.close();
  await store.close();
}

await live(1000, 60_000);
await live(60_000);
await rm(dataDir, { recursive: true });
console.log(`${emitted} calls emitted, ${sent} mail sent`);
if (sent !== 1) process.exitCode = 1;
