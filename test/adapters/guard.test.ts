import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CreateMessageRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runCli, ServeProcess } from "../cli/command-line.js";
import { GuardScene } from "../cli/guard-scene.js";
import { type AnyClient, generations, guardProcess, marksOf, packagedServer, textsOf } from "./guard-clients.js";

/* `oncekv guard` started by the clients of the protocol's own package, in front of its own servers. */

let scene: GuardScene;
const clients: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  scene = await GuardScene.make();
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await scene.remove();
});

describe.each(generations)("a client of $generation", ({ connect }) => {
  async function start(server: readonly string[], env?: { readonly [name: string]: string }): Promise<AnyClient> {
    const client = await connect(["--data", scene.data, "--", ...server], env);
    clients.push(client);
    return client;
  }

  test("server-filesystem: tools are listed, files are read, and a file is written once", async () => {
    const client = await start(packagedServer("filesystem", scene.folder));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("write_file");
    const path = join(scene.folder, "note.txt");
    const write = { name: "write_file", arguments: { path, content: "from the model" } };
    const first = await client.callTool(write);
    expect(marksOf(first)).toMatchObject({ "oncekv/was_replay": false });
    expect(await readFile(path, "utf8")).toBe("from the model");
    await writeFile(path, "changed by a person");
    const second = await client.callTool(write);
    expect(marksOf(second)).toMatchObject({ "oncekv/was_replay": true });
    expect(textsOf(second)).toEqual([expect.stringContaining("Nothing was done again"), ...textsOf(first)]);
    expect(await readFile(path, "utf8")).toBe("changed by a person");
    // Reading is no effect, and sees what is there now.
    for (const expected of ["changed by a person", "changed again"]) {
      const read = await client.callTool({ name: "read_text_file", arguments: { path } });
      expect(textsOf(read)).toEqual([expected]);
      expect(marksOf(read)).toEqual({});
      await writeFile(path, "changed again");
    }
    // A path outside is refused by the tool, which says that it is idempotent.
    const refused = await client.callTool({ name: "write_file", arguments: { path: "/nowhere/x", content: "" } });
    expect(marksOf(refused)).toMatchObject({ "oncekv/code": "tool_call_failed", "oncekv/retry_after": 0 });
    // And arguments that do not fit never reach it.
    const unfit = await client.callTool({ name: "write_file", arguments: { path: 7 } });
    expect(unfit).toMatchObject({ isError: true });
    expect(marksOf(unfit)).toEqual({});
  });

  test("server-memory: entities are created once, and the second call gets the first one's result", async () => {
    const file = join(scene.folder, "memory.jsonl");
    const client = await start(packagedServer("memory"), { MEMORY_FILE_PATH: file });
    const create = {
      name: "create_entities",
      arguments: { entities: [{ name: "Ann", entityType: "person", observations: ["likes tea"] }] },
    };
    const first = await client.callTool(create);
    const second = await client.callTool(create);
    // By itself the server would say now that it has created nothing.
    expect(second["structuredContent"]).toEqual(first["structuredContent"]);
    expect(marksOf(second)).toMatchObject({ "oncekv/was_replay": true });
    expect((await readFile(file, "utf8")).trim().split("\n")).toHaveLength(1);
    expect(textsOf(await client.callTool({ name: "read_graph" })).join()).toContain("likes tea");
  });

  test("a client that is closed and started again in the middle of a call gets its result", async () => {
    const client = await start(scene.server);
    await scene.hold("after");
    const mail = { name: "send_mail", arguments: { to: "ann" } };
    const lost = client.callTool(mail).catch((error: unknown) => error);
    await scene.entered(1);
    const closed = client.close();
    await scene.release("after");
    await closed;
    // It came while the client was leaving, or not at all.
    await lost;
    const again = await start(scene.server);
    expect(await again.callTool(mail)).toMatchObject({
      structuredContent: { to: "ann" },
      _meta: { "oncekv/was_replay": true },
    });
    expect(scene.effects).toBe(1);
  });

  test("a server that is killed in the middle leaves the call in doubt, also for the next client", async () => {
    const client = await start(scene.server);
    await scene.hold("after");
    const mail = { name: "send_mail", arguments: { to: "ann" } };
    const lost = client.callTool(mail).catch((error: unknown) => error);
    await scene.entered(1);
    process.kill(scene.serverPid, "SIGKILL");
    expect(await lost).toMatchObject({ code: -32000, message: expect.stringContaining("Do not call again") });
    await scene.release("after");
    const again = await start(scene.server);
    const answer = await again.callTool(mail);
    expect(answer).toMatchObject({ isError: true, _meta: { "oncekv/code": "needs_review" } });
    expect(textsOf(answer)[0]).toMatch(/^Whether the call had its effect is not known\. Do not call again/);
    expect(scene.effects).toBe(1);
  });

  test("the same call many times at once has one effect", async () => {
    const client = await start(scene.server);
    const mail = { name: "send_mail", arguments: { to: "ann" } };
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.callTool(mail)));
    expect(answers.filter((answer) => marksOf(answer)["oncekv/was_replay"] === false)).toHaveLength(1);
    for (const answer of answers) expect(answer).toMatchObject({ structuredContent: { to: "ann" } });
    expect(scene.effects).toBe(1);
  });
});

test("server-everything: progress, sampling, resources, prompts, completions and cancellation go through", async () => {
  const transport = new StdioClientTransport(
    guardProcess(["--data", scene.data, "--", ...packagedServer("everything")]),
  );
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities: { sampling: {}, roots: { listChanged: true } } },
  );
  clients.push(client);
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: "assistant",
    model: "scripted",
    content: { type: "text", text: "sampled here" },
  }));
  await client.connect(transport);

  const steps: number[] = [];
  const operation = { name: "trigger-long-running-operation", arguments: { duration: 0.1, steps: 4 } };
  await client.callTool(operation, undefined, { onprogress: ({ progress }) => steps.push(progress) });
  expect(steps).toEqual([1, 2, 3, 4]);

  await vi.waitFor(async () => {
    // The server offers it once it has heard what the client can.
    const { tools } = await client.listTools();
    if (!tools.some(({ name }) => name === "trigger-sampling-request")) throw new Error("not offered yet");
  });
  const sampled = await client.callTool({
    name: "trigger-sampling-request",
    arguments: { prompt: "hello", maxTokens: 5 },
  });
  expect(textsOf(sampled).join()).toContain("sampled here");

  const { resources } = await client.listResources();
  expect(resources.length).toBeGreaterThan(0);
  const { contents } = await client.readResource({ uri: resources[0]?.uri ?? "" });
  expect(contents).toHaveLength(1);
  const { prompts } = await client.listPrompts();
  expect(prompts.map(({ name }) => name)).toContain("simple-prompt");
  expect((await client.getPrompt({ name: "simple-prompt" })).messages.length).toBeGreaterThan(0);

  const abort = new AbortController();
  const endless = { name: "trigger-long-running-operation", arguments: { duration: 600, steps: 600 } };
  const cancelled = client.callTool(endless, undefined, { signal: abort.signal });
  abort.abort(new Error("enough"));
  await expect(cancelled).rejects.toThrow("enough");
  expect(textsOf(await client.callTool({ name: "echo", arguments: { message: "still here" } }))).toEqual([
    "Echo: still here",
  ]);
});

test("two guards share their calls through a server, where a call in doubt is resolved while they run", async () => {
  const server = await ServeProcess.start("--data", join(scene.root, "served"));
  try {
    const [, one] = generations;
    if (one === undefined) throw new Error("there are two");
    const args = ["--url", server.url, "--scope", "mails", "--errors", "failing_mail=unknown", "--", ...scene.server];
    const [first, second] = await Promise.all([one.connect(args), one.connect(args)]);
    clients.push(first, second);
    const mail = { name: "send_mail", arguments: { to: "ann" } };
    const answers = await Promise.all([first, second].map((client) => client.callTool(mail)));
    expect(answers.map((answer) => marksOf(answer)["oncekv/was_replay"]).sort()).toEqual([false, true]);
    expect(scene.effects).toBe(1);

    const post = { name: "failing_mail", arguments: { to: "bob" } };
    const doubt = marksOf(await first.callTool(post));
    expect(doubt).toMatchObject({
      "oncekv/code": "needs_review",
      "oncekv/key": expect.stringMatching(/^mails\/failing_mail:/),
    });
    const listed = await runCli(["calls", "list", "--in-doubt", "--url", server.url]);
    expect(listed.stdout).toContain(String(doubt["oncekv/key"]));
    const result = '{"content":[{"type":"text","text":"sent after all"}]}';
    const resolve = ["calls", "resolve", String(doubt["oncekv/key"]), "--result", result, "--by", "ann"];
    expect(await runCli([...resolve, "--url", server.url])).toMatchObject({ code: 0 });
    const resolved = await second.callTool(post);
    expect(textsOf(resolved)).toEqual([expect.stringContaining("was made before"), "sent after all"]);
    expect(scene.effects).toBe(2);
  } finally {
    for (const client of clients.splice(0)) await client.close();
    await server.stop();
  }
});

test("the example emits duplicates, kills the guard, and has one effect", async () => {
  const example = fileURLToPath(new URL("../../examples/adapters/guard.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", example], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  expect({ code, said }).toMatchObject({ code: 0, said: expect.stringContaining("3 calls, 1 effect") });
});
