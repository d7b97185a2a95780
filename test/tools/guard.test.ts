import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { CallParkedError, NeedsReviewError, type ToolCall } from "../../src/tool-calls/index.js";
import { defineTool, explainTools, guardTool, guardTools, type ToolEnvelope } from "../../src/tools/index.js";
import { adviceByCode } from "../../src/tools/model-text.js";
import { openScene, outcomeOf, SlowTool } from "../tool-calls/scene.js";
import { Mailbox } from "./tool-scene.js";

const hi = { to: "ann@example.com", subject: "hi" };

/** Tools in the form of the AI SDK: their names are those of the record. */
function frameworkTools() {
  const seen: {
    readonly self: unknown;
    readonly args: unknown;
    readonly options: unknown;
    readonly rest: unknown[];
  }[] = [];
  const tools = {
    createIssue: {
      description: "Creates an issue.",
      inputSchema: z.object({ title: z.string() }),
      async execute(
        this: unknown,
        input: { title: string },
        options: { toolCallId: string; messages: unknown[]; abortSignal?: AbortSignal },
        ...rest: unknown[]
      ) {
        seen.push({ self: this, args: input, options, rest });
        return { number: seen.length };
      },
    },
    getIssue: { inputSchema: z.object({}), execute: async () => ({ title: "a bug" }) },
    askUser: { description: "Is run by the client.", inputSchema: z.object({}) },
  };
  return { tools, seen };
}

describe("a guarded set of tools", () => {
  it("wraps what has side effects, and leaves the other objects as they are", async () => {
    const { worker } = await openScene();
    const { tools } = frameworkTools();
    const guarded = guardTools(tools, worker("A").calls, { scope: "turn-1" });
    expect(Object.keys(guarded)).toEqual(["createIssue", "getIssue", "askUser"]);
    expect(guarded.getIssue).toBe(tools.getIssue);
    expect(guarded.askUser).toBe(tools.askUser);
    expect(guarded.createIssue).not.toBe(tools.createIssue);
    expect(guarded.createIssue).toMatchObject({
      description: "Creates an issue.",
      inputSchema: tools.createIssue.inputSchema,
    });
  });

  it("keeps its order as a list, and takes tools of both makes", async () => {
    const { worker } = await openScene();
    const box = new Mailbox();
    const reader = { name: "get_weather", execute: () => "rain" };
    const [mail, weather] = guardTools([box.tool, reader], worker("A").calls, { scope: "turn-1" });
    expect(weather).toBe(reader);
    expect(await mail.execute(hi)).toMatchObject({ result: { message: 1 } });
  });

  it("enters a framework's tool with itself, its options, the claim's signal and the call", async () => {
    const { worker } = await openScene();
    const { tools, seen } = frameworkTools();
    const { createIssue } = guardTools(tools, worker("A").calls, { scopeOf: () => "turn-1" });
    const messages = ["hello"];
    const { signal } = new AbortController();
    const options = { toolCallId: "call-1", messages, abortSignal: signal };
    expect(await createIssue.execute({ title: "bug" }, options)).toMatchObject({
      result: { number: 1 },
      was_replay: false,
    });
    expect(seen).toMatchObject([
      {
        self: tools.createIssue,
        args: { title: "bug" },
        options: { toolCallId: "call-1", messages, abortSignal: expect.any(AbortSignal) },
        rest: [{ tool: "createIssue", key: expect.stringMatching(/^turn-1\/createIssue:/), attempt: 1 }],
      },
    ]);
    expect(seen[0]?.options).not.toHaveProperty("abortSignal", signal);
    const again = { toolCallId: "call-2", messages: [] };
    expect(await createIssue.execute({ title: "bug" }, again)).toMatchObject({ was_replay: true });
    expect(seen).toHaveLength(1);
  });

  it("aborts the tool's signal when its claim is lost", async () => {
    const { worker, advance } = await openScene();
    const { calls, network } = worker("A");
    let signal: AbortSignal | undefined;
    const tool = {
      name: "deploy",
      execute: (_: object, options: { signal: AbortSignal }) => {
        signal = options.signal;
        return new Promise<never>(() => {});
      },
    };
    const rules = { deploy: { times: { pendingTtl: 30 } } };
    const own = new AbortController().signal;
    void outcomeOf(guardTool(tool, calls, { scope: "t", rules }).execute({}, { signal: own }));
    await advance(1);
    expect(signal?.aborted).toBe(false);
    network.down = true;
    await advance(40);
    expect(signal?.reason).toMatchObject({ code: "claim_lost" });
    expect(own.aborted).toBe(false);
  });

  it("can be guarded again without a call waiting for itself", async () => {
    const { worker } = await openScene();
    const box = new Mailbox();
    const { calls } = worker("A");
    const once = guardTools({ mail: box.tool }, calls, { scope: "turn-1" });
    const twice = guardTools(once, calls, { scope: "turn-1" });
    expect(twice.mail).toBe(once.mail);
    const copied = guardTool({ ...once.mail }, calls, { scope: "turn-1", rules: { send_email: { marks: true } } });
    expect(copied.execute).toBe(once.mail.execute);
    expect(await copied.execute(hi)).toMatchObject({ was_replay: false });
  });

  it("leaves alone what it is told to, but nothing that declares an effect", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const status = { name: "get_update_status", execute: () => "done" };
    expect(guardTools([status], calls)[0]).not.toBe(status);
    expect(guardTools([status], calls, { leave: ["get_update_status"] })[0]).toBe(status);
    const declared = { ...status, name: "look" };
    const rules = { look: { effect: "writes" } } as const;
    expect(() => guardTools([declared], calls, { rules, leave: ["look"] })).toThrow(/declares the effect/);
  });

  it("is refused when a name is missing, shared or no tool's, and when an option is none", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const pay = { name: "pay", execute: () => 1 };
    const refused: readonly [unknown, object, string][] = [
      [[{ execute: () => 1 }], {}, "tools[0]"],
      [[pay, { ...pay }], {}, "tools[1]"],
      [[7], {}, "tools[0]"],
      [[{ name: "pay", execute: "now" }], {}, "tools[0].execute"],
      [7, {}, "tools"],
      [[pay], { rules: { pays: {} } }, "rules.pays"],
      [[pay], { rules: { pay: { keys: 1 } } }, "rules.pay.keys"],
      [[pay], { rules: { pay: { effect: "big" } } }, "rules.pay.effect"],
      [[{ ...pay }], { rules: { pay: { effect: "irreversible", policy: "refire" } } }, "rules.pay.policy"],
      [
        [new Mailbox().tool],
        { rules: { send_email: { policy: "refire", key: undefined } } },
        "rules.send_email.policy",
      ],
      [[pay], { leave: ["pays"] }, "leave"],
      [[pay], { leave: "pay" }, "leave"],
      [[pay], { scope: 7 }, "scope"],
      [[pay], { scopeOf: "turn" }, "scopeOf"],
      [[pay], { envelope: "yes" }, "envelope"],
      [[pay], { refusals: "hide" }, "refusals"],
      [[pay], { similar: {} }, "similar"],
      [[pay], { isInterrupt: 1 }, "isInterrupt"],
      [[pay], { scopes: "turn" }, "scopes"],
      [[{ ...pay, toModelOutput: () => "" }], {}, "envelope"],
      [[{ ...pay, outputSchema: {} }], {}, "envelope"],
    ];
    for (const [tools, options, path] of refused) {
      expect(() => guardTools(tools as never, calls, options), path).toThrow(
        expect.objectContaining({ code: "invalid_request", path }),
      );
    }
    expect(() => guardTool({ name: "ask" }, calls)).toThrow(/nothing to execute/);
  });

  it("is explained, tool by tool", () => {
    const { tools } = frameworkTools();
    expect(explainTools(tools, { rules: { createIssue: { mechanism: "transaction" } } })).toMatchObject({
      createIssue: {
        sideEffect: true,
        mechanism: "transaction",
        policy: "refire",
        reasons: [expect.stringContaining("create"), expect.stringContaining("harmless")],
      },
      getIssue: { sideEffect: false, reasons: [expect.stringContaining("get")] },
      askUser: { sideEffect: false, reasons: ["it is not executed here"] },
    });
  });
});

describe("what a guarded tool answers", () => {
  it("is the bare result, or whatever a function makes of the outcome, where that is asked for", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const box = new Mailbox();
    const options = { scope: "turn-1" };
    const bare = await guardTool(box.tool, calls, { ...options, envelope: false }).execute(hi);
    expect(bare).toEqual({ message: 1 });
    const own = await guardTool(box.tool, calls, {
      ...options,
      envelope: ({ result, was_replay }) => ({ content: [{ type: "text", text: JSON.stringify(result) }], was_replay }),
    }).execute(hi);
    expect(own).toEqual({ content: [{ type: "text", text: `{"message":1}` }], was_replay: true });
  });

  it("says that the tool has run when its result was too large to keep", async () => {
    const { worker } = await openScene();
    const tool = { name: "export_all", execute: () => "x".repeat(2 ** 21) };
    const { execute } = guardTool(tool, worker("A").calls, { scope: "turn-1" });
    expect((await execute({})).result).toHaveLength(2 ** 21);
    expect(await execute({})).toMatchObject({ result: undefined, was_replay: true, result_omitted: "too_large" });
  });

  it("is an error by its class and code, never a failure in the place of a result", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const declined = Object.assign(new Error("card declined"), { outcome: "failed" });
    const pay = { name: "pay", execute: () => Promise.reject(declined) };
    const { execute } = guardTool(pay, calls, { scope: "turn-1" });
    await expect(execute({})).rejects.toBe(declined);
    expect(await outcomeOf(execute({}))).toMatchObject({ code: "tool_call_failed", was_replay: true });
    const told = guardTool(pay, calls, { scope: "turn-1", refusals: "return" });
    expect(await told.execute({})).toMatchObject({ refused: true, message: expect.stringContaining("card declined") });
    const closed = { name: "wire", execute: () => Promise.reject(new Error("timed out")) };
    const wire = guardTool(closed, calls, { scope: "turn-1", refusals: "return" });
    await expect(wire.execute({})).rejects.toThrow("timed out");
    expect(await wire.execute({})).toMatchObject({
      code: "needs_review",
      message: expect.stringContaining("Do not call again"),
    });
    expect(await outcomeOf(guardTool(closed, calls, { scope: "turn-1" }).execute({}))).toBeInstanceOf(NeedsReviewError);
  });

  it("is not what a tool does that parks its call: the caller hears that it is parked", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const tool = { name: "pay", execute: async (_: object, __?: object, call?: ToolCall) => call?.park("ask first") };
    const options = { scope: "turn-1", failures: "return" } as const;
    expect(await outcomeOf(guardTool(tool, calls, options).execute({}))).toBeInstanceOf(CallParkedError);
    expect(await guardTool(tool, calls, { ...options, refusals: "return" }).execute({})).toMatchObject({
      refused: true,
      code: "call_parked",
    });
  });

  it("is put into words by how it ended: failed for good, to be tried again, or in doubt", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const fails = (name: string, outcome?: "failed" | "retryable") => ({
      name,
      execute: () => Promise.reject(Object.assign(new Error("no such card"), outcome === undefined ? {} : { outcome })),
    });
    const answers = [];
    for (const tool of [fails("pay", "failed"), fails("refund", "retryable"), fails("wire")]) {
      answers.push(await guardTool(tool, calls, { scope: "turn-1", failures: "return" }).execute({}));
    }
    expect(answers).toEqual([
      {
        refused: true,
        code: "tool_call_failed",
        message:
          "The call has failed, and had no effect: no such card. The same call will fail again; report this to the user.",
      },
      {
        refused: true,
        code: "tool_call_failed",
        message:
          "The call has no result: no such card. It may be made again, with exactly the same arguments; do not change them.",
        retry_after: 0,
      },
      {
        refused: true,
        code: "needs_review",
        message: expect.stringMatching(/no such card.*is not known.*Do not call/),
      },
    ]);
    // Without the option the throw goes on, as it is.
    await expect(guardTool(fails("post"), calls, { scope: "turn-1", refusals: "return" }).execute({})).rejects.toThrow(
      "no such card",
    );
  });

  it("is not known when the claim was lost on the way, whatever a later attempt came to, and names no key", async () => {
    const { worker, advance } = await openScene();
    const [first, second] = [worker("A"), worker("B")];
    const tool = new SlowTool();
    const rules = { pay: { mechanism: "downstream_key" } } as const;
    const options = { scope: "turn-1", rules, failures: "return", refusals: "return" } as const;
    const pay = { name: "pay", execute: (_: object, __: unknown, call: ToolCall) => tool.run(call) };
    const answer = guardTool(pay, first.calls, options).execute({});
    await advance(1);
    first.network.down = true;
    await advance(400);
    const declined = {
      name: "pay",
      execute: () => Promise.reject(Object.assign(new Error("no"), { outcome: "failed" })),
    };
    await guardTool(declined, second.calls, options).execute({});
    first.network.down = false;
    tool.break(0, tool.signals[0]?.reason);
    expect(await answer).toEqual({ refused: true, code: "claim_lost", message: adviceByCode.claim_lost });
  });

  it("is refused in words when the store fails before the tool is begun: nothing was done", async () => {
    const { worker, store } = await openScene();
    const { calls } = worker("A");
    let runs = 0;
    const pay = {
      name: "pay",
      execute: () => {
        runs += 1;
      },
    };
    const { execute } = guardTool(pay, calls, { scope: "turn-1", refusals: "return" });
    await store.close();
    expect(await execute({})).toMatchObject({
      refused: true,
      code: "store_closed",
      message: expect.stringMatching(/^This call did nothing/),
    });
    expect(runs).toBe(0);
  });

  it("says on a replay that the result was not kept, also where answers are bare", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const render = { name: "render_film", execute: () => "x".repeat(2 ** 21) };
    const { execute } = guardTool(render, calls, { scope: "turn-1", envelope: false });
    expect(await execute({})).toHaveLength(2 ** 21);
    expect(await execute({})).toContain("its result was not kept");
  });

  it("streams from a tool that does: its chunks, then the answer; a replay has the final result alone", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    let runs = 0;
    const tool = {
      name: "write_report",
      async *execute(_: { about: string }) {
        runs += 1;
        yield "a";
        yield "ab";
      },
    };
    const { execute } = guardTool(tool, calls, { scope: "turn-1" });
    const read = async () => {
      const chunks = [];
      for await (const chunk of execute({ about: "it" })) chunks.push(chunk);
      return chunks;
    };
    expect(await read()).toMatchObject(["a", "ab", { result: "ab", was_replay: false }]);
    expect(await read()).toMatchObject(["ab", { result: "ab", was_replay: true }]);
    const bare = guardTool(tool, calls, { scope: "turn-1", envelope: false }).execute({ about: "it" });
    expect(await bare.next()).toEqual({ done: false, value: "ab" });
    expect(await bare.next()).toEqual({ done: true, value: undefined });
    const conflict = guardTool(tool, calls, { scope: null, rules: { write_report: { key: () => "one" } } });
    expect(await conflict.execute({ about: "it" }).next()).toMatchObject({ value: "a" });
    await expect(conflict.execute({ about: "more" }).next()).rejects.toMatchObject({ code: "idempotency_conflict" });
    expect(runs).toBe(2);
  });

  it("is typed by the tool and by the options", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const tool = defineTool({
      name: "pay",
      args: z.object({ amount: z.number().default(1) }),
      effect: "writes",
      key: (args) => String(args.amount),
      execute: async (args, call) => {
        expectTypeOf(args).toEqualTypeOf<{ amount: number }>();
        expectTypeOf(call.fencingToken).toEqualTypeOf<number>();
        return { paid: args.amount };
      },
    });
    expectTypeOf(guardTool(tool, calls).execute).parameter(0).toEqualTypeOf<{ amount?: number | undefined }>();
    expectTypeOf(await guardTool(tool, calls).execute({})).toEqualTypeOf<ToolEnvelope<{ paid: number }>>();
    const bare = guardTool(tool, calls, { envelope: false });
    expectTypeOf(await bare.execute({})).toEqualTypeOf<{ paid: number }>();
    const own = guardTool(tool, calls, { envelope: ({ key }) => key });
    expectTypeOf(await own.execute({})).toEqualTypeOf<string>();
    const set = guardTools({ tool }, calls);
    expectTypeOf(await set.tool.execute({})).toEqualTypeOf<{ paid: number } | ToolEnvelope<{ paid: number }>>();
    const reader = defineTool({
      name: "get",
      args: z.object({}),
      effect: "reads",
      execute: (_, call) => {
        // @ts-expect-error what only reads has no claim
        void call.fencingToken;
        return 1;
      },
    });
    expect(await reader.execute({})).toBe(1);
  });
});
