import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import {
  Client as ClientTwo,
  StreamableHTTPClientTransport as HttpTwo,
  InMemoryTransport as TransportTwo,
} from "@modelcontextprotocol/client";
import { Client as ClientOne } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpOne } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport as TransportOne } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer as ServerOne } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { UrlElicitationRequiredError } from "@modelcontextprotocol/sdk/types.js";
import { acceptedContent, createMcpHandler, inputRequired, McpServer as ServerTwo } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { guardMcpServer, resultMeta } from "../../client/adapters/mcp/index.js";
import { openStore } from "../../src/level/index.js";
import { type ToolCalls, toolCalls } from "../../src/tool-calls/index.js";
import { openScene } from "../tool-calls/scene.js";
import { Gate } from "../tools/tool-scene.js";

const info = { name: "test", version: "1.0.0" };
const mail = z.object({ to: z.string() });
const hi = { name: "send_email", arguments: { to: "ann@example.com" } };

async function listen(handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>) {
  const server: Server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  const { port } = server.address() as AddressInfo;
  return { url: new URL(`http://127.0.0.1:${port}/mcp`), stop };
}

/** The first generation over HTTP: one server for each session, all of them over the same calls; a bearer is a principal. */
async function serveOne(calls: ToolCalls, send: () => Promise<unknown> | unknown) {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const server = new ServerOne(info);
    guardMcpServer(server, calls);
    server.registerTool("send_email", { inputSchema: mail }, async () => {
      return { content: [{ type: "text", text: `sent ${String(await send())}` }] };
    });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await server.connect(transport as Transport);
    return transport;
  };
  return listen(async (request, response) => {
    const clientId = request.headers.authorization?.slice("Bearer ".length) ?? "nobody";
    const id = request.headers["mcp-session-id"];
    const transport = (typeof id === "string" ? sessions.get(id) : undefined) ?? (await open());
    await transport.handleRequest(Object.assign(request, { auth: { token: "t", clientId, scopes: [] } }), response);
  });
}

async function connectOne(url: URL, bearer: string): Promise<ClientOne> {
  const client = new ClientOne(info);
  const transport = new HttpOne(url, { requestInit: { headers: { authorization: `Bearer ${bearer}` } } });
  await client.connect(transport as Transport);
  onTestFinished(() => client.close());
  return client;
}

describe("a guarded MCP server of SDK 1 over Streamable HTTP", () => {
  it("gives a client that timed out its result, also from another process over the same store", async () => {
    const dataDir = await mkdtemp(path.join(os.tmpdir(), "oncekv-mcp-"));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const gate = new Gate();
    let sent = 0;
    const send = async (): Promise<number> => {
      sent += 1;
      await gate.opened;
      return sent;
    };
    const before = await openStore({ dataDir });
    const callsBefore = toolCalls(before);
    const first = await serveOne(callsBefore, send);
    const client = await connectOne(first.url, "app-1");
    await expect(client.callTool(hi, undefined, { timeout: 1500 })).rejects.toThrow(/timed out/);
    await vi.waitFor(() => expect(sent).toBe(1));
    await client.close();
    gate.open();
    // Waits for the tool, whose client has gone.
    await callsBefore.close();
    await first.stop();
    await before.close();

    const after = await openStore({ dataDir });
    onTestFinished(() => after.close());
    const second = await serveOne(toolCalls(after), send);
    onTestFinished(second.stop);
    const retry = await (await connectOne(second.url, "app-1")).callTool(hi);
    expect(retry).toMatchObject({
      content: [{ text: expect.stringContaining("was made before") }, { text: "sent 1" }],
      _meta: { [resultMeta.was_replay]: true },
    });
    expect(sent).toBe(1);
    const other = await (await connectOne(second.url, "app-2")).callTool(hi);
    expect(other._meta).toMatchObject({ [resultMeta.was_replay]: false });
    expect(sent).toBe(2);
  });

  it("keeps session and request apart from the intent: two sessions retry one call", async () => {
    const scene = await openScene();
    let sent = 0;
    const { calls } = scene.worker("A");
    const served = await serveOne(calls, () => ++sent);
    onTestFinished(served.stop);
    for (let session = 0; session < 2; session++) await (await connectOne(served.url, "app-1")).callTool(hi);
    expect(sent).toBe(1);
    expect((await calls.list()).calls.map(({ fields }) => fields.extra)).toEqual([
      { tool_call_id: "request 1", thread_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    ]);
  });
});

/** A server of the second generation with a tool that asks before it sends. */
function askingServer(calls: ToolCalls, sent: string[]): ServerTwo {
  const server = new ServerTwo(info);
  guardMcpServer(server, calls);
  server.registerTool("send_email", { inputSchema: mail }, async ({ to }, ctx) => {
    const requestedSchema = z.object({ sure: z.boolean() });
    const answer = acceptedContent(ctx.mcpReq.inputResponses, "sure", requestedSchema);
    if (answer?.sure !== true) {
      const sure = inputRequired.elicit({ message: `Send to ${to}?`, requestedSchema });
      return inputRequired({ inputRequests: { sure } });
    }
    sent.push(to);
    return { content: [{ type: "text", text: "sent" }] };
  });
  return server;
}

function askedClient(mode: "legacy" | "auto") {
  const client = new ClientTwo(info, { capabilities: { elicitation: {} }, versionNegotiation: { mode } });
  const questions: string[] = [];
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    questions.push(params.message);
    return { action: "accept", content: { sure: true } };
  });
  return { client, questions };
}

/** The second generation over HTTP: one server for each request. */
async function serveTwo(makeServer: () => ServerTwo) {
  const handler = createMcpHandler(makeServer);
  return listen(async (request, response) => {
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const hasBody = request.method !== "GET" && request.method !== "HEAD";
    const body = hasBody ? await new Response(Readable.toWeb(request) as ReadableStream).text() : undefined;
    const answer = await handler.fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        method: request.method ?? "GET",
        headers,
        ...(body === undefined ? {} : { body }),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
}

describe("a guarded tool of SDK 2 that asks for input", () => {
  it("parks its call, and completes it with the answer, over HTTP in protocol 2026-07-28", async () => {
    const scene = await openScene();
    const { calls } = scene.worker("A");
    const sent: string[] = [];
    const statuses: unknown[] = [];
    const served = await serveTwo(() => askingServer(calls, sent));
    onTestFinished(served.stop);
    const { client, questions } = askedClient("auto");
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      questions.push(params.message);
      statuses.push(...(await calls.list()).calls.map(({ fields }) => fields.status));
      return { action: "accept", content: { sure: true } };
    });
    await client.connect(new HttpTwo(served.url));
    onTestFinished(() => client.close());
    const result = await client.callTool(hi);
    expect(statuses).toEqual(["parked"]);
    expect(result).toMatchObject({ content: [{ text: "sent" }], _meta: { [resultMeta.was_replay]: false } });
    const again = await client.callTool(hi);
    expect(again._meta).toMatchObject({ [resultMeta.was_replay]: true });
    expect(questions).toEqual(["Send to ann@example.com?"]);
    expect(sent).toEqual(["ann@example.com"]);
  });

  it("does the same for a client of the older protocol, for which the SDK asks", async () => {
    const scene = await openScene();
    const { calls } = scene.worker("A");
    const sent: string[] = [];
    const [clientSide, serverSide] = TransportTwo.createLinkedPair();
    await askingServer(calls, sent).connect(serverSide);
    const { client, questions } = askedClient("legacy");
    await client.connect(clientSide);
    onTestFinished(() => client.close());
    const results = [await client.callTool(hi), await client.callTool(hi)];
    expect(results.map(({ _meta }) => _meta?.[resultMeta.was_replay])).toEqual([false, true]);
    expect(questions).toHaveLength(1);
    expect(sent).toHaveLength(1);
  });
});

describe("a guarded tool of SDK 1 that needs a page to be visited", () => {
  it("parks its call, and the error of the protocol reaches the client", async () => {
    const scene = await openScene();
    const { calls } = scene.worker("A");
    const server = new ServerOne(info);
    guardMcpServer(server, calls);
    let visited = false;
    let sent = 0;
    server.registerTool("send_email", { inputSchema: mail }, () => {
      const page = { mode: "url", message: "Log in", elicitationId: "e", url: "https://example.com/login" } as const;
      if (!visited) throw new UrlElicitationRequiredError([page]);
      sent += 1;
      return { content: [] };
    });
    const [clientSide, serverSide] = TransportOne.createLinkedPair();
    await server.connect(serverSide);
    const client = new ClientOne(info);
    await client.connect(clientSide);
    onTestFinished(() => client.close());
    await expect(client.callTool(hi)).rejects.toMatchObject({ code: -32042 });
    expect((await calls.list()).calls.map(({ fields }) => fields.status)).toEqual(["parked"]);
    visited = true;
    expect((await client.callTool(hi))._meta).toMatchObject({ [resultMeta.was_replay]: false });
    expect(sent).toBe(1);
  });
});
