import { McpServer as ServerOne } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js";
import { fromJsonSchema, type ServerContext, McpServer as ServerTwo } from "@modelcontextprotocol/server";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { guardMcpServer, type McpGuardOptions, requestMeta, resultMeta } from "../../client/adapters/mcp/index.js";
import type { ToolAnnotations } from "../../src/tools/index.js";
import { adviceByCode } from "../../src/tools/model-text.js";
import { openScene } from "../tool-calls/scene.js";
import { generations, type TestServer } from "./mcp-generations.js";

const inputSchema = z.object({ to: z.string() });
const ann = { to: "ann" };

/** A tool that counts its effects. */
class Counter {
  effects = 0;
  readonly run = (): unknown => ({ content: [{ type: "text", text: `effect ${++this.effects}` }] });
}

async function openGuard(test: TestServer, options: McpGuardOptions = {}) {
  const scene = await openScene();
  return guardMcpServer(test.server, scene.worker("A").calls, options);
}

interface Annotated {
  annotations?: ToolAnnotations;
}

describe.each(generations)("the tools of a guarded server of $name", (generation) => {
  it("are guarded also when they were registered before", async () => {
    const test = generation.makeServer();
    const counter = new Counter();
    const reader = new Counter();
    test.register("send_email", { inputSchema }, counter.run);
    test.register("get_email", { inputSchema }, reader.run);
    await openGuard(test);
    const client = await generation.connect(test);
    for (const name of ["send_email", "send_email", "get_email", "get_email"]) await client.call(name, ann);
    expect([counter.effects, reader.effects]).toEqual([1, 2]);
  });

  it("are guarded also when they come after connect", async () => {
    const test = generation.makeServer({ capabilities: { tools: {} } });
    await openGuard(test);
    const client = await generation.connect(test);
    const counter = new Counter();
    test.register("send_email", { inputSchema }, counter.run);
    await client.call("send_email", ann);
    await client.call("send_email", ann);
    expect(counter.effects).toBe(1);
  });

  it("stay guarded when their function is changed, in either way", async () => {
    const test = generation.makeServer();
    await openGuard(test);
    const counters = [new Counter(), new Counter(), new Counter()] as const;
    const registered = test.register("send_email", { inputSchema }, counters[0].run);
    const client = await generation.connect(test);
    registered.update({ callback: counters[1].run });
    await client.call("send_email", ann);
    await client.call("send_email", ann);
    registered.handler = counters[2].run;
    for (let time = 0; time < 2; time++) await client.call("send_email", { to: "bob" });
    expect(counters[0].effects).toBe(0);
    expect(counters[1].effects + counters[2].effects).toBe(2);
  });

  it("are judged again when their name or their annotations change", async () => {
    const test = generation.makeServer();
    const guard = await openGuard(test);
    const counter = new Counter();
    const registered = test.register("get_email", { inputSchema }, counter.run);
    const client = await generation.connect(test);
    const callTwice = async (name: string): Promise<number> => {
      const before = counter.effects;
      await client.call(name, ann);
      await client.call(name, ann);
      return counter.effects - before;
    };
    expect(await callTwice("get_email")).toBe(2);
    registered.update({ annotations: { destructiveHint: true } });
    expect(await callTwice("get_email")).toBe(1);
    registered.update({ annotations: {} });
    registered.update({ name: "send_email" });
    expect(await callTwice("send_email")).toBe(1);
    expect(Object.keys(guard.explain())).toEqual(["send_email"]);
    test.register("send_fax", {}, counter.run).remove();
    expect(Object.keys(guard.explain())).toEqual(["send_email"]);
  });

  it.each([
    [
      "annotations",
      (tool: Annotated) => {
        tool.annotations = { readOnlyHint: false };
      },
    ],
    [
      "members of their annotations",
      (tool: Annotated) => {
        Object.assign(tool.annotations ?? {}, { readOnlyHint: false });
      },
    ],
  ])("are judged again when %s are set where they stand", async (_, change) => {
    const test = generation.makeServer();
    const guard = await openGuard(test);
    const counter = new Counter();
    const registered = test.register("get_email", { inputSchema, annotations: {} }, counter.run);
    expect(guard.explain()["get_email"]?.sideEffect).toBe(false);
    change(registered as Annotated);
    expect(guard.explain()["get_email"]?.sideEffect).toBe(true);
    const client = await generation.connect(test);
    await client.call("get_email", ann);
    await client.call("get_email", ann);
    expect(counter.effects).toBe(1);
    registered.update({ annotations: { readOnlyHint: true } });
    await client.call("get_email", ann);
    expect(counter.effects).toBe(2);
  });

  it("may get a function that was made around their former one", async () => {
    const test = generation.makeServer();
    await openGuard(test);
    const counter = new Counter();
    const registered = test.register("send_email", { inputSchema }, counter.run);
    const wraps: string[] = [];
    for (const name of ["inner", "outer"]) {
      const former = registered.handler as (args: unknown, context: object) => unknown;
      const callback = async (args: unknown, context: object) => {
        wraps.push(name);
        return former(args, { ...context });
      };
      registered.update({ callback });
    }
    const client = await generation.connect(test);
    const replays = [await client.call("send_email", ann), await client.call("send_email", ann)];
    expect(replays.map(({ _meta }) => _meta?.[resultMeta.was_replay])).toEqual([false, true]);
    expect(wraps).toEqual(["outer", "inner"]);
    expect(counter.effects).toBe(1);
  });

  it("may call another guarded tool, which has a claim of its own", async () => {
    const test = generation.makeServer();
    await openGuard(test);
    const counter = new Counter();
    const one = test.register("send_email", { inputSchema }, counter.run);
    const send = one.handler as (args: unknown, context: object) => unknown;
    const all = z.object({ all: z.array(z.string()) });
    test.register("send_emails", { inputSchema: all }, async (args: z.infer<typeof all>, context: object) => {
      for (const to of args.all) await send({ to }, context);
      return { content: [] };
    });
    const client = await generation.connect(test);
    await client.call("send_emails", { all: ["ann", "ann", "bob"] });
    expect(counter.effects).toBe(2);
  });

  it("are guarded once, also when they were gone in between", async () => {
    const test = generation.makeServer();
    const guard = await openGuard(test);
    const counter = new Counter();
    const registered = test.register("send_email", { inputSchema }, counter.run);
    registered.update({ name: null });
    guard.check();
    registered.update({ name: "send_mail" });
    const client = await generation.connect(test);
    await client.call("send_mail", ann);
    await client.call("send_mail", ann);
    expect(counter.effects).toBe(1);
  });

  it("keep the way in which they are called when they get a schema later", async () => {
    const test = generation.makeServer();
    await openGuard(test);
    const received: unknown[][] = [];
    const registered = test.register("send_email", {}, (...all: unknown[]) => {
      received.push(all);
      return { content: [] };
    });
    const client = await generation.connect(test);
    await client.call("send_email");
    registered.update({ paramsSchema: generation.name === "SDK 1" ? inputSchema.shape : inputSchema });
    await client.call("send_email", ann);
    expect(received).toEqual([[expect.anything()], [ann, expect.anything()]]);
  });

  it("are not entered with the time as a default, also where the clock stands still for a while", async () => {
    const test = generation.makeServer();
    const scene = await openScene();
    guardMcpServer(test.server, scene.worker("A").calls, { clock: scene.clock });
    const counter = new Counter();
    const schema = inputSchema.extend({ at: z.number().default(() => scene.clock.wallNow()) });
    test.register("send_email", { inputSchema: schema }, counter.run);
    const client = await generation.connect(test);
    const refused = await client.call("send_email", ann);
    expect(refused.content[0]?.text).toMatch(/args: are made anew by the schema each time/);
    expect(counter.effects).toBe(0);
    const given = await client.call("send_email", { ...ann, at: scene.clock.wallNow() });
    expect(given).not.toHaveProperty("isError");
    expect(counter.effects).toBe(1);
  });

  it("are not entered with arguments that the schema makes anew each time, and left alone where they only read", async () => {
    const test = generation.makeServer();
    await openGuard(test);
    const counter = new Counter();
    let made = 0;
    const schema = inputSchema.extend({ reference: z.string().default(() => `made ${++made}`) });
    test.register("send_email", { inputSchema: schema }, counter.run);
    test.register("get_email", { inputSchema: schema }, counter.run);
    const client = await generation.connect(test);
    const refused = await client.call("send_email", ann);
    expect(refused.isError).toBe(true);
    expect(refused.content[0]?.text).toMatch(/args: are made anew by the schema each time/);
    expect(counter.effects).toBe(0);
    expect(await client.call("send_email", { ...ann, reference: "mine" })).not.toHaveProperty("isError");
    expect(await client.call("get_email", ann)).not.toHaveProperty("isError");
    expect(counter.effects).toBe(2);
  });

  it("are judged by the annotations of a description of any class", async () => {
    class Description {
      readonly inputSchema = inputSchema;
      readonly annotations = { destructiveHint: true };
    }
    const test = generation.makeServer();
    const guard = await openGuard(test);
    const counter = new Counter();
    test.register("get_token", new Description(), counter.run);
    expect(guard.explain()["get_token"]?.sideEffect).toBe(true);
    const client = await generation.connect(test);
    await client.call("get_token", ann);
    await client.call("get_token", ann);
    expect(counter.effects).toBe(1);
  });

  it("are left alone where the options say so", async () => {
    const test = generation.makeServer();
    const guard = await openGuard(test, { leave: ["update_view"] });
    const counter = new Counter();
    expect(test.register("update_view", { inputSchema }, counter.run).handler).toBe(counter.run);
    expect(guard.explain()["update_view"]).toMatchObject({
      sideEffect: false,
      reasons: ["the options leave it alone"],
    });
  });

  it("are explained, with what is done in doubt", async () => {
    const test = generation.makeServer();
    const guard = await openGuard(test, { rules: { send_email: { mechanism: "downstream_key" } } });
    test.register("send_email", { inputSchema }, new Counter().run);
    test.register("look", { inputSchema, annotations: { readOnlyHint: true } }, new Counter().run);
    expect(guard.explain()).toMatchObject({
      send_email: { sideEffect: true, mechanism: "downstream_key", policy: "refire" },
      look: { sideEffect: false },
    });
  });

  it("must have the names that the options use, when the server connects", async () => {
    const test = generation.makeServer();
    const guard = await openGuard(test, { rules: { send_emial: { effect: "irreversible" } } });
    test.register("send_email", { inputSchema }, new Counter().run);
    expect(() => guard.check()).toThrow("rules.send_emial: is no tool here");
    await expect(generation.connect(test)).rejects.toThrow("rules.send_emial: is no tool here");
  });

  it("may get them later, if that is said", async () => {
    const test = generation.makeServer({ capabilities: { tools: {} } });
    const guard = await openGuard(test, { leave: ["update_view"], toolsComeLater: true });
    await generation.connect(test);
    expect(() => guard.check()).toThrow('leave: names "update_view", which is no tool here');
    test.register("update_view", { inputSchema }, new Counter().run);
    guard.check();
  });

  it("are refused with a rule that contradicts itself, before they are there", async () => {
    const test = generation.makeServer();
    const guard = await openGuard(test, { leave: ["send_email"], rules: { send_email: { effect: "irreversible" } } });
    expect(() => test.register("send_email", { inputSchema }, new Counter().run)).toThrow(/leave: names "send_email"/);
    expect(() => guard.explain()).toThrow(/is no tool here/);
  });

  it("are guarded once: a server is not guarded twice", async () => {
    const test = generation.makeServer();
    await openGuard(test);
    await expect(openGuard(test)).rejects.toThrow("server: is guarded already");
  });

  it.each([
    ["unknown", { envelope: false }],
    ["principalOf", { principalOf: "ann" }],
    ["errorResults", { errorResults: "completed" }],
    ["keyField", { keyField: "not a name" }],
    ["toolsComeLater", { toolsComeLater: "yes" }],
    ["rules", { rules: { send_email: { polcy: "refire" } } }],
  ])("are guarded only with options that are right: %s", async (_, options) => {
    await expect(openGuard(generation.makeServer(), options as McpGuardOptions)).rejects.toMatchObject({
      code: "invalid_request",
    });
  });

  it.each([[{}], [null], [{ registerTool: () => undefined, connect: async () => undefined }]])(
    "are those of an McpServer, and of nothing else: %j",
    async (server) => {
      const test = { ...generation.makeServer(), server: server as never };
      await expect(openGuard(test)).rejects.toMatchObject({ code: "invalid_request", path: "server" });
    },
  );
});

describe.each(generations)("a field for the key, on a guarded server of $name", (generation) => {
  it("is listed with the window in words, for guarded tools only", async () => {
    const test = generation.makeServer();
    await openGuard(test, {
      keyField: true,
      rules: { charge_card: { times: { completedTtl: 86_400 } }, restart: { times: { completedTtl: 5400 } } },
    });
    const { run } = new Counter();
    test.register("send_email", { inputSchema }, run);
    test.register("charge_card", { inputSchema }, run);
    test.register("restart", {}, run);
    test.register("get_email", { inputSchema }, run);
    const listed = await (await generation.connect(test)).list();
    const fields = listed.map(({ name, inputSchema: { properties = {} } }) => [
      name,
      properties["idempotency_key"]?.description?.match(/within (.*?) it is/)?.[1],
    ]);
    expect(fields).toEqual([
      ["send_email", "1 hour"],
      ["charge_card", "1 day"],
      ["restart", "90 minutes"],
      ["get_email", undefined],
    ]);
    expect(listed.flatMap(({ inputSchema: { required = [] } }) => required)).not.toContain("idempotency_key");
  });

  it("is the key, and neither the tool nor its schema sees it", async () => {
    const test = generation.makeServer();
    await openGuard(test, { keyField: "intent" });
    const received: unknown[] = [];
    test.register("send_email", { inputSchema: inputSchema.strict() }, (args: unknown) => {
      received.push(args);
      return { content: [] };
    });
    const client = await generation.connect(test);
    const first = await client.call("send_email", { ...ann, intent: "mail-1" });
    const other = await client.call("send_email", { ...ann, intent: "mail-2" });
    const conflict = await client.call("send_email", { to: "bob", intent: "mail-1" });
    const bare = await client.call("send_email", { ...ann, intent: "" });
    expect(received).toEqual([ann, ann, ann]);
    expect([first, other, bare].map((result) => String(result._meta?.[resultMeta.key]).split(":")[1])).toEqual([
      "mail-1",
      "mail-2",
      expect.stringMatching(/^[0-9a-f]{64}$/),
    ]);
    expect(conflict.content[0]?.text).toBe(adviceByCode.idempotency_conflict);
  });

  it("is taken out of the arguments of a tool without any", async () => {
    const test = generation.makeServer();
    await openGuard(test, { keyField: true });
    const counter = new Counter();
    test.register("restart", {}, counter.run);
    const client = await generation.connect(test);
    for (const idempotency_key of ["a", "b", "a"]) await client.call("restart", { idempotency_key });
    expect(counter.effects).toBe(2);
  });

  it("yields to the key that the client itself sends", async () => {
    const test = generation.makeServer();
    await openGuard(test, { keyField: true });
    test.register("send_email", { inputSchema }, new Counter().run);
    const client = await generation.connect(test);
    const meta = { [requestMeta.key]: "of-the-client" };
    const result = await client.call("send_email", { ...ann, idempotency_key: "of-the-model" }, { meta });
    expect(result._meta?.[resultMeta.key]).toBe('["test",null,null,null]/send_email:of-the-client');
  });

  it("must be a text", async () => {
    const test = generation.makeServer();
    await openGuard(test, { keyField: true });
    const counter = new Counter();
    test.register("send_email", { inputSchema }, counter.run);
    const client = await generation.connect(test);
    const result = await client.call("send_email", { ...ann, idempotency_key: 7 });
    expect(result).toEqual({ isError: true, content: [{ type: "text", text: "idempotency_key must be a string." }] });
    expect(counter.effects).toBe(0);
  });

  it("is added to the tools of a server that has begun to serve them, too", async () => {
    const test = generation.makeServer({ capabilities: { tools: {} } });
    const counter = new Counter();
    test.register("send_email", { inputSchema }, counter.run);
    await openGuard(test, { keyField: true });
    const client = await generation.connect(test);
    expect((await client.list())[0]?.inputSchema.properties).toHaveProperty("idempotency_key");
    for (const key of ["a", "b"]) await client.call("send_email", { ...ann, idempotency_key: key });
    expect(counter.effects).toBe(2);
  });

  it("is refused where a tool has a field of that name, or a schema without a place for it", async () => {
    const test = generation.makeServer();
    const guard = await openGuard(test, { keyField: "to" });
    const { run } = new Counter();
    expect(() => test.register("send_email", { inputSchema }, run)).toThrow(
      /keyField: is "to", which "send_email" has/,
    );
    const union = z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]);
    expect(() => test.register("send_email", { inputSchema: union }, run)).toThrow(/not that of one plain object/);
    // A reader has no field, and may have whatever schema it likes.
    test.register("get_email", { inputSchema }, run);
    expect(Object.keys(guard.explain())).toEqual(["get_email"]);
  });

  it("leaves a server unguarded and untouched when one of its tools has no place for it", async () => {
    const test = generation.makeServer();
    const { run } = new Counter();
    const first = test.register("send_fax", {}, run);
    test.register("send_email", { inputSchema: z.object({ idempotency_key: z.string() }) }, run);
    await expect(openGuard(test, { keyField: true })).rejects.toThrow(/keyField/);
    expect(first.handler).toBe(run);
  });
});

describe("a field for the key, by the kind of the schema", () => {
  const [one, two] = generations;

  it.each([
    ["a record of schemas", { to: z.string() }],
    ["a record of schemas of Zod 3", { to: z3.string() }],
    ["an object of Zod 3", z3.object({ to: z3.string() })],
    ["an object with a transformation", z.object({ to: z.string().transform((to) => to.length) })],
    ["an object behind a preparation", z.preprocess((value) => value, z.object({ to: z.string() }))],
  ])("is added in SDK 1 to %s", async (_, schema) => {
    if (one === undefined) throw new Error("no SDK");
    const test = one.makeServer();
    await openGuard(test, { keyField: true });
    const counter = new Counter();
    test.register("send_email", { inputSchema: schema as never }, counter.run);
    const client = await one.connect(test);
    for (const key of ["a", "b", "a"]) await client.call("send_email", { ...ann, idempotency_key: key });
    expect((await client.list())[0]?.inputSchema.properties).toHaveProperty("idempotency_key");
    expect(counter.effects).toBe(2);
  });

  it("is added in SDK 2 to a JSON Schema", async () => {
    if (two === undefined) throw new Error("no SDK");
    const test = two.makeServer();
    await openGuard(test, { keyField: true });
    const counter = new Counter();
    const properties = { to: { type: "string" } } as const;
    const schema = fromJsonSchema({ type: "object", properties, required: ["to"], additionalProperties: false });
    test.register("send_email", { inputSchema: schema as never }, counter.run);
    const client = await two.connect(test);
    for (const key of ["a", "b", "a"]) await client.call("send_email", { ...ann, idempotency_key: key });
    expect(counter.effects).toBe(2);
  });
});

describe("the types of a guard", () => {
  it("fit the servers and contexts of both generations", async () => {
    const { calls } = (await openScene()).worker("A");
    const one = new ServerOne({ name: "test", version: "1.0.0" });
    const two = new ServerTwo({ name: "test", version: "1.0.0" });
    const ofOne = (extra: RequestHandlerExtra<ServerRequest, ServerNotification>) => extra.authInfo?.clientId;
    const ofTwo = (ctx: ServerContext) => ctx.http?.authInfo?.clientId;
    expectTypeOf(guardMcpServer(one, calls, { principalOf: ofOne, scopeOf: ofOne }).server).toEqualTypeOf(one);
    expectTypeOf(guardMcpServer(two, calls, { principalOf: ofTwo, scopeOf: ofTwo }).server).toEqualTypeOf(two);
  });
});

/** A server of the earliest versions, as far as it is looked at: they keep a tool's function as `callback`. */
class EarliestServer {
  readonly server = { _serverInfo: { name: "test" } };
  readonly _registeredTools: { [name: string]: EarliestTool } = {};

  registerTool(name: string, config: { readonly annotations?: ToolAnnotations }, callback: unknown): EarliestTool {
    const tool = { ...config, callback, update: (updates: object) => void Object.assign(tool, updates) };
    this._registeredTools[name] = tool;
    return tool;
  }

  async connect(): Promise<void> {}

  async call(name: string): Promise<unknown> {
    const { callback } = this._registeredTools[name] ?? {};
    return (callback as (args: object, context: object) => unknown)(ann, {});
  }
}

interface EarliestTool {
  callback: unknown;
  update(updates: object): void;
}

describe("what only SDK 1 has", () => {
  it("guards tools whose function has its earlier name, registered before or after, and set there", async () => {
    const scene = await openScene();
    const server = new EarliestServer();
    const counter = new Counter();
    server.registerTool("send_fax", {}, counter.run);
    guardMcpServer(server, scene.worker("A").calls);
    server.registerTool("send_email", {}, counter.run);
    server.registerTool("send_letter", {}, () => undefined).callback = counter.run;
    for (const name of ["send_fax", "send_email", "send_letter"]) {
      await server.call(name);
      await server.call(name);
    }
    expect(counter.effects).toBe(3);
  });

  it("guards tools of the deprecated method, in all its forms", async () => {
    const scene = await openScene();
    const server = new ServerOne({ name: "test", version: "1.0.0" });
    const guard = guardMcpServer(server, scene.worker("A").calls, { keyField: true });
    const counter = new Counter();
    const run = counter.run as never;
    server.tool("send_one", run);
    server.tool("send_two", "Sends.", run);
    server.tool("send_three", { to: z.string() }, run);
    server.tool("send_four", "Sends.", { to: z.string() }, { idempotentHint: false }, run);
    server.tool("look", "Looks.", { readOnlyHint: true }, run);
    expect(Object.entries(guard.explain()).map(([name, { sideEffect }]) => [name, sideEffect])).toEqual([
      ["send_one", true],
      ["send_two", true],
      ["send_three", true],
      ["send_four", true],
      ["look", false],
    ]);
    const [one] = generations;
    const client = await one?.connect({ server, register: () => ({}) as never });
    for (const name of ["send_one", "send_two", "send_three", "send_four"]) {
      await client?.call(name, ann);
      await client?.call(name, ann);
    }
    expect(counter.effects).toBe(4);
  });

  it("does not keep a tool of the deprecated method that it could not guard", async () => {
    const scene = await openScene();
    const server = new ServerOne({ name: "test", version: "1.0.0" });
    const { explain } = guardMcpServer(server, scene.worker("A").calls, { keyField: "to" });
    expect(() => server.tool("send_email", { to: z.string() }, new Counter().run as never)).toThrow(/keyField/);
    expect(explain()).toEqual({});
  });

  it("refuses a tool of tasks that has side effects, registered before or after, unless it is left alone", async () => {
    const scene = await openScene();
    const { calls } = scene.worker("A");
    const handler = { createTask: () => ({}), getTask: () => ({}), getTaskResult: () => ({}) } as never;
    const makeServer = () => new ServerOne({ name: "test", version: "1.0.0" });
    const refusal = /tools: "send_report" answers with a task and has side effects, which cannot be guarded here/;
    const after = makeServer();
    guardMcpServer(after, calls);
    expect(() => after.experimental.tasks.registerToolTask("send_report", {}, handler)).toThrow(refusal);
    after.experimental.tasks.registerToolTask("get_report", {}, handler);
    const before = makeServer();
    before.experimental.tasks.registerToolTask("send_report", {}, handler);
    expect(() => guardMcpServer(before, calls)).toThrow(refusal);
    const { explain } = guardMcpServer(before, calls, { leave: ["send_report"] });
    expect(explain()["send_report"]).toMatchObject({ sideEffect: false });
  });
});
