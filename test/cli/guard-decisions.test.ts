import { expect, test } from "vitest";
import { EventQueue } from "../../cli/guard/event-queue.js";
import { parseExactly, writeExactly } from "../../cli/guard/exact-integers.js";
import { timesFor } from "../../cli/guard/guarded-call.js";
import { readHeaders } from "../../cli/guard/http-headers.js";
import { LineSplitter, LineTooLongError } from "../../cli/guard/line-splitter.js";
import { paramHeaders } from "../../cli/guard/param-headers.js";
import { Routing } from "../../cli/guard/routing.js";
import { defaultFolder, serverName } from "../../cli/guard/server-name.js";
import { isBeforeTool, resultOfReply } from "../../cli/guard/server-reply.js";
import { judgeKnown, judgeTool, misnamed, readRules } from "../../cli/guard/tool-judgement.js";
import { ToolKnowledge } from "../../cli/guard/tool-list.js";

/* What `oncekv guard` decides, without a process or a pipe. */

const noRules = readRules({});

test("lines are cut wherever the chunks are, and are the same bytes together", () => {
  const bytes = Buffer.from('{"a":"\u00e9"}\n\n{"b":2}\r\nrest');
  for (let size = 1; size <= bytes.length; size++) {
    const splitter = new LineSplitter();
    const lines: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) lines.push(...splitter.push(bytes.subarray(at, at + size)));
    expect(lines.map(String)).toEqual(['{"a":"\u00e9"}\n', "\n", '{"b":2}\r\n']);
    expect(String(splitter.rest())).toBe("rest");
  }
});

test("a line that is longer than what is held is refused, however it comes", () => {
  expect(() => new LineSplitter(4).push(Buffer.from("12345\n"))).toThrow(LineTooLongError);
  const splitter = new LineSplitter(4);
  expect(splitter.push(Buffer.from("123\n12"))).toHaveLength(1);
  expect(() => splitter.push(Buffer.from("345"))).toThrow("longer than 4 bytes");
});

test("integers beyond what numbers hold are written as they were read, and nothing else is taken for one", () => {
  for (const text of [
    '{"id":1764535000123456789,"n":[-12345678901234567890,9007199254740993]}',
    '{"a":"1764535000123456789","b":"\\"1764535000123456789","c":"\\\\","d":1764535000123456789}',
    '{"n":9007199254740991,"m":-9007199254740991,"x":0.5}',
    "1764535000123456789",
  ]) {
    expect(writeExactly(parseExactly(text))).toBe(text);
  }
  expect(parseExactly('["a1234567890123456789",1.12345678901234567890,1e1234567890123456789]')).toEqual([
    "a1234567890123456789",
    1.1234567890123457,
    Number.POSITIVE_INFINITY,
  ]);
  expect(parseExactly("[12345678901234567891]")).not.toEqual(parseExactly("[12345678901234567892]"));
});

test("a queue that nobody reads has an end", async () => {
  const queue = new EventQueue<string>(10);
  queue.push("a", 6);
  queue.push("b", 6);
  const reader = queue[Symbol.asyncIterator]();
  expect(await reader.next()).toEqual({ done: false, value: "a" });
  await expect(reader.next()).rejects.toThrow("more than 10 bytes");
});

test("a tool is judged by its name and hints, and the command line has the last word", () => {
  expect(judgeTool("get_order", undefined, noRules)).toMatchObject({ guarded: false, policy: null });
  expect(judgeTool("frobnicate", undefined, noRules)).toMatchObject({ guarded: true, policy: "review" });
  expect(judgeTool("frobnicate", { readOnlyHint: true }, noRules)).toMatchObject({ guarded: false });
  // Neither hint outweighs the name, and neither makes a second fire harmless.
  expect(judgeTool("send_mail", { readOnlyHint: true, idempotentHint: true }, noRules)).toMatchObject({
    guarded: true,
    policy: "review",
  });
  const rules = readRules({
    leave: ["send_mail"],
    guard: ["get_order"],
    policy: ["frobnicate=refire", "list_a=b=review"],
  });
  expect(judgeTool("send_mail", { destructiveHint: true }, rules)).toMatchObject({ guarded: false });
  expect(judgeTool("get_order", undefined, rules)).toMatchObject({ guarded: true, policy: "review" });
  expect(judgeTool("frobnicate", undefined, rules)).toMatchObject({ guarded: true, policy: "refire" });
  expect(judgeTool("list_a=b", undefined, rules)).toMatchObject({ guarded: true, policy: "review" });
});

test("a tool is never less guarded than by the last list, and guarded where there is none", () => {
  const tool = (name: string, annotations: { readOnlyHint?: boolean; destructiveHint?: boolean }) => ({
    name,
    annotations,
    inputSchema: {},
    hasOutputSchema: false,
  });
  const knowledge = new ToolKnowledge();
  const guarded = (name: string) => judgeKnown(name, knowledge, noRules)?.guarded;
  expect(guarded("get_cash")).toBeUndefined();
  knowledge.learnAll([tool("get_cash", { destructiveHint: true }), tool("frobnicate", { readOnlyHint: true })]);
  expect([guarded("get_cash"), guarded("frobnicate"), guarded("get_order")]).toEqual([true, false, false]);
  knowledge.change();
  // Until the server has had its time to tell the new one.
  expect([guarded("get_cash"), guarded("frobnicate"), guarded("get_order")]).toEqual([undefined, undefined, undefined]);
  knowledge.learnAll(undefined);
  expect([guarded("get_cash"), guarded("frobnicate"), guarded("get_order")]).toEqual([true, false, true]);
  expect(judgeKnown("get_order", knowledge, readRules({ leave: ["get_order"] }))).toMatchObject({ guarded: false });
  knowledge.learn({ tools: [tool("get_cash", { destructiveHint: false })], next: "page 2" });
  expect(guarded("get_cash")).toBe(false);
  knowledge.change();
  knowledge.learnAll([]);
  expect(guarded("frobnicate")).toBe(false);
  expect(
    misnamed(readRules({ leave: ["a"], guard: ["b", "c"], policy: ["c=refire", "d=refire"] }), [
      { name: "a" },
      { name: "d" },
    ]),
  ).toEqual(["b", "c"]);
});

test("the same server has the same name, and another command, folder or address another one", () => {
  const command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/data"];
  const name = serverName({ command, folder: "/home/ann" });
  expect(name).toMatch(/^server-filesystem-[0-9a-f]{12}$/);
  expect(serverName({ command: [...command], folder: "/home/ann" })).toBe(name);
  const others = [
    serverName({ command: [...command, "/more"], folder: "/home/ann" }),
    serverName({ command, folder: "/home/bob" }),
    serverName({ command: ["/usr/bin/node", "/opt/mail-server/dist/index.js"], folder: "/" }),
    serverName({ url: new URL("https://mcp.example.com/mcp"), headers: {} }),
    serverName({ url: new URL("https://mcp.example.com/other"), headers: {} }),
  ];
  expect(new Set([name, ...others]).size).toBe(6);
  expect(others[2]).toMatch(/^mail-server-/);
  expect(others[3]).toMatch(/^mcp\.example\.com-/);
  // Neither what assigns a variable is shown, as it may be a secret.
  expect(serverName({ command: ["env", "API_KEY=s3cret", "node", "mailer.js"], folder: "/" })).toMatch(/^mailer\.js-/);
});

test("whoever has another query or another header has another server, unless a scope says who it is", () => {
  const of = (search: string, headers: { [name: string]: string }, scope?: string) =>
    serverName({ url: new URL(`https://mcp.example.com/mcp${search}`), headers }, scope);
  const ann = { Authorization: "Bearer ann", "X-Team": "blue" };
  const names = [
    of("", {}),
    of("?tenant=a", ann),
    of("?tenant=b", ann),
    of("?tenant=a", { ...ann, Authorization: "Bearer bob" }),
    of("?tenant=a", { ...ann, "X-Team": "red" }),
    of("?tenant=a", ann, "ann"),
    of("?tenant=a", ann, "bob"),
  ];
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^mcp\.example\.com-[0-9a-f]{12}$/);
  expect(of("?tenant=a", { "x-team": "blue", authorization: "Bearer ann" })).toBe(names[1]);
  // A token that is made anew does not change the name then.
  expect(of("?tenant=a", { Authorization: "Bearer ann, renewed" }, "ann")).toBe(names[5]);
  const command = ["mails"];
  expect(serverName({ command, folder: "/" }, "ann")).not.toBe(serverName({ command, folder: "/" }, "bob"));
});

test("calls are kept where the system keeps state", () => {
  expect(defaultFolder("files-1", { XDG_STATE_HOME: "/var/state" })).toBe("/var/state/oncekv/guard/files-1");
  for (const XDG_STATE_HOME of [undefined, "", "relative"]) {
    expect(defaultFolder("files-1", { XDG_STATE_HOME })).toMatch(/^\/.*\/\.local\/state\/oncekv\/guard\/files-1$/);
  }
});

test("an error of null beside a result is none", () => {
  const message = { id: 1, error: null, result: { content: [] } };
  expect(resultOfReply({ reply: "answered", message }, "send", "completed")).toEqual({ content: [] });
});

test("which answers say that a tool was not entered", () => {
  const answered = (message: object) => ({ reply: "answered", message: { ...message } }) as const;
  const error = (code: number, message: string) => answered({ error: { code, message } });
  const text = (text: string) => answered({ result: { isError: true, content: [{ type: "text", text }] } });
  for (const reply of [
    error(-32602, "there must be an order"),
    error(-32601, "no such method"),
    error(-32000, "Unknown tool: send"),
    text("MCP error -32602: Tool send not found"),
    text("MCP error -32602: Input validation error: Invalid arguments for tool send: [...]"),
    text("Input validation error: Invalid arguments for tool send: [...]"),
  ]) {
    expect(isBeforeTool(reply, "send")).toBe(true);
  }
  for (const reply of [
    error(-32000, "it broke"),
    error(-32603, "internal"),
    error(-32602, "Output validation error: Tool send has an output schema"),
    text("MCP error -32602: Output validation error: Invalid structured content for tool send"),
    text("MCP error -32602: Tool other not found"),
    text("the mail was not sent: Tool send not found"),
    text("Tool send not found in the outbox after sending"),
    text("Tool send disabled the account"),
    error(-32603, "Unknown tool: send"),
    error(-32000, "Unknown tool error: timed out after the charge"),
    answered({ result: { content: [{ type: "text", text: "Tool send not found" }] } }),
  ]) {
    expect(isBeforeTool(reply, "send")).toBe(false);
  }
});

test("an answer goes to whoever has asked under that id, and requests of the server to the client", () => {
  const routing = new Routing(new ToolKnowledge(), (id) => id === "own");
  const line = (message: object) => Buffer.from(`${JSON.stringify(message)}\n`);
  const call = { id: 1, method: "tools/call", params: { name: "send_mail" } };
  expect(routing.fromClient(line(call))).toMatchObject([{ step: "call", call: { id: 1, tool: "send_mail" } }]);
  const steps = (message: object) => routing.fromServer(line(message)).map(({ step }) => step);
  expect(steps({ id: 1, result: {} })).toEqual(["reply"]);
  expect(steps({ id: "1", result: {} })).toEqual(["pass"]);
  expect(steps({ id: 1, method: "sampling/createMessage" })).toEqual(["pass"]);
  expect(steps({ id: "own", result: {} })).toEqual(["own"]);
  const batch = routing.fromServer(
    line([
      { id: 1, result: {} },
      { id: 9, result: {} },
    ]),
  );
  expect(batch.map(({ step }) => step)).toEqual(["reply", "pass"]);
  expect(batch[1]).toMatchObject({ line: line([{ id: 9, result: {} }]) });
  routing.ended(1);
  expect(steps({ id: 1, result: {} })).toEqual(["pass"]);
});

test("one id twice in a batch, or that of an open request, is refused: two answers could not be told apart", () => {
  const routing = new Routing(new ToolKnowledge(), () => false);
  const call = (id: number) => ({ id, method: "tools/call", params: { name: "send_mail" } });
  const steps = (message: object) => routing.fromClient(Buffer.from(JSON.stringify(message))).map(({ step }) => step);
  expect(steps([call(7), call(7), call(8)])).toEqual(["call", "answer", "call"]);
  expect(steps({ id: 9, method: "x/other" })).toEqual(["pass"]);
  expect(steps(call(9))).toEqual(["answer"]);
  routing.ended(7);
  expect(steps(call(7))).toEqual(["call"]);
});

test("what is no JSON, but might be a call for another reader, is not passed on", () => {
  const routing = new Routing(new ToolKnowledge(), () => false);
  const of = (text: string) => routing.fromClient(Buffer.from(text));
  for (const text of [
    '{"id":1,"method":"tools/call","params":{"name":"send_mail","arguments":{"amount":NaN}}}',
    '\ufeff{"id":1,"method":"tools/call","params":{"name":"send_mail"}}',
    '{"id":1,"method":"tools\\/call","params":{"name":"send_mail","arguments":{},}}',
    '{"id":1,"method":"tools\\u002Fc\\u0061ll","params":{"n":Infinity}}',
  ]) {
    const [step, ...more] = of(text);
    expect(more).toEqual([]);
    expect(step?.step).toBe("answer");
    expect(String(step?.step === "answer" ? step.line : "")).toMatch(/^\{"jsonrpc":"2\.0","id":null,.*-32700/);
  }
  expect(of('{"id":1,"method":"x/other","params":NaN}')).toMatchObject([{ step: "pass" }]);
});

test("the lease is shorter than the wait, and the wait than the minute after which clients give up", () => {
  const { pendingTtl, waitTimeout, completedTtl } = timesFor(600);
  expect(pendingTtl).toBeLessThan(waitTimeout);
  expect(waitTimeout).toBeLessThan(60);
  expect(completedTtl).toBe(600);
  expect(timesFor(5)).toMatchObject({ pendingTtl: 5, waitTimeout: 5, failedTtl: 5 });
});

test("headers are read from the command line and from variables", () => {
  expect(readHeaders(["X-Team:  blue "], ["AUTH"], { AUTH: "Authorization: Bearer a:b" })).toEqual({
    "X-Team": "blue",
    Authorization: "Bearer a:b",
  });
  for (const text of ["", "no colon", "Bad Name: x", "A: b\r\nC: d"]) {
    expect(() => readHeaders([text], [], {})).toThrow('--header must be "Name: value"');
  }
});

test("arguments that a schema names a header for go into it, and what it cannot hold as base64", () => {
  const named = (header: string) => ({ type: "string", "x-mcp-header": header });
  const schema = {
    properties: {
      to: named("To"),
      deep: { properties: { n: named("N") } },
      list: { items: named("Never") },
      odd: named("no token"),
    },
  };
  const args = { to: " ann", deep: { n: 7 }, list: ["x"], odd: "y" };
  expect(paramHeaders(schema, args)).toEqual({ "Mcp-Param-To": "=?base64?IGFubg==?=", "Mcp-Param-N": "7" });
  expect(paramHeaders(schema, {})).toEqual({});
  expect(paramHeaders(undefined, args)).toEqual({});
});
