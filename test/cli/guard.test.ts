import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { failureText } from "../../src/tools/model-text.js";
import { ended, startCli } from "./command-line.js";
import { GuardScene, RawClient } from "./guard-scene.js";

/* `oncekv guard` between a client that speaks raw lines and a server that counts its effects. */

let scene: GuardScene;

beforeEach(async () => {
  scene = await GuardScene.make();
});

afterEach(async () => {
  await scene.remove();
});

const mail = { to: "ann@example.com" };

describe("what is passed through", () => {
  test("other lines go on as the same bytes, in both directions: unknown methods, odd spacing, batches, what is no JSON", async () => {
    const client = await scene.connect();
    const lines = [
      '{ "jsonrpc":"2.0" , "method":"x/note", "params":{"big":12345678901234567890,"n":1.0,"e":1e400} }',
      '{"method":"x/note/\\u00e9","jsonrpc":"2.0","jsonrpc":"2.0"}',
      "this is no message",
      '[{"jsonrpc":"2.0","id":"a","method":"x/one"},{"jsonrpc":"2.0","method":"x/two"}]',
      "",
      '{"jsonrpc":"2.0","id":7,"result":{"answer":"to nobody"}}',
    ];
    client.raw(lines.map((line) => `${line}\n`).join(""));
    await client.ask("last", "x/last", {});
    expect(scene.lines("received").slice(2)).toEqual([
      ...lines.filter((line) => line !== ""),
      '{"jsonrpc":"2.0","id":"last","method":"x/last","params":{}}',
    ]);
    expect(client.received).toContain(lines[0]);
    expect(client.received).toContain(lines[1]);
    const batch = client.received.find((line) => line.startsWith("["));
    expect(JSON.parse(batch ?? "")).toMatchObject([{ id: "a", result: { echo: { method: "x/one" } } }]);
    // More than any pipe holds at once.
    const text = "\u00e9".repeat(1_500_000);
    expect(await client.ask("large", "x/large", { text })).toMatchObject({ result: { echo: { params: { text } } } });
    expect(await client.close()).toMatchObject({ code: 0 });
  });

  test('ids are the client\'s own, and 1 is not the same as "1"', async () => {
    const client = await scene.connect();
    const [number, text] = await Promise.all([client.call(1, "send_mail", mail), client.call("1", "get_status", {})]);
    expect(number).toMatchObject({ id: 1, result: { structuredContent: mail } });
    expect(text).toMatchObject({ id: "1", result: { content: [{ text: "all is well" }] } });
    // The server asks the client under an id that the client has used.
    client.line({ jsonrpc: "2.0", id: 1, method: "x/ask" });
    await client.until((message) => message.method === "x/asked" && message.id === 1);
  });

  test("tools that only read, and those of --leave, are called as often as they are called", async () => {
    const client = await scene.connect("--leave", "send_mail");
    for (const id of [1, 2]) {
      expect(await client.call(id, "send_mail", mail)).not.toHaveProperty(["result", "_meta"]);
      await client.call(`status ${id}`, "get_status", {});
      // Its name says nothing: that it only reads is found in the second page of the server's list.
      await client.call(`tree ${id}`, "directory_tree", {});
    }
    expect(scene.lines("entered")).toHaveLength(6);
    expect(scene.effects).toBe(2);
    // What the guard asked the server for itself is not the client's.
    expect(client.messages.every(({ id }) => !String(id).startsWith("oncekv-guard"))).toBe(true);
  });
});

describe("a guarded call", () => {
  test("fires once, and the second has the first one's result and is told so", async () => {
    const client = await scene.connect();
    const first = await client.call(1, "send_mail", mail);
    expect(first.result).toMatchObject({
      content: [{ text: "sent to ann@example.com" }],
      structuredContent: mail,
      _meta: { "oncekv/was_replay": false },
    });
    const second = await client.call(2, "send_mail", mail);
    expect(second.result?.content?.[0]?.text).toMatch(
      /^This call was made before, at .* Do not repeat it in other words\.$/,
    );
    expect(second.result).toMatchObject({ structuredContent: mail, _meta: { "oncekv/was_replay": true } });
    expect(await client.call(3, "send_mail", { to: "bob@example.com" })).toMatchObject({
      result: { structuredContent: { to: "bob@example.com" } },
    });
    expect(scene.effects).toBe(2);
  });

  test("the same at the same time fires once, and each gets its result under its own id", async () => {
    const client = await scene.connect();
    await scene.hold("before");
    const answers = Promise.all([1, 2, "3", 4].map((id) => client.call(id, "send_mail", mail)));
    await scene.entered(1);
    await scene.release("before");
    const replays = (await answers).map(({ result }) => result?._meta?.["oncekv/was_replay"]);
    expect(replays.filter((was) => was === false)).toHaveLength(1);
    expect(replays.filter((was) => was === true)).toHaveLength(3);
    expect(scene.effects).toBe(1);
  });

  test("a key of the client names the intent, and other arguments under it are a conflict", async () => {
    const client = await scene.connect();
    const keyed = { _meta: { "oncekv/idempotency_key": "order-7" } };
    await client.call(1, "send_mail", mail, keyed);
    const other = await client.call(2, "send_mail", { to: "eve@example.com" }, keyed);
    expect(other.result).toMatchObject({ isError: true, _meta: { "oncekv/code": "idempotency_conflict" } });
    expect(await client.call(3, "send_mail", mail, keyed)).toMatchObject({
      result: { _meta: { "oncekv/was_replay": true } },
    });
    expect(await client.call(4, "send_mail", mail, { _meta: { "oncekv/idempotency_key": 7 } })).toMatchObject({
      error: { code: -32602 },
    });
    expect(scene.effects).toBe(1);
  });

  test("in another scope the same arguments are another intent", async () => {
    const client = await scene.connect();
    for (const [id, scope] of [
      [1, "turn-1"],
      [2, "turn-2"],
      [3, "turn-1"],
    ] as const) {
      await client.call(id, "send_mail", mail, { _meta: { "oncekv/scope": scope } });
    }
    expect(scene.effects).toBe(2);
  });

  test("one in a batch is taken out of it, and answered by itself", async () => {
    const client = await scene.connect();
    const call = (id: number) => ({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "send_mail", arguments: mail },
    });
    client.line([call(1), { jsonrpc: "2.0", id: 2, method: "x/other" }, call(3)]);
    await client.answerTo(1);
    await client.answerTo(3);
    await client.until((message) => Array.isArray(message) && message[0].id === 2);
    expect(scene.effects).toBe(1);
  });

  test("a notification that calls a guarded tool has no answer, and is not passed on", async () => {
    const client = await scene.connect();
    client.line({ jsonrpc: "2.0", method: "tools/call", params: { name: "send_mail", arguments: mail } });
    await client.call(1, "get_status", {});
    expect((await client.close()).stderr).toContain("came without an id");
    expect(scene.effects).toBe(0);
  });

  test("an id that is not answered yet cannot be used again", async () => {
    const client = await scene.connect();
    await scene.hold("before");
    const first = client.call(1, "send_mail", mail);
    await scene.entered(1);
    client.line({ jsonrpc: "2.0", id: 1, method: "x/other" });
    expect(await client.answerTo(1)).toMatchObject({ error: { code: -32600 } });
    await scene.release("before");
    await first;
    await client.until(({ id, result }) => id === 1 && result?._meta?.["oncekv/was_replay"] === false);
  });
});

describe("results that are not as they should be", () => {
  test("one that was too large to keep is no result that fits the schema: its replay is an error that says it was done", async () => {
    const client = await scene.connect();
    await client.ask("list", "tools/list", { cursor: "1" });
    const args = { content: [{ type: "text", text: "x".repeat(2_000_000) }] };
    expect((await client.call(1, "post_report", args)).error?.code).toBe(-32602);
    expect(scene.effects).toBe(0);
    const small = { content: [], times: 2_000_000 };
    expect((await client.call(2, "post_report", small)).result).toMatchObject({ structuredContent: { ok: true } });
    const again = await client.call(3, "post_report", small);
    expect(again.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("its result was not kept") }],
      _meta: { "oncekv/was_replay": true },
    });
    expect(scene.effects).toBe(1);
  });

  test("integers beyond what JavaScript holds are exact: in ids, arguments, results and replays", async () => {
    const client = await scene.connect();
    const call = (id: string, to: string) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo_mail","arguments":{"to":${to}}}}\n`;
    const answers = async (id: string) => {
      await client.until(() => client.received.some((line) => line.includes(`"id":${id},`)));
      return client.received.filter((line) => line.includes(`"id":${id},`));
    };
    const [first, second, third] = ["1764535000123456788", "1764535000123456789", "1764535000123456790"] as const;
    for (const [id, to, replay] of [
      [first, "1234567890123456788", false],
      [second, "1234567890123456789", false],
      [third, "1234567890123456788", true],
    ] as const) {
      client.raw(call(id, to));
      const [answer, ...more] = await answers(id);
      expect(more).toEqual([]);
      expect(answer).toContain(`"structuredContent":{"to":${to}}`);
      expect(answer).toContain(`"oncekv/was_replay":${replay}`);
    }
    expect(scene.effects).toBe(2);
  });

  test("content that is no list is passed on as a text", async () => {
    const client = await scene.connect();
    const contents = [{ a: 1 }, "plain", null, 7];
    for (const [id, content] of contents.entries()) await client.call(id, "post_report", { content });
    const answers = await Promise.all(contents.map((_, id) => client.answerTo(id)));
    expect(answers.map(({ result }) => result?.content?.map(({ text }) => text))).toEqual([
      ['{"a":1}'],
      ["plain"],
      [],
      ["7"],
    ]);
    expect(scene.effects).toBe(4);
  });
});

test("the default folder is for its user alone, and no argument of the server's command is shown", async () => {
  const state = join(scene.root, "state");
  const client = new RawClient(["guard", "--", ...scene.server, "--api-key", "s3cret"], { XDG_STATE_HOME: state });
  await client.hello();
  const { stderr } = await client.close();
  expect(stderr).toMatch(/^oncekv guard: guards node; its calls are kept in /);
  expect(stderr).not.toContain("s3cret");
  const guards = join(state, "oncekv", "guard");
  const [folder = ""] = await readdir(guards);
  expect((await stat(join(guards, folder))).mode & 0o777).toBe(0o700);
});

describe("a call that fails", () => {
  test("an error result is the tool's answer: the first caller has it as it is, and the next one as a replay", async () => {
    const client = await scene.connect();
    const first = await client.call(1, "failing_mail", mail);
    expect(first.result).toMatchObject({ isError: true, _meta: { "oncekv/was_replay": false } });
    expect(first.result?.content?.map(({ text }) => text)).toEqual(["the disk is full"]);
    const second = await client.call(2, "failing_mail", mail);
    expect(second.result).toMatchObject({ isError: true, _meta: { "oncekv/was_replay": true } });
    expect(second.result?.content?.at(-1)).toMatchObject({ text: "the disk is full" });
    expect(scene.effects).toBe(1);
    // Other arguments are another call, which nothing holds back.
    await client.call(3, "failing_mail", { ...mail, to: "bob@example.com" });
    expect(scene.effects).toBe(2);
  });

  test("said to be in doubt by --errors, it closes the call, with the advice in front of the tool's words", async () => {
    const client = await scene.connect("--errors", "failing_mail=unknown");
    const first = await client.call(1, "failing_mail", mail);
    expect(first.result).toMatchObject({ isError: true, _meta: { "oncekv/code": "needs_review" } });
    expect(first.result?.content?.map(({ text }) => text)).toEqual([
      failureText("unknown", "the disk is full."),
      "the disk is full",
    ]);
    expect(await client.call(2, "failing_mail", mail)).toMatchObject({
      result: { isError: true, _meta: { "oncekv/code": "needs_review" } },
    });
    expect(scene.effects).toBe(1);
  });

  test("one of a tool that says it is idempotent, or that --errors says does nothing then, may be made again", async () => {
    const client = await scene.connect("--errors", "failing_mail=retryable");
    for (const [at, [tool, args]] of [["set_row", {}] as const, ["failing_mail", mail] as const].entries()) {
      const first = await client.call(2 * at, tool, args);
      expect(first).toMatchObject({ result: { isError: true, _meta: { "oncekv/retry_after": 0 } } });
      // Its own words alone: whoever puts the arguments right does no harm.
      expect(first.result?.content).toHaveLength(1);
      await client.call(2 * at + 1, tool, args);
    }
    expect(scene.effects).toBe(4);
  });

  test("an error of the protocol is in doubt, keeps its code and data, and says what not to do", async () => {
    const client = await scene.connect();
    const first = await client.call(1, "broken_post", {});
    expect(first.error).toMatchObject({
      code: -32000,
      data: { at: 7 },
      message: failureText("unknown", "it broke."),
    });
    expect(await client.call(2, "broken_post", {})).toMatchObject({
      result: { _meta: { "oncekv/code": "needs_review" } },
    });
    expect(scene.effects).toBe(1);
  });

  test("with --policy refire a call in doubt is made again", async () => {
    const client = await scene.connect("--policy", "broken_post=refire");
    await client.call(1, "broken_post", {});
    await client.call(2, "broken_post", {});
    expect(scene.effects).toBe(2);
  });

  test("arguments that the server refuses, and tools that it does not know, claim nothing and are answered by the server", async () => {
    const client = await scene.connect();
    for (const id of [1, 2]) {
      expect((await client.call(id, "picky_post", {})).error).toEqual({
        code: -32602,
        message: "there must be an order",
      });
      expect((await client.call(`no ${id}`, "send_nothing", {})).error).toEqual({
        code: -32602,
        message: "Unknown tool: send_nothing",
      });
    }
    expect(scene.lines("entered")).toHaveLength(4);
  });
});

describe("calls that do not end at once", () => {
  test("a question of the server parks the call, and its answer resumes it", async () => {
    const client = await scene.connect();
    const asked = await client.call(1, "post_with_question", {});
    expect(asked.result).toEqual({
      resultType: "input_required",
      inputRequests: { sure: { method: "elicitation/create" } },
    });
    const done = await client.call(2, "post_with_question", {}, { inputResponses: { sure: {} } });
    expect(done.result).toMatchObject({ content: [{ text: "posted" }], _meta: { "oncekv/was_replay": false } });
    expect(await client.call(3, "post_with_question", {})).toMatchObject({
      result: { _meta: { "oncekv/was_replay": true } },
    });
    expect(scene.effects).toBe(1);
  });

  test("a task is made once, and who comes again gets the same one", async () => {
    const client = await scene.connect();
    const task = { task: { ttl: 60_000 } };
    const first = await client.call(1, "post_with_question", {}, task);
    expect(first.result).toMatchObject({ task: { taskId: "task-1" }, _meta: { "oncekv/was_replay": false } });
    expect(first.result).not.toHaveProperty("content");
    expect(await client.call(2, "post_with_question", {}, task)).toMatchObject({
      result: { task: { taskId: "task-1" }, _meta: { "oncekv/was_replay": true } },
    });
    // A result is no task, and a task no result: neither is handed out for the other.
    expect(await client.call(3, "post_with_question", {})).toMatchObject({
      error: { code: -32602, message: expect.stringContaining("as a task") },
    });
    expect(scene.effects).toBe(1);
  });

  test("a cancelled call goes on, and its result is there for whoever asks again", async () => {
    const client = await scene.connect();
    await scene.hold("before");
    client.line({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "send_mail", arguments: mail } });
    await scene.entered(1);
    client.line({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "send_mail", arguments: mail } });
    for (const requestId of [1, 2])
      client.line({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
    await client.ask("between", "x/other", {});
    await scene.release("before");
    expect(await client.call(3, "send_mail", mail)).toMatchObject({
      result: { structuredContent: mail, _meta: { "oncekv/was_replay": true } },
    });
    expect(client.messages.some(({ id }) => id === 1 || id === 2)).toBe(false);
    expect(scene.lines("received").join()).not.toContain("cancelled");
    expect(scene.effects).toBe(1);
  });

  test("after the server has said that its tools are others, a tool is judged by what it says then", async () => {
    const client = await scene.connect();
    await client.call(1, "change_tools", {});
    // By its name it reads; the new list says that it destroys.
    expect(await client.call(2, "get_late_news", {})).toMatchObject({
      error: { message: "Unknown tool: get_late_news" },
    });
    await client.ask(3, "tools/list", { cursor: "1" });
    await client.call(4, "get_late_news", {});
    expect(scene.lines("received").filter((line) => line.includes("tools/list")).length).toBeGreaterThanOrEqual(4);
  });
});

test("a tool that the command line names and the server does not list is told of, once", async () => {
  const client = await scene.connect("--guard", "gett_status", "--leave", "get_status");
  for (const id of [1, 2]) {
    await client.ask(id, "tools/list", {});
    await client.ask(`more ${id}`, "tools/list", { cursor: "1" });
  }
  const { stderr } = await client.close();
  expect(stderr.split("\n").filter((line) => line.includes("lists no tool"))).toEqual([
    "oncekv guard: the server lists no tool gett_status, which the command line names",
  ]);
});

describe("one of the three goes", () => {
  test("the client: what is under way is finished and recorded, and the next client gets it", async () => {
    const client = await scene.connect();
    await scene.hold("after");
    client.line({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "send_mail", arguments: mail } });
    await scene.entered(1);
    const closed = client.close();
    await scene.release("after");
    expect(await closed).toMatchObject({ code: 0 });
    const again = await scene.connect();
    expect(await again.call(1, "send_mail", mail)).toMatchObject({ result: { _meta: { "oncekv/was_replay": true } } });
    expect(scene.effects).toBe(1);
  });

  test("told to end, the guard does not wait long: what is under way is in doubt", async () => {
    const client = await scene.connect();
    await scene.hold("after");
    client.line({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "send_mail", arguments: mail } });
    await scene.entered(1);
    client.child.kill("SIGTERM");
    expect(await client.answerTo(1)).toMatchObject({
      error: { code: -32000, message: expect.stringContaining("Do not call again") },
    });
    expect(await client.end).toMatchObject({ code: 0 });
    await scene.release("after");
    const again = await scene.connect();
    expect(await again.call(1, "send_mail", mail)).toMatchObject({
      result: { isError: true, _meta: { "oncekv/code": "needs_review" } },
    });
    expect(scene.effects).toBe(1);
  });

  test("the server: every open request gets an error, the call is in doubt, and its exit code is the guard's", async () => {
    const client = await scene.connect();
    await scene.hold("after");
    client.line({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "send_mail", arguments: mail } });
    client.line({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "send_mail", arguments: mail } });
    client.line({ jsonrpc: "2.0", id: 3, method: "x/silence" });
    await scene.entered(1);
    process.kill(scene.serverPid, "SIGKILL");
    const messages = await Promise.all([1, 2, 3].map((id) => client.answerTo(id)));
    expect(messages[2]?.error?.message).toBe("the server was ended by SIGKILL");
    const said = messages.slice(0, 2).map(({ error, result }) => error?.message ?? result?.content?.[0]?.text);
    expect(said).toContainEqual(failureText("unknown", "the server was ended by SIGKILL."));
    expect(await client.end).toMatchObject({
      code: 137,
      stderr: expect.stringContaining("the server was ended by SIGKILL"),
    });
    await scene.release("after");
    const again = await scene.connect();
    expect(await again.call(1, "send_mail", mail)).toMatchObject({
      result: { _meta: { "oncekv/code": "needs_review" } },
    });
    expect(scene.effects).toBe(1);
  });

  test("the server ends by itself: so does the guard, with its exit code", async () => {
    const client = await scene.connect();
    client.line({ jsonrpc: "2.0", id: 1, method: "x/die" });
    expect(await client.answerTo(1)).toMatchObject({ error: { code: -32000, message: "the server ended with 7" } });
    expect(await client.end).toMatchObject({ code: 7 });
  });

  test("the guard, killed in the middle: what was done is replayed, and what was under way is answered within the lease", async () => {
    const client = await scene.connect();
    await client.call(1, "send_mail", { to: "done" });
    await scene.hold("after");
    client.line({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "send_mail", arguments: mail } });
    await scene.entered(2);
    await client.kill();
    await scene.release("after");
    const again = await scene.connect();
    expect(await again.call(1, "send_mail", { to: "done" })).toMatchObject({
      result: { _meta: { "oncekv/was_replay": true } },
    });
    expect(await again.call(2, "send_mail", mail)).toMatchObject({
      result: { isError: true, _meta: { "oncekv/code": "needs_review" } },
    });
    expect(scene.effects).toBe(2);
  });

  test("a folder that a living guard holds is waited for while that one goes down, and else refused with a way out", async () => {
    const client = await scene.connect();
    const next = new RawClient(scene.guard());
    const hello = next.hello();
    await client.close();
    await hello;
    const third = startCli(scene.guard());
    third.stdin.end();
    const refused = await ended(third);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/is open in another process.*oncekv serve --data <folder>.*--url/);
    await next.kill("SIGTERM");
  });
});
