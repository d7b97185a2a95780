import type { Clock } from "../../src/base/clock.js";
import { printJson, shownId, type Terminal } from "../terminal.js";
import {
  errorLine,
  idOf,
  isObject,
  type JsonObject,
  lineOf,
  memberOf,
  methodOf,
  parseLine,
  rpcCodes,
} from "./json-rpc.js";
import { OwnRequests } from "./own-requests.js";
import type { ServerLink } from "./server-link.js";
import { judgeTool, misnamed, type ToolJudgement, type ToolRules } from "./tool-judgement.js";
import type { ListedTool } from "./tool-list.js";

/** How long a server may take to answer one request. A package that is downloaded first takes its time. */
const patienceMs = 60_000;

/** Of the protocol, as far as it begins with `initialize`. Servers answer with the one that they speak. */
const protocolVersion = "2025-11-25";

/** The first version without a beginning of its own: every request says in `_meta` what the client is. */
const statelessVersion = "2026-07-28";

const clientInfo = { name: "oncekv-guard", version: "1" } as const;

/** Prints what would be done with each tool of a server, and why; then ends the server. */
export async function explainServer(
  terminal: Terminal,
  server: ServerLink,
  rules: ToolRules,
  clock: Clock,
  asJson: boolean,
): Promise<void> {
  const own = new OwnRequests(clock, (line) => server.send(line));
  const reading = readAnswers(server, own);
  try {
    const tools = await listTools(server, own);
    const judged = tools.map((tool) => ({ tool, judgement: judgeTool(tool.name, tool.annotations, rules) }));
    await (asJson ? printAsJson(terminal, judged) : printTable(terminal, judged));
    for (const name of misnamed(rules, tools)) {
      terminal.note(`oncekv guard: the server lists no tool ${shownId(name)}`);
    }
  } finally {
    await server.close();
    await reading;
  }
}

async function listTools(server: ServerLink, own: OwnRequests): Promise<readonly ListedTool[]> {
  const begun = await own.ask("initialize", { protocolVersion, capabilities: {}, clientInfo }, patienceMs);
  if (begun === undefined) throw new Error(`${server.name} does not answer`);
  const begins = memberOf(begun, "result") !== undefined;
  if (begins) await server.send(lineOf({ jsonrpc: "2.0", method: "notifications/initialized" }));
  const tools = await own.listTools(begins ? undefined : statelessMeta(), patienceMs);
  if (tools === undefined) throw new Error(`${server.name} does not list its tools`);
  return tools;
}

function statelessMeta(): JsonObject {
  return {
    "io.modelcontextprotocol/protocolVersion": statelessVersion,
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
}

async function readAnswers(server: ServerLink, own: OwnRequests): Promise<void> {
  try {
    for await (const event of server.events) {
      if (event.event === "failed") own.settle(event.id, undefined);
      else await answer(server, own, parseLine(event.line));
    }
  } finally {
    own.abandon();
  }
}

async function answer(server: ServerLink, own: OwnRequests, message: unknown): Promise<void> {
  const id = idOf(message);
  if (id === undefined || !isObject(message)) return;
  const method = methodOf(message);
  if (method === undefined) return own.settle(id, message);
  // Nothing that a server may ask of a client is offered here; that it lives it may be told.
  const text = "this client only lists tools";
  const line =
    method === "ping" ? lineOf({ jsonrpc: "2.0", id, result: {} }) : errorLine(id, rpcCodes.methodNotFound, text);
  await server.send(line);
}

interface Judged {
  readonly tool: ListedTool;
  readonly judgement: ToolJudgement;
}

async function printAsJson(terminal: Terminal, judged: readonly Judged[]): Promise<void> {
  for (const { tool, judgement } of judged) {
    const { guarded, policy, reasons } = judgement;
    await printJson(terminal, { tool: tool.name, guarded, policy, reasons, annotations: tool.annotations ?? null });
  }
}

async function printTable(terminal: Terminal, judged: readonly Judged[]): Promise<void> {
  const rows = judged.map(({ tool, judgement: { guarded, policy, reasons } }) => [
    shownId(tool.name),
    guarded ? "guarded" : "left",
    policy ?? "-",
    // The one for the policy is told by the column before.
    (guarded ? reasons.slice(0, -1) : reasons).join("; "),
  ]);
  const table = [["TOOL", "CALLS ARE", "IN DOUBT", "WHY"], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => (row[column] ?? "").length)));
  for (const row of table) {
    await terminal.print(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
  }
}
