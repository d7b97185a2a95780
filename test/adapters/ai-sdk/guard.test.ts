import { jsonSchema } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callOf, guardTool, guardTools, type ToolCallOptions } from "../../../client/adapters/ai-sdk/index.js";
import { type ErrorCode, OnceKvError } from "../../../src/base/errors.js";
import { defineTool, guardTools as guardOfAnyMake } from "../../../src/tools/index.js";
import { adviceByCode, failureText, nothingBegun, replayNote } from "../../../src/tools/model-text.js";
import { openScene, outcomeOf, SlowTool, settled } from "../../tool-calls/scene.js";
import { drivers, emit } from "./drivers.js";

const mail = z.object({ to: z.string().trim(), urgent: z.boolean().default(false) });
const hi = { to: "ann@example.com" };

/** A mailbox and its tool, in the form of the SDK. */
function mailbox() {
  const sent: { readonly to: string; readonly urgent: boolean }[] = [];
  const entered: ToolCallOptions[] = [];
  const send_email = {
    description: "Sends a mail.",
    inputSchema: mail,
    execute: async (input: z.infer<typeof mail>, options: ToolCallOptions) => {
      entered.push(options);
      return { message: sent.push(input) };
    },
  };
  return { sent, entered, send_email };
}

/** A refusal as the model reads it. */
function refused(code: ErrorCode, message: unknown, more: object = {}) {
  return { type: "json", value: { refused: true, code, message, ...more } };
}

function answered(result: unknown, was_replay: boolean, more: object = {}) {
  return { type: "json", value: { result, was_replay, original_called_at: expect.any(String), ...more } };
}

describe.each(drivers)("tools of the AI SDK $version under a guard", ({ generate, stream, version }) => {
  it("fire once for a call that the model emits twice in one step, and again in a later one", async () => {
    const { worker } = await openScene();
    const { sent, send_email } = mailbox();
    const tools = guardTools({ send_email }, worker("A").calls, { scope: "turn-1" });
    const spelledOut = { to: " ann@example.com ", urgent: false };
    const { seen } = await generate({
      steps: [[emit("send_email", hi), emit("send_email", spelledOut)], [emit("send_email", hi)]],
      tools,
    });
    expect(sent).toHaveLength(1);
    const [first, second, third] = seen;
    expect(first).toEqual(answered({ message: 1 }, false));
    expect(second).toEqual(answered({ message: 1 }, true, { note: expect.any(String) }));
    const { original_called_at } = (third as { value: { original_called_at: string } }).value;
    expect(third).toEqual(answered({ message: 1 }, true, { note: replayNote(original_called_at, undefined) }));
  });

  it("fire again in another turn, and are refused at once where nothing says which turn", async () => {
    const { worker } = await openScene();
    const { sent, send_email } = mailbox();
    const { calls } = worker("A");
    for (const scope of ["turn-1", "turn-2"]) {
      await generate({ steps: [[emit("send_email", hi)]], tools: guardTools({ send_email }, calls, { scope }) });
    }
    expect(sent).toHaveLength(2);
    expect(() => guardTools({ send_email }, calls)).toThrow(/scope: is needed for the tool "send_email"/);
    expect(sent).toHaveLength(2);
  });

  it("replay in the next process what the last one did before it died", async () => {
    const { worker } = await openScene();
    const { sent, send_email } = mailbox();
    const options = { scope: "turn-1" };
    await generate({
      steps: [[emit("send_email", hi)]],
      tools: guardTools({ send_email }, worker("A").calls, options),
    });
    // The conversation was lost with the process, and the model is asked the same again.
    const again = guardTools({ send_email }, worker("B").calls, options);
    const { seen } = await stream({ steps: [[emit("send_email", hi)]], tools: again });
    expect(seen).toEqual([answered({ message: 1 }, true, { note: expect.stringContaining("Nothing was done again") })]);
    expect(sent).toHaveLength(1);
  });

  it("say that nobody knows when the last process died in the tool, and not to try other arguments", async () => {
    const { worker, advance } = await openScene();
    const slow = new SlowTool();
    const rules = { deploy: { times: { pendingTtl: 30 } } };
    const deploy = {
      inputSchema: z.object({ app: z.string() }),
      execute: (_: object, { abortSignal }: ToolCallOptions) => slow.run({ signal: abortSignal as AbortSignal }),
    };
    const first = worker("A");
    void generate({
      steps: [[emit("deploy", { app: "shop" })]],
      tools: guardTools({ deploy }, first.calls, { scope: "t", rules }),
    });
    await settled();
    await settled();
    expect(slow.fires).toBe(1);
    first.network.down = true;
    await advance(31);
    const tools = guardTools({ deploy }, worker("B").calls, { scope: "t", rules });
    const { seen } = await generate({ steps: [[emit("deploy", { app: "shop" })]], tools });
    expect(seen).toEqual([refused("needs_review", adviceByCode.needs_review)]);
    expect(slow.fires).toBe(1);
  });

  it("take other arguments under the same key for a conflict, which the model reads as an output", async () => {
    const { worker } = await openScene();
    const { sent, send_email } = mailbox();
    const rules = { send_email: { key: () => "order-7" } };
    const { seen } = await generate({
      steps: [[emit("send_email", hi)], [emit("send_email", { to: "bob@example.com" })]],
      tools: guardTools({ send_email }, worker("A").calls, { rules }),
    });
    expect(seen[1]).toEqual(refused("idempotency_conflict", adviceByCode.idempotency_conflict));
    expect(sent).toHaveLength(1);
  });

  it("say that the call is still running, when it is", async () => {
    const { worker } = await openScene();
    const slow = new SlowTool();
    const book = {
      inputSchema: z.object({ seat: z.string() }),
      execute: (_: object, { abortSignal }: ToolCallOptions) => slow.run({ signal: abortSignal as AbortSignal }),
    };
    const options = { scope: "t", rules: { book: { times: { waitTimeout: 0 } } } };
    const first = generate({
      steps: [[emit("book", { seat: "1A" })]],
      tools: guardTools({ book }, worker("A").calls, options),
    });
    await settled();
    const tools = guardTools({ book }, worker("B").calls, options);
    const { seen } = await generate({ steps: [[emit("book", { seat: "1A" })]], tools });
    expect(seen).toEqual([refused("call_in_flight", adviceByCode.call_in_flight, { retry_after: expect.any(Number) })]);
    slow.end(0, "booked");
    expect((await first).seen).toEqual([answered("booked", false)]);
    expect(slow.fires).toBe(1);
  });

  it("tell of a failure what the next call will meet, and the next call meets it", async () => {
    const { worker } = await openScene();
    const thrown = { send: { message: "no such address", outcome: "failed" }, pay: { message: "timeout" } };
    let fires = 0;
    const failing = (name: keyof typeof thrown) => ({
      inputSchema: z.object({}),
      execute: async () => {
        fires += 1;
        throw Object.assign(new Error(thrown[name].message), thrown[name]);
      },
    });
    const tools = guardTools({ send: failing("send"), pay: failing("pay") }, worker("A").calls, { scope: "t" });
    const { seen } = await generate({
      steps: [
        [emit("send", {}), emit("pay", {})],
        [emit("send", {}), emit("pay", {})],
      ],
      tools,
    });
    expect(seen).toEqual([
      refused("tool_call_failed", failureText("failed", "no such address.")),
      refused("needs_review", failureText("unknown", "timeout.")),
      refused("tool_call_failed", expect.stringContaining(String(adviceByCode.tool_call_failed))),
      refused("needs_review", adviceByCode.needs_review),
    ]);
    expect(fires).toBe(2);
  });

  it("say that nothing was done when the store gives no answer", async () => {
    const { worker } = await openScene();
    const { sent, send_email } = mailbox();
    const { calls, network } = worker("A");
    network.down = true;
    const tools = guardTools({ send_email }, calls, {
      scope: "t",
      rules: { send_email: { times: { waitTimeout: 0 } } },
    });
    const { seen } = await generate({ steps: [[emit("send_email", hi)]], tools });
    expect(seen).toMatchObject([{ type: "json", value: { refused: true, message: nothingBegun } }]);
    expect(sent).toHaveLength(0);
  });

  it("throw instead of answering where the options say so", async () => {
    const { worker } = await openScene();
    const { send_email } = mailbox();
    const rules = { send_email: { key: () => "order-7" } };
    const tools = guardTools({ send_email }, worker("A").calls, { rules, refusals: "throw" });
    const { seen } = await generate({ steps: [[emit("send_email", hi)], [emit("send_email", { to: "bob" })]], tools });
    expect(seen[1]).toMatchObject({ type: "error-text" });
  });

  it("keep the call id in the record, and find the scope in the context", async () => {
    const { worker } = await openScene();
    const { sent, entered, send_email } = mailbox();
    const { calls } = worker("A");
    const scopeOf = ({ experimental_context, context }: ToolCallOptions) =>
      (experimental_context ?? context ?? {}) instanceof Object
        ? Reflect.get(Object(experimental_context ?? context), "turn")
        : undefined;
    const tools = guardTools({ send_email }, calls, { scopeOf });
    const call = emit("send_email", hi);
    const context = version === 6 ? { turn: "turn-9" } : { send_email: { turn: "turn-9" } };
    await generate({ steps: [[call], [emit("send_email", hi)]], tools, context });
    expect(sent).toHaveLength(1);
    const { calls: records } = await calls.list({ scope: "turn-9" });
    expect(records).toMatchObject([
      { fields: { extra: { tool_call_id: call.id }, key: expect.stringMatching(/^turn-9\//) } },
    ]);
    expect(entered[0]).toMatchObject({ toolCallId: call.id, messages: expect.any(Array) });
    expect(Object.getOwnPropertySymbols(entered[0])).toEqual([]);
  });

  it("find their call, with the key for the service behind them", async () => {
    const { worker } = await openScene();
    const keys: unknown[] = [];
    const charge = {
      inputSchema: jsonSchema<{ cents: number }>({ type: "object", properties: { cents: { type: "number" } } }),
      execute: async (_: { cents: number }, options: ToolCallOptions) => {
        keys.push(callOf(options)?.headers);
        return options.abortSignal === callOf(options)?.signal;
      },
    };
    const tools = guardTools({ charge }, worker("A").calls, { scope: "t" });
    const { seen } = await generate({ steps: [[emit("charge", { cents: 1 })]], tools: tools as never });
    expect(seen).toEqual([answered(true, false)]);
    expect(keys).toEqual([{ "Idempotency-Key": expect.stringMatching(/^t\/charge:/) }]);
  });

  it("record what they did when the caller has left while they ran", async () => {
    const { worker } = await openScene();
    const slow = new SlowTool();
    const book = {
      inputSchema: z.object({}),
      execute: async (_: object, { abortSignal }: ToolCallOptions) => slow.run({ signal: abortSignal as AbortSignal }),
    };
    const caller = new AbortController();
    const options = { scope: "t" };
    const tools = guardTools({ book }, worker("A").calls, options);
    const left = outcomeOf(generate({ steps: [[emit("book", {})]], tools, abortSignal: caller.signal }));
    await settled();
    caller.abort(new Error("the page was closed"));
    expect(slow.signals[0]?.aborted).toBe(true);
    slow.end(0, "seat 1A");
    await left;
    const again = await generate({
      steps: [[emit("book", {})]],
      tools: guardTools({ book }, worker("B").calls, options),
    });
    expect(again.seen).toEqual([answered("seat 1A", true, { note: expect.any(String) })]);
    expect(slow.fires).toBe(1);
  });

  it("of defineTool are entered by their definition, and guard as well", async () => {
    const { worker } = await openScene();
    const sent: string[] = [];
    const pay = defineTool({
      name: "pay_invoice",
      description: "Pays.",
      args: z.object({ invoice: z.string() }),
      effect: "irreversible",
      key: ({ invoice }) => invoice,
      execute: async ({ invoice }, call) => `${sent.push(invoice)} ${call.key}`,
    });
    const tools = guardTools({ pay }, worker("A").calls);
    const { seen } = await generate({
      steps: [[emit("pay", { invoice: "i-1" }), emit("pay", { invoice: "i-1" })]],
      tools,
    });
    expect(seen).toMatchObject([
      { value: { result: "1 pay_invoice:i-1", was_replay: false } },
      { value: { was_replay: true } },
    ]);
    expect(sent).toEqual(["i-1"]);
  });
});

describe("a guarded set of the AI SDK's tools", () => {
  it("leaves alone what only reads, what is not executed here, what it is told to, and what is guarded already", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const { send_email } = mailbox();
    const tools = {
      send_email,
      get_weather: { inputSchema: z.object({}), execute: async () => "rain" },
      ask_user: { inputSchema: z.object({ question: z.string() }), outputSchema: z.string() },
      web_search: { type: "provider" as const, id: "openai.web_search" as const, args: {}, inputSchema: z.object({}) },
      update_status: { inputSchema: z.object({}), execute: async () => "done" },
    };
    const guarded = guardTools(tools, calls, { scope: "t", leave: ["update_status"] });
    expect(Object.keys(guarded)).toEqual(Object.keys(tools));
    for (const name of ["get_weather", "ask_user", "web_search", "update_status"] as const) {
      expect(guarded[name]).toBe(tools[name]);
    }
    expect(guarded.send_email).not.toBe(send_email);
    expect(guarded.send_email).toMatchObject({ description: "Sends a mail.", inputSchema: mail });
    expect(guardTools(guarded, calls, { scope: "t", leave: ["update_status"] }).send_email).toBe(guarded.send_email);
    expect(guardTool(guarded.send_email, calls, { name: "send_email", scope: "t" })).toBe(guarded.send_email);
    const general = guardOfAnyMake({ send_email }, calls, { scope: "t" });
    expect(guardTools(general, calls, { scope: "t" }).send_email).toBe(general.send_email);
    expect(guardOfAnyMake(guarded, calls, { scope: "t", leave: ["update_status"] }).send_email).toBe(
      guarded.send_email,
    );
  });

  it("is refused with an option that is none, and a single tool without its name", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const { send_email } = mailbox();
    const refusedWith = (options: object, act: (options: never) => unknown): unknown => {
      try {
        return act(options as never);
      } catch (error) {
        return error instanceof OnceKvError ? Reflect.get(error, "path") : error;
      }
    };
    const set = (options: never) => guardTools({ send_email }, calls, options);
    const one = (options: never) => guardTool(send_email, calls, options);
    expect(refusedWith({ isInterrupt: () => true }, set)).toBe("isInterrupt");
    expect(refusedWith({ scopeOf: "t" }, set)).toBe("scopeOf");
    expect(refusedWith({ refusals: "hide" }, set)).toBe("refusals");
    expect(refusedWith({ rules: { send_mail: {} } }, set)).toBe("rules.send_mail");
    expect(refusedWith({}, one)).toBe("name");
    expect(refusedWith({ name: "send_email", leave: [] }, one)).toBe("leave");
    expect(refusedWith({ name: "send_email", scope: "t", rules: { pay: {} } }, one)).toBe("rules.pay");
    expect(refusedWith({}, (options) => guardTools([send_email] as never, calls, options))).toBe("tools");
  });
});
