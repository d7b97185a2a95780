import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { textUntil } from "../cli/command-line.js";
import { GuardScene } from "../cli/guard-scene.js";
import { guardProcess, marksOf, packagedServer, textsOf } from "./guard-clients.js";
import { HttpScene, holdAfterwards } from "./guard-http-server.js";

/* `oncekv guard --http` in front of servers over HTTP, of every version of the protocol. */

let scene: GuardScene;
let http: HttpScene;
const ends: (() => unknown)[] = [];

beforeEach(async () => {
  scene = await GuardScene.make();
  http = await HttpScene.start();
});

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await http.stop();
  await scene.remove();
});

async function connect(
  url: string,
  {
    mode = "legacy",
    args = [],
    env = {},
  }: { mode?: "legacy" | "auto"; args?: string[]; env?: { [name: string]: string } } = {},
): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  ends.push(() => client.close());
  const transport = new StdioClientTransport(guardProcess(["--data", scene.data, "--http", url, ...args], env));
  await client.connect(transport);
  return client;
}

const mail = { name: "send_mail", arguments: { to: "ann\u00e9" } };

describe.each(["legacy", "auto"] as const)("a client of the %s kind", (mode) => {
  test("a call fires once, what reads goes through, and headers of the command line come along", async () => {
    const client = await connect(http.url, {
      mode,
      args: ["--header", "X-Team: blue", "--header-env", "MAIL_AUTHORIZATION"],
      env: { MAIL_AUTHORIZATION: "Authorization: Bearer s3cret" },
    });
    expect((await client.listTools()).tools.map(({ name }) => name).sort()).toEqual(["get_status", "send_mail"]);
    const first = await client.callTool(mail);
    const second = await client.callTool(mail);
    expect(marksOf(first)).toMatchObject({ "oncekv/was_replay": false });
    expect(marksOf(second)).toMatchObject({ "oncekv/was_replay": true });
    expect(textsOf(second)).toEqual([expect.stringContaining("Nothing was done again"), ...textsOf(first)]);
    for (let count = 0; count < 2; count++) {
      expect(textsOf(await client.callTool({ name: "get_status" }))).toEqual(["all is well"]);
    }
    expect(http.sent).toEqual(["ann\u00e9"]);
    const posts = http.requests.filter(({ httpMethod }) => httpMethod === "POST");
    for (const { headers } of posts)
      expect(headers).toMatchObject({ authorization: "Bearer s3cret", "x-team": "blue" });
    const call = posts.find(({ body }) => body.includes('"send_mail"') && body.includes("tools/call"));
    if (mode === "auto") {
      expect(client.getProtocolEra()).toBe("modern");
      const recipient = `=?base64?${Buffer.from("ann\u00e9").toString("base64")}?=`;
      expect(call?.headers).toMatchObject({
        "mcp-method": "tools/call",
        "mcp-name": "send_mail",
        "mcp-param-recipient": recipient,
      });
    } else {
      expect(call?.headers["mcp-protocol-version"]).toBe(client.getNegotiatedProtocolVersion());
    }
  });

  test("a connection that breaks during a call leaves it in doubt", async () => {
    const client = await connect(http.url, { mode });
    const { gate, reached } = holdAfterwards(http);
    const lost = client.callTool(mail).catch((error: unknown) => error);
    await reached;
    http.break();
    expect(await lost).toMatchObject({ code: -32000, message: expect.stringContaining("Do not call again") });
    gate.open();
    expect(marksOf(await client.callTool(mail))).toMatchObject({ "oncekv/code": "needs_review" });
    expect(http.sent).toHaveLength(1);
  });

  test("a status at the door is no call: it is an error for the client, and the call may be made again", async () => {
    const client = await connect(http.url, { mode });
    for (const status of [401, 404, 429]) {
      http.nextStatus = status;
      await expect(client.callTool(mail)).rejects.toMatchObject({
        code: -32000,
        message: expect.stringMatching(new RegExp(`status ${status}.*It may be made again`)),
      });
    }
    expect(marksOf(await client.callTool(mail))).toMatchObject({ "oncekv/was_replay": false });
    expect(http.sent).toHaveLength(1);
  });
});

test("what 503 means nobody knows, and a server that is not there has done nothing", async () => {
  const client = await connect(http.url);
  http.nextStatus = 503;
  await expect(client.callTool(mail)).rejects.toMatchObject({ message: expect.stringContaining("is not known") });
  expect(marksOf(await client.callTool(mail))).toMatchObject({ "oncekv/code": "needs_review" });
  await http.stop();
  const other = { name: "send_mail", arguments: { to: "bob" } };
  await expect(client.callTool(other)).rejects.toMatchObject({ message: expect.stringContaining("may be made again") });
});

test("a server that does not know the session any more ends the guard, for the client to start it anew", async () => {
  http.session = "first";
  const client = await connect(http.url);
  const closed = new Promise<void>((resolve) => {
    client.onclose = resolve;
  });
  http.nextStatus = 404;
  await expect(client.callTool(mail)).rejects.toMatchObject({
    message: expect.stringContaining("It may be made again"),
  });
  await closed;
  http.session = "second";
  const again = await connect(http.url);
  expect(marksOf(await again.callTool(mail))).toMatchObject({ "oncekv/was_replay": false });
  expect(http.sent).toHaveLength(1);
});

test("server-everything over HTTP: a session, progress, and messages of the server go through", async () => {
  const { url } = await startEverything();
  const client = new Client({ name: "test", version: "1" }, { capabilities: { sampling: {} } });
  ends.push(() => client.close());
  client.setRequestHandler("sampling/createMessage", () => ({
    role: "assistant" as const,
    model: "scripted",
    content: { type: "text" as const, text: "sampled here" },
  }));
  await client.connect(new StdioClientTransport(guardProcess(["--data", scene.data, "--http", url])));
  const steps: number[] = [];
  const operation = { name: "trigger-long-running-operation", arguments: { duration: 0.1, steps: 3 } };
  await client.callTool(operation, { onprogress: ({ progress }) => steps.push(progress) });
  expect(steps).toEqual([1, 2, 3]);
  await vi.waitFor(async () => {
    const { tools } = await client.listTools();
    if (!tools.some(({ name }) => name === "trigger-sampling-request")) throw new Error("not offered yet");
  });
  const sampled = await client.callTool({
    name: "trigger-sampling-request",
    arguments: { prompt: "hi", maxTokens: 5 },
  });
  expect(textsOf(sampled).join()).toContain("sampled here");
});

/** On a port that was free a moment ago: the server takes no other way to say which. */
async function startEverything(): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  const [file = "", ...args] = packagedServer("everything", "streamableHttp");
  const child = spawn(file, args, { env: { ...process.env, PORT: String(port) }, stdio: ["ignore", "ignore", "pipe"] });
  ends.push(() => child.kill("SIGKILL"));
  await textUntil(child.stderr, "listening on port");
  return { url: `http://127.0.0.1:${port}/mcp`, child };
}
