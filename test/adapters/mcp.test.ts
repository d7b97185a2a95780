import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  callOf,
  guardMcpServer,
  type McpGuardOptions,
  requestMeta,
  resultMeta,
} from "../../client/adapters/mcp/index.js";
import { similarCalls } from "../../src/tools/index.js";
import { adviceByCode, failureText, nothingBegun, replayNote } from "../../src/tools/model-text.js";
import { openScene, type Scene, settled, type Worker } from "../tool-calls/scene.js";
import { Gate } from "../tools/tool-scene.js";
import { type ArrivedResult, type Auth, type Generation, generations, type TestServer } from "./mcp-generations.js";

const mail = z.object({ to: z.string().trim(), subject: z.string(), urgent: z.boolean().default(false) });
const hi = { to: "ann@example.com", subject: "hi" };

/** A server with a mailbox behind its tool, over the store of a scene. */
class MailServer {
  readonly sent: { readonly to: string; readonly subject: string; readonly urgent: boolean }[] = [];
  readonly contexts: object[] = [];
  readonly server: TestServer;
  readonly worker: Worker;
  /** Awaited after the mail is sent, and before the tool ends. */
  afterwards: () => unknown = () => undefined;

  constructor(generation: Generation, scene: Scene, options: McpGuardOptions = {}, worker = "A", name = "test") {
    this.server = generation.makeServer({ name });
    this.worker = scene.worker(worker);
    guardMcpServer(this.server.server, this.worker.calls, options);
    this.server.register("send_email", { inputSchema: mail }, async (args: z.infer<typeof mail>, context: object) => {
      const message = this.sent.push(args);
      this.contexts.push(context);
      const other = await this.afterwards();
      return other ?? { content: [{ type: "text", text: `sent message ${message}` }] };
    });
  }
}

function textsOf({ content }: ArrivedResult): readonly (string | undefined)[] {
  return content.map(({ text }) => text);
}

function noteOf(result: ArrivedResult): string {
  return replayNote(String(result._meta?.[resultMeta.original_called_at]), undefined);
}

function auth(clientId: string, sub?: string): Auth {
  return { token: "t", clientId, scopes: [], ...(sub === undefined ? {} : { extra: { sub } }) };
}

describe.each(generations)("a guarded MCP server of $name", (generation) => {
  it("gives the first caller what the tool gave, and says in _meta that it is no replay", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    const result = await client.call("send_email", hi);
    expect(result).toEqual({
      content: [{ type: "text", text: "sent message 1" }],
      _meta: {
        [resultMeta.was_replay]: false,
        [resultMeta.original_called_at]: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        [resultMeta.key]: expect.stringMatching(/^\["test",null,null,null\]\/send_email:[0-9a-f]{64}$/),
      },
    });
  });

  it("answers a call that is emitted again with the same result and the note in front", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    const first = await client.call("send_email", hi);
    const second = await client.call("send_email", hi);
    expect(box.sent).toHaveLength(1);
    expect(textsOf(second)).toEqual([noteOf(first), "sent message 1"]);
    expect(second).not.toHaveProperty("isError");
    expect(second._meta).toEqual({ ...first._meta, [resultMeta.was_replay]: true });
  });

  it("makes one effect of calls that come at the same moment, and flags all replies but one", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    const gate = new Gate();
    box.afterwards = () => gate.opened;
    const all = Promise.all(Array.from({ length: 5 }, () => client.call("send_email", hi)));
    await vi.waitFor(() => expect(box.sent).toHaveLength(1));
    gate.open();
    const replays = (await all).map((result) => result._meta?.[resultMeta.was_replay]);
    expect(replays.sort()).toEqual([false, true, true, true, true]);
    expect(box.sent).toHaveLength(1);
  });

  it("records what a tool does after its client has stopped waiting, and the retry gets it", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    const gate = new Gate();
    let signal: AbortSignal | undefined;
    box.afterwards = () => {
      signal = callOf(box.contexts[0] ?? {})?.signal;
      return gate.opened;
    };
    await expect(client.call("send_email", hi, { timeout: 500 })).rejects.toThrow(/timed out/i);
    expect(signal?.aborted).toBe(false);
    const retry = client.call("send_email", hi);
    gate.open();
    expect((await retry)._meta).toMatchObject({ [resultMeta.was_replay]: true });
    expect(box.sent).toHaveLength(1);
  });

  it("hands the tool the signal of its claim in the place of the client's", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    await client.call("send_email", hi);
    const [context = {}] = box.contexts;
    const signal = Reflect.get(context, "signal") ?? Reflect.get(Reflect.get(context, "mcpReq"), "signal");
    expect(signal).toBe(callOf(context)?.signal);
  });

  it("ends the waiting of a second caller who gives up, and nothing else", async () => {
    const scene = await openScene();
    const box = new MailServer(generation, scene);
    const client = await generation.connect(box.server);
    const gate = new Gate();
    box.afterwards = () => gate.opened;
    const first = client.call("send_email", hi);
    await vi.waitFor(() => expect(box.sent).toHaveLength(1));
    const controller = new AbortController();
    const second = client.call("send_email", hi, { signal: controller.signal });
    await settled();
    controller.abort(new Error("the user left"));
    await expect(second).rejects.toThrow("the user left");
    gate.open();
    expect((await first)._meta).toMatchObject({ [resultMeta.was_replay]: false });
    expect(box.sent).toHaveLength(1);
  });

  it("fires nothing for a client that is gone before its turn has come", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    const { network } = box.worker;
    network.fault("pending", "held");
    const controller = new AbortController();
    const call = client.call("send_email", hi, { signal: controller.signal });
    call.catch(() => {});
    await vi.waitFor(() => expect(network.sent).toContain("pending"));
    controller.abort(new Error("gone"));
    await expect(call).rejects.toThrow("gone");
    await settled();
    network.deliver();
    await settled();
    expect(box.sent).toHaveLength(0);
    expect((await client.call("send_email", hi))._meta).toMatchObject({ [resultMeta.was_replay]: false });
  });

  it("does not take the request's number for the intent: sessions count from the beginning", async () => {
    const scene = await openScene();
    const a = new MailServer(generation, scene);
    const b = new MailServer(generation, scene, {}, "B");
    const clientOfA = await generation.connect(a.server);
    const clientOfB = await generation.connect(b.server);
    const first = await clientOfA.call("send_email", hi);
    const other = await clientOfB.call("send_email", { ...hi, subject: "other" });
    const same = await clientOfB.call("send_email", hi);
    expect([first, other, same].map((result) => result._meta?.[resultMeta.was_replay])).toEqual([false, false, true]);
    expect([a.sent.length, b.sent.length]).toEqual([1, 1]);
  });

  it("keeps the ids of the protocol in the record, for people", async () => {
    const scene = await openScene();
    const box = new MailServer(generation, scene);
    const result = await (await generation.connect(box.server)).call("send_email", hi);
    const record = await scene.worker("B").calls.get(String(result._meta?.[resultMeta.key]));
    expect(record?.fields.extra).toEqual({ tool_call_id: expect.stringMatching(/^request \d+$/) });
  });

  it("calls a tool without a schema with its context alone, and makes one intent of its calls", async () => {
    const scene = await openScene();
    const test = generation.makeServer();
    guardMcpServer(test.server, scene.worker("A").calls);
    const received: unknown[][] = [];
    test.register("restart_service", { description: "Restarts." }, (...all: unknown[]) => {
      received.push(all);
      return { content: [] };
    });
    const client = await generation.connect(test);
    await client.call("restart_service");
    const second = await client.call("restart_service", {});
    expect(received).toEqual([[expect.objectContaining({})]]);
    expect(second._meta).toMatchObject({ [resultMeta.was_replay]: true });
  });

  it("leaves structured content as it is, so that a replay fits the output schema as well", async () => {
    const scene = await openScene();
    const test = generation.makeServer();
    guardMcpServer(test.server, scene.worker("A").calls);
    let charges = 0;
    const outputSchema = z.object({ charge: z.number() }).strict();
    const config = { inputSchema: z.object({ order: z.number() }), outputSchema };
    test.register("charge_card", config, () => {
      charges += 1;
      return { content: [{ type: "text", text: "charged" }], structuredContent: { charge: charges } };
    });
    const client = await generation.connect(test);
    await client.list();
    const first = await client.call("charge_card", { order: 7 });
    const second = await client.call("charge_card", { order: 7 });
    expect([first.structuredContent, second.structuredContent]).toEqual([{ charge: 1 }, { charge: 1 }]);
    expect(textsOf(second)).toEqual([noteOf(first), "charged"]);
  });

  it("says that it was done when the result could not be kept, also where the output has a schema", async () => {
    const scene = await openScene();
    const test = generation.makeServer();
    guardMcpServer(test.server, scene.worker("A", { results: { maxBytes: 10 } }).calls);
    const config = { inputSchema: z.object({}), outputSchema: z.object({ charge: z.number() }) };
    test.register("charge_card", config, () => ({ content: [], structuredContent: { charge: 1 } }));
    const client = await generation.connect(test);
    expect((await client.call("charge_card")).structuredContent).toEqual({ charge: 1 });
    const second = await client.call("charge_card");
    const calledAt = String(second._meta?.[resultMeta.original_called_at]);
    expect(textsOf(second)).toEqual([replayNote(calledAt, "too_large")]);
    expect(second._meta).toMatchObject({ [resultMeta.was_replay]: true, [resultMeta.result_omitted]: "too_large" });
  });

  it("takes a default left out and one spelled out for the same call", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    await client.call("send_email", hi);
    const second = await client.call("send_email", { ...hi, to: " ann@example.com ", urgent: false });
    expect(second._meta).toMatchObject({ [resultMeta.was_replay]: true });
    expect(box.sent).toEqual([{ ...hi, urgent: false }]);
  });

  it("claims nothing for arguments that are not valid, also on the way to a replay", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    await client.call("send_email", hi, { meta: { [requestMeta.key]: "mail-1" } });
    const bad = await client.call("send_email", { to: 7 }, { meta: { [requestMeta.key]: "mail-1" } });
    expect(bad).toMatchObject({ isError: true });
    expect(textsOf(bad)[0]).toMatch(/Input validation error/);
  });

  it("goes by the key in _meta, and calls other arguments under it a conflict", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    const meta = { [requestMeta.key]: "order-7" };
    const first = await client.call("send_email", hi, { meta });
    const conflict = await client.call("send_email", { ...hi, subject: "hello" }, { meta });
    expect(box.sent).toHaveLength(1);
    expect(first._meta?.[resultMeta.key]).toBe('["test",null,null,null]/send_email:order-7');
    expect(conflict).toEqual({
      isError: true,
      content: [{ type: "text", text: adviceByCode.idempotency_conflict }],
      _meta: {
        [resultMeta.code]: "idempotency_conflict",
        [resultMeta.key]: '["test",null,null,null]/send_email:order-7',
      },
    });
  });

  it("goes by the scope in _meta: the same said in another turn is meant again", async () => {
    const box = new MailServer(generation, await openScene(), { scope: "shop" });
    const client = await generation.connect(box.server);
    const turns = ["turn-1", "turn-2", "turn-1"];
    for (const turn of turns) await client.call("send_email", hi, { meta: { [requestMeta.scope]: turn } });
    const last = await client.call("send_email", hi);
    expect(box.sent).toHaveLength(3);
    expect(last._meta?.[resultMeta.key]).toMatch(/^\["test",null,"shop",null\]\/send_email:/);
  });

  it("refuses a key that is none, and enters nothing", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    const result = await client.call("send_email", hi, { meta: { [requestMeta.key]: 7 } });
    expect(result).toMatchObject({ isError: true });
    expect(textsOf(result)).toEqual([expect.stringContaining('_meta["oncekv/idempotency_key"]')]);
    expect(box.sent).toHaveLength(0);
  });

  it("makes the key by the tool's rule, and hands it to whatever the tool calls", async () => {
    const rules = { send_email: { key: ({ to }: { to: string }) => `mail-to-${to}` } };
    const box = new MailServer(generation, await openScene(), { rules });
    const client = await generation.connect(box.server);
    const result = await client.call("send_email", hi);
    const key = '["test",null,null,null]/send_email:mail-to-ann@example.com';
    expect(result._meta?.[resultMeta.key]).toBe(key);
    const [context = {}] = box.contexts;
    expect(callOf(context)?.key).toBe(key);
    expect(Object.values(callOf(context)?.headers ?? {})).toEqual([expect.stringContaining("mail-to-ann")]);
    expect(callOf({ ...context })).toBeUndefined();
  });

  it("keeps the calls of two principals apart, with the same key and with the same arguments", async () => {
    const scene = await openScene();
    const meta = { [requestMeta.key]: "order-7" };
    const keys: unknown[] = [];
    const sent: number[] = [];
    for (const who of [auth("app", "ann"), auth("app", "bob"), auth("app"), auth("tool"), undefined]) {
      const box = new MailServer(generation, scene);
      const client = await generation.connect(box.server, who);
      keys.push((await client.call("send_email", hi, { meta }))._meta?.[resultMeta.key]);
      await client.call("send_email", hi);
      sent.push(box.sent.length);
    }
    expect(sent).toEqual([2, 2, 2, 2, 2]);
    expect(keys).toEqual(
      ['["app","ann"]', '["app","bob"]', '["app"]', '["tool"]']
        .concat("null")
        .map((principal) => `["test",${principal},null,null]/send_email:order-7`),
    );
  });

  it("takes a subject that is a number for its text, and refuses one that cannot be told from another", async () => {
    const scene = await openScene();
    const keys: unknown[] = [];
    for (const sub of [7, 8, "8", null]) {
      const box = new MailServer(generation, scene);
      const client = await generation.connect(box.server, { ...auth("app"), extra: { sub } });
      const meta = { [requestMeta.key]: "order-7" };
      keys.push(String((await client.call("send_email", hi, { meta }))._meta?.[resultMeta.key]).split("/")[0]);
    }
    expect(keys).toEqual(
      ['["app","7"]', '["app","8"]', '["app","8"]', '["app"]'].map((principal) => `["test",${principal},null,null]`),
    );
    for (const sub of [{ id: 7 }, true]) {
      const box = new MailServer(generation, scene);
      const client = await generation.connect(box.server, { ...auth("app"), extra: { sub } });
      const { content } = await client.call("send_email", hi);
      expect(content[0]?.text).toMatch(/authInfo\.extra\.sub: must be a string or a number/);
      expect(box.sent).toHaveLength(0);
    }
  });

  it("keeps the calls of two servers apart whose tools are called the same, unless everything is one scope", async () => {
    const scene = await openScene();
    const replaysOf = async (options: McpGuardOptions): Promise<readonly unknown[]> => {
      const replays: unknown[] = [];
      for (const name of ["mail", "sms"]) {
        const box = new MailServer(generation, scene, options, "A", name);
        const client = await generation.connect(box.server);
        for (let time = 0; time < 2; time++) {
          replays.push((await client.call("send_email", hi))._meta?.[resultMeta.was_replay]);
        }
      }
      return replays;
    };
    expect(await replaysOf({})).toEqual([false, true, false, true]);
    expect(await replaysOf({ scope: "tenant-1" })).toEqual([false, true, false, true]);
    expect(await replaysOf({ scope: null })).toEqual([false, true, true, true]);
  });

  it("gives nobody another principal's result, whatever key they send", async () => {
    const scene = await openScene();
    const ann = new MailServer(generation, scene);
    const annClient = await generation.connect(ann.server, auth("app", "ann"));
    const whole = String((await annClient.call("send_email", hi))._meta?.[resultMeta.key]);
    for (const who of [auth("app", "bob"), undefined]) {
      const other = new MailServer(generation, scene);
      const client = await generation.connect(other.server, who);
      const result = await client.call("send_email", hi, { meta: { [requestMeta.key]: whole } });
      expect(result._meta).toMatchObject({ [resultMeta.was_replay]: false });
    }
    const again = await annClient.call("send_email", hi, { meta: { [requestMeta.key]: whole } });
    expect(again._meta).toMatchObject({ [resultMeta.was_replay]: true });
  });

  it("takes the program's word for who calls", async () => {
    const scene = await openScene();
    const principalOf = ({ sessionId }: { readonly sessionId?: string | undefined }) => sessionId ?? "ann";
    const replays: unknown[] = [];
    for (const app of ["app-1", "app-2"]) {
      const box = new MailServer(generation, scene, { principalOf });
      const client = await generation.connect(box.server, auth(app));
      replays.push((await client.call("send_email", hi))._meta?.[resultMeta.was_replay]);
    }
    expect(replays).toEqual([false, true]);
  });

  it("refuses a principal that is the same for all, because it is empty", async () => {
    const box = new MailServer(generation, await openScene(), { principalOf: () => "" });
    const result = await (await generation.connect(box.server)).call("send_email", hi);
    expect(textsOf(result)).toEqual([expect.stringContaining("principalOf: must not make an empty string")]);
    expect(box.sent).toHaveLength(0);
  });

  it("joins the scope of a rule with the principal, instead of letting it replace it", async () => {
    const rules = { send_email: { scope: ({ subject }: { subject: string }) => subject } };
    const box = new MailServer(generation, await openScene(), { rules, scope: "shop" });
    const client = await generation.connect(box.server, auth("app", "ann"));
    const result = await client.call("send_email", hi);
    expect(result._meta?.[resultMeta.key]).toMatch(/^\["test",\["app","ann"\],"hi",null\]\/send_email:/);
  });

  it("makes the scope of what the transport knows", async () => {
    const scopeOf = (_: object, { tool, args }: { tool: string; args: unknown }) => `${tool} ${JSON.stringify(args)}`;
    const box = new MailServer(generation, await openScene(), { scopeOf });
    const result = await (await generation.connect(box.server)).call("send_email", hi);
    expect(String(result._meta?.[resultMeta.key])).toContain("ann@example.com");
  });

  it("tells a second caller that the call still runs", async () => {
    const scene = await openScene();
    const box = new MailServer(generation, scene, { rules: { send_email: { times: { waitTimeout: 0 } } } });
    const client = await generation.connect(box.server);
    const gate = new Gate();
    box.afterwards = () => gate.opened;
    const first = client.call("send_email", hi);
    await vi.waitFor(() => expect(box.sent).toHaveLength(1));
    const second = await client.call("send_email", hi);
    expect(textsOf(second)).toEqual([adviceByCode.call_in_flight]);
    expect(second).toMatchObject({
      isError: true,
      _meta: { [resultMeta.code]: "call_in_flight", [resultMeta.retry_after]: expect.any(Number) },
    });
    gate.open();
    await first;
  });

  it("leaves a call in doubt to people after a throw, and says so to both callers", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    box.afterwards = () => {
      throw new Error("connection reset");
    };
    const first = await client.call("send_email", hi);
    const second = await client.call("send_email", hi);
    expect(box.sent).toHaveLength(1);
    expect(textsOf(first)).toEqual([failureText("unknown", "connection reset.")]);
    expect(textsOf(second)).toEqual([adviceByCode.needs_review]);
    for (const result of [first, second]) {
      expect(result).toMatchObject({
        isError: true,
        _meta: { [resultMeta.code]: "needs_review", [resultMeta.key]: expect.stringContaining("send_email:") },
      });
    }
  });

  it("classes a throw where its class is still known", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    box.afterwards = () => {
      throw Object.assign(new Error("no such mailbox"), { status: 404 });
    };
    expect(textsOf(await client.call("send_email", hi))).toEqual([failureText("failed", "no such mailbox.")]);
    const second = await client.call("send_email", hi);
    expect(textsOf(second)[0]).toContain(adviceByCode.tool_call_failed);
    expect(box.sent).toHaveLength(1);
  });

  it("lets a rule say what a throw means", async () => {
    const box = new MailServer(generation, await openScene(), {
      rules: { send_email: { classify: () => "retryable" } },
    });
    const client = await generation.connect(box.server);
    box.afterwards = () => {
      box.afterwards = () => undefined;
      throw new Error("busy");
    };
    const first = await client.call("send_email", hi);
    expect(textsOf(first)).toEqual([failureText("retryable", "busy.")]);
    expect(first._meta).toMatchObject({ [resultMeta.retry_after]: 0 });
    expect((await client.call("send_email", hi))._meta).toMatchObject({ [resultMeta.was_replay]: false });
  });

  it("keeps an error result as the tool's answer, and replays it", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    const content = [{ type: "text", text: "mail server said 500" }];
    box.afterwards = () => ({ content, isError: true, _meta: { "x/own": 1 } });
    const first = await client.call("send_email", hi);
    expect(first).toMatchObject({ isError: true, content, _meta: { "x/own": 1, [resultMeta.was_replay]: false } });
    const second = await client.call("send_email", hi);
    expect(second).toMatchObject({ isError: true, _meta: { [resultMeta.was_replay]: true } });
    expect(textsOf(second).at(-1)).toBe("mail server said 500");
    expect(box.sent).toHaveLength(1);
  });

  it("lets a tool with an idempotent hint be tried again after an error result", async () => {
    const scene = await openScene();
    const test = generation.makeServer();
    guardMcpServer(test.server, scene.worker("A").calls);
    let runs = 0;
    const config = { inputSchema: z.object({}), annotations: { idempotentHint: true } };
    test.register("set_status", config, () => ({ content: [{ type: "text", text: "no" }], isError: ++runs === 1 }));
    const client = await generation.connect(test);
    // Its own words alone: whoever puts the arguments right does no harm.
    const first = await client.call("set_status");
    expect(textsOf(first)).toEqual(["no"]);
    expect(first._meta).toMatchObject({ [resultMeta.retry_after]: 0 });
    expect((await client.call("set_status"))._meta).toMatchObject({ [resultMeta.was_replay]: false });
    expect(runs).toBe(2);
  });

  it.each([
    ["completed", ["no such address"], false],
    ["failed", ["no such address"], true],
    ["unknown", [failureText("unknown", "no such address."), "no such address"], true],
    ["nonsense", [failureText("unknown", "no such address."), "no such address"], true],
  ] as const)("goes by the program's word that an error result means %s", async (meaning, texts, refused) => {
    const asked: unknown[] = [];
    const box = new MailServer(generation, await openScene(), {
      errorResults: (result, call) => {
        asked.push([result.content, call]);
        return meaning as "completed";
      },
    });
    const client = await generation.connect(box.server);
    const content = [{ type: "text", text: "no such address" }];
    box.afterwards = () => ({ content, isError: true });
    const first = await client.call("send_email", hi);
    expect(first.isError).toBe(true);
    expect(textsOf(first)).toEqual(texts);
    const second = await client.call("send_email", hi);
    expect(resultMeta.code in (second._meta ?? {})).toBe(refused);
    expect(asked).toEqual([[content, { tool: "send_email", args: { ...hi, urgent: false } }]]);
    expect(box.sent).toHaveLength(1);
  });

  it("says that nothing was done when the store does not answer, and enters nothing", async () => {
    const scene = await openScene();
    const worker = scene.worker("A");
    const test = generation.makeServer();
    guardMcpServer(test.server, worker.calls);
    let effects = 0;
    test.register("send_email", { inputSchema: mail }, () => {
      effects += 1;
      return { content: [] };
    });
    const client = await generation.connect(test);
    worker.network.down = true;
    const refused = await client.call("send_email", hi);
    expect(textsOf(refused)).toEqual([nothingBegun]);
    expect(refused).toMatchObject({ isError: true, _meta: { [resultMeta.code]: "unavailable" } });
    worker.network.down = false;
    expect((await client.call("send_email", hi))._meta).toMatchObject({ [resultMeta.was_replay]: false });
    expect(effects).toBe(1);
  });

  it("closes a call whose server was lost in the middle of it, and lets nobody fire until somebody found out", async () => {
    const scene = await openScene();
    const lost = new MailServer(generation, scene);
    const { server } = new MailServer(generation, scene, {}, "B");
    lost.afterwards = () => new Promise(() => {});
    void (await generation.connect(lost.server)).call("send_email", hi).catch(() => {});
    await vi.waitFor(() => expect(lost.sent).toHaveLength(1));
    lost.worker.network.down = true;
    await scene.advance(301);
    const client = await generation.connect(server);
    const second = await client.call("send_email", hi);
    expect(textsOf(second)).toEqual([adviceByCode.needs_review]);
    const key = String(second._meta?.[resultMeta.key]);
    const { calls } = scene.worker("C");
    const result = { content: [{ type: "text", text: "found in the outbox" }] };
    await calls.resolve(key, { result }, { by: "ann" });
    expect(textsOf(await client.call("send_email", hi))).toEqual([expect.any(String), "found in the outbox"]);
  });

  it("sets a call aside that its tool parks, until somebody has approved those very arguments", async () => {
    const box = new MailServer(generation, await openScene());
    const client = await generation.connect(box.server);
    box.afterwards = () => {
      const call = callOf(box.contexts.at(-1) ?? {});
      return call?.approval === undefined ? call?.park("needs an approval") : undefined;
    };
    const parked = await client.call("send_email", hi);
    expect(textsOf(parked)).toEqual([adviceByCode.call_parked]);
    expect(parked).toMatchObject({ isError: true, _meta: { [resultMeta.code]: "call_parked" } });
    const { calls } = box.worker;
    const key = String(parked._meta?.[resultMeta.key]);
    const record = await calls.get(key);
    await calls.approve(key, { by: "ann", fingerprint: String(record?.fields.fingerprint) });
    expect((await client.call("send_email", hi))._meta).toMatchObject({ [resultMeta.was_replay]: false });
    expect((await client.call("send_email", hi))._meta).toMatchObject({ [resultMeta.was_replay]: true });
  });

  it("gives the late end of a call that was taken over to nobody, and keeps what stands in the record", async () => {
    const scene = await openScene();
    const rules = { send_email: { mechanism: "downstream_key" } } as const;
    const late = new MailServer(generation, scene, { rules });
    const next = new MailServer(generation, scene, { rules }, "B");
    const gate = new Gate();
    late.afterwards = () => gate.opened;
    const lateClient = await generation.connect(late.server);
    const first = lateClient.call("send_email", hi);
    await vi.waitFor(() => expect(late.sent).toHaveLength(1));
    late.worker.network.down = true;
    await scene.advance(301);
    const client = await generation.connect(next.server);
    expect((await client.call("send_email", hi))._meta).toMatchObject({ [resultMeta.was_replay]: false });
    late.worker.network.down = false;
    gate.open();
    const lost = await first;
    expect(textsOf(lost)).toEqual([adviceByCode.claim_lost]);
    expect(lost).toMatchObject({ isError: true, _meta: { [resultMeta.code]: "claim_lost" } });
    expect((await client.call("send_email", hi))._meta).toMatchObject({ [resultMeta.was_replay]: true });
  });

  it("asks about a call that resembles one of a moment ago", async () => {
    const scene = await openScene();
    const asked: unknown[] = [];
    const similar = similarCalls({
      store: scene.store,
      targetOf: ({ to }: { to?: string }) => to,
      onSimilar: ({ target }) => void asked.push(target),
    });
    const box = new MailServer(generation, scene, { similar });
    const client = await generation.connect(box.server);
    await client.call("send_email", hi);
    await client.call("send_email", { ...hi, subject: "hello" });
    expect(asked).toEqual([hi.to]);
    expect(box.sent).toHaveLength(2);
  });

  it("leaves a reading tool alone", async () => {
    const scene = await openScene();
    const test = generation.makeServer();
    guardMcpServer(test.server, scene.worker("A").calls);
    let reads = 0;
    const read = () => ({ content: [{ type: "text", text: `${++reads}` }] });
    const registered = test.register("get_weather", { annotations: { readOnlyHint: true } }, read);
    expect(registered.handler).toBe(read);
    const client = await generation.connect(test);
    expect(await client.call("get_weather")).toEqual({ content: [{ type: "text", text: "1" }] });
    expect(textsOf(await client.call("get_weather"))).toEqual(["2"]);
  });
});
