import * as v6 from "ai";
import { MockLanguageModelV3 } from "ai/test";
import * as v7 from "ai-7";
import { MockLanguageModelV4 } from "ai-7/test";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { callOf, guardTool, guardTools } from "../../../client/adapters/ai-sdk/index.js";
import { defineTool, type ToolEnvelope, type ToolRefusal } from "../../../src/tools/index.js";
import { openScene } from "../../tool-calls/scene.js";

const mail = z.object({ to: z.string(), urgent: z.boolean().default(false) });

/** Tools of every kind that version 6 knows, and plain objects. */
function toolsOf6() {
  return {
    send_email: v6.tool({
      description: "Sends a mail.",
      inputSchema: mail,
      needsApproval: async ({ to }) => to !== "ann",
      execute: async ({ to, urgent }, { toolCallId, abortSignal }) => ({
        sent: `${to} ${urgent} ${toolCallId} ${abortSignal}`,
      }),
    }),
    write_report: v6.tool({
      inputSchema: z.object({ topic: z.string() }),
      async *execute({ topic }) {
        yield { text: topic };
      },
    }),
    charge: v6.tool({
      inputSchema: z.object({ cents: z.number() }),
      outputSchema: z.object({ id: z.string() }),
      execute: async () => ({ id: "c-1" }),
      toModelOutput: ({ output }) => ({ type: "text", value: output.id }),
    }),
    book: v6.tool({
      inputSchema: v6.jsonSchema<{ seat: string }>({ type: "object", properties: { seat: { type: "string" } } }),
      execute: ({ seat }) => seat.length,
    }),
    post_note: { inputSchema: mail, execute: async ({ to }: z.infer<typeof mail>) => to },
    call_remote: v6.dynamicTool({ inputSchema: z.object({}), execute: async () => 1 }),
    pay: defineTool({ name: "pay", args: mail, effect: "irreversible", execute: async () => 1 }),
    get_weather: v6.tool({ inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => city }),
    ask_user: v6.tool({ inputSchema: z.object({ question: z.string() }), outputSchema: z.string() }),
  };
}

function toolsOf7() {
  return {
    send_email: v7.tool({
      description: "Sends a mail.",
      inputSchema: mail,
      contextSchema: z.object({ turn: z.string() }),
      execute: async ({ to, urgent }, { toolCallId, context }) => ({
        sent: `${to} ${urgent} ${toolCallId} ${context.turn}`,
      }),
    }),
    write_report: v7.tool({
      inputSchema: z.object({ topic: z.string() }),
      async *execute({ topic }) {
        yield { text: topic };
      },
    }),
    charge: v7.tool({
      inputSchema: z.object({ cents: z.number() }),
      outputSchema: z.object({ id: z.string() }),
      execute: async () => ({ id: "c-1" }),
      toModelOutput: ({ output }) => ({ type: "text", value: output.id }),
    }),
    book: v7.tool({
      inputSchema: v7.jsonSchema<{ seat: string }>({ type: "object", properties: { seat: { type: "string" } } }),
      execute: ({ seat }) => seat.length,
    }),
    post_note: { inputSchema: mail, execute: async ({ to }: z.infer<typeof mail>) => to },
    call_remote: v7.dynamicTool({ inputSchema: z.object({}), execute: async () => 1 }),
    pay: defineTool({ name: "pay", args: mail, effect: "irreversible", execute: async () => 1 }),
    get_weather: v7.tool({ inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => city }),
    ask_user: v7.tool({ inputSchema: z.object({ question: z.string() }), outputSchema: z.string() }),
  };
}

interface Sent {
  sent: string;
}

describe("the types of a guarded set of tools", () => {
  it("are those of the AI SDK 6: what goes in stays typed, and what comes out is an envelope or a refusal", async () => {
    const { worker } = await openScene();
    const own = toolsOf6();
    const tools = guardTools(own, worker("A").calls, { scope: "turn-1" });
    tools satisfies v6.ToolSet;
    const agent = new v6.ToolLoopAgent({ model: new MockLanguageModelV3(), tools });
    expectTypeOf(agent.tools).toEqualTypeOf(tools);
    const ask = () =>
      v6.generateText({ model: new MockLanguageModelV3(), tools, prompt: "", stopWhen: v6.stepCountIs(3) });
    const stream = () => v6.streamText({ model: new MockLanguageModelV3(), tools, prompt: "" });
    expect([typeof ask, typeof stream]).toEqual(["function", "function"]);
    type Call = Awaited<ReturnType<typeof ask>>["staticToolCalls"][number];
    expectTypeOf<Extract<Call, { toolName: "send_email" }>["input"]>().toEqualTypeOf<{ to: string; urgent: boolean }>();
    expectTypeOf<Extract<Call, { toolName: "book" }>["input"]>().toEqualTypeOf<{ seat: string }>();
    type Result = Awaited<ReturnType<typeof ask>>["staticToolResults"][number];
    type Sending = Extract<Result, { toolName: "send_email" }>["output"];
    expectTypeOf<Sending>().toEqualTypeOf<Sent | ToolEnvelope<Sent> | ToolRefusal>();
    type Charging = Extract<Result, { toolName: "charge" }>["output"];
    expectTypeOf<Charging>().toEqualTypeOf<{ id: string } | ToolEnvelope<{ id: string }> | ToolRefusal>();
    expectTypeOf<Extract<Result, { toolName: "get_weather" }>["input"]>().toEqualTypeOf<{ city: string }>();
    expectTypeOf<v6.InferUITools<typeof tools>["send_email"]["input"]>().toEqualTypeOf<{
      to: string;
      urgent: boolean;
    }>();
    const one = guardTool(own.send_email, worker("A").calls, { name: "send_email", scope: "t" });
    ({ one }) satisfies v6.ToolSet;
    expectTypeOf<v6.InferToolOutput<typeof one>>().toEqualTypeOf<Sent | ToolEnvelope<Sent> | ToolRefusal>();
    const plain = guardTool(own.post_note, worker("A").calls, { name: "post_note", scope: "t" });
    expectTypeOf<v6.InferToolOutput<typeof plain>>().toEqualTypeOf<ToolEnvelope<string> | ToolRefusal>();
    const bare = guardTool(own.send_email, worker("A").calls, {
      name: "send_email",
      scope: "t",
      envelope: false,
      refusals: "throw",
      failures: "throw",
    });
    expectTypeOf<v6.InferToolOutput<typeof bare>>().toEqualTypeOf<Sent>();
  });

  it("are those of the AI SDK 7 as well", async () => {
    const { worker } = await openScene();
    const own = toolsOf7();
    const tools = guardTools(own, worker("A").calls, { scopeOf: ({ context }) => String(context) });
    tools satisfies v7.ToolSet;
    const toolsContext = { send_email: { turn: "t" } };
    const agent = new v7.ToolLoopAgent({ model: new MockLanguageModelV4(), tools, toolsContext });
    expectTypeOf(agent.tools).toEqualTypeOf(tools);
    const ask = () => v7.generateText({ model: new MockLanguageModelV4(), tools, toolsContext, prompt: "" });
    const stream = () => v7.streamText({ model: new MockLanguageModelV4(), tools, toolsContext, prompt: "" });
    expect([typeof ask, typeof stream]).toEqual(["function", "function"]);
    type Call = Awaited<ReturnType<typeof ask>>["staticToolCalls"][number];
    expectTypeOf<Extract<Call, { toolName: "send_email" }>["input"]>().toEqualTypeOf<{ to: string; urgent: boolean }>();
    type Result = Awaited<ReturnType<typeof ask>>["staticToolResults"][number];
    type Sending = Extract<Result, { toolName: "send_email" }>["output"];
    expectTypeOf<Sending>().toEqualTypeOf<Sent | ToolEnvelope<Sent> | ToolRefusal>();
    const one = guardTool(own.write_report, worker("A").calls, { name: "write_report", scope: "t" });
    ({ one }) satisfies v7.ToolSet;
    type Written = { text: string };
    expectTypeOf<v7.InferToolOutput<typeof one>>().toEqualTypeOf<Written | ToolEnvelope<Written> | ToolRefusal>();
  });

  it("know no call where there is none", () => {
    expect(callOf({})).toBeUndefined();
    expect(callOf(undefined)).toBeUndefined();
  });
});
