import { existsSync } from "node:fs";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

// A packaged MCP server behind `oncekv guard`, which is killed in between. Run it: npx tsx examples/adapters/guard.ts

const folder = await realpath(await mkdtemp(join(tmpdir(), "oncekv-example-")));
const list = join(folder, "shopping.txt");
await writeFile(list, "milk\n");

// In a client's configuration: npx oncekv guard -- npx -y @modelcontextprotocol/server-filesystem <folder>
const sources = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const built = join(dirname(createRequire(import.meta.url).resolve("oncekv/package.json")), "dist/cli/oncekv.cjs");
const oncekv = existsSync(sources) ? ["--import", "tsx", sources] : [built];
const server = fileURLToPath(
  new URL("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", import.meta.url),
);
const guarded = [...oncekv, "guard", "--data", join(folder, "calls"), "--", process.execPath, server, folder];

async function connect(): Promise<{ client: Client; pid: number }> {
  const client = new Client({ name: "example", version: "1" });
  const transport = new StdioClientTransport({ command: process.execPath, args: guarded, stderr: "ignore" });
  await client.connect(transport);
  return { client, pid: transport.pid ?? 0 };
}

// What a model emits that is not sure whether its call came through. Each time it is applied there are more eggs.
const edit = { name: "edit_file", arguments: { path: list, edits: [{ oldText: "milk", newText: "milk\neggs" }] } };
let emitted = 0;
async function emit(client: Client): Promise<void> {
  emitted += 1;
  const number = emitted;
  const { _meta } = await client.callTool(edit);
  console.log(`call ${number}, replay: ${_meta?.["oncekv/was_replay"]}`);
}

const first = await connect();
await Promise.all([emit(first.client), emit(first.client)]);
process.kill(first.pid, "SIGKILL"); // the guard, and with it the connection
await first.client.close();

const second = await connect();
await emit(second.client);
await second.client.close();

const effects = (await readFile(list, "utf8")).split("\n").filter((line) => line === "eggs").length;
await rm(folder, { recursive: true });
console.log(`${emitted} calls, ${effects} effect`);
if (effects !== 1) process.exitCode = 1;
