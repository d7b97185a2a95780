import { Agent, type RunContext, tool } from "@openai/agents";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { guardTool } from "../../../client/adapters/openai-agents/index.js";
import { openScene } from "../../tool-calls/scene.js";

interface Turn {
  readonly turn: string;
}

describe("the types of a guarded tool's options", () => {
  it("are those that tool() of the OpenAI Agents SDK takes, of every kind, and what goes in is inferred", async () => {
    const { worker } = await openScene();
    const { calls } = worker("A");
    const parameters = z.object({ to: z.string() });
    const plain = tool(
      guardTool(
        {
          name: "send_email",
          description: "Sends a mail.",
          parameters,
          needsApproval: async (_context, { to }) => to !== "ann",
          errorFunction: (_context, error) => `no: ${String(error)}`,
          isEnabled: ({ agent }) => agent !== undefined,
          timeoutMs: 5_000,
          execute: async ({ to }, runContext, details) =>
            `${to.trim()} ${String(runContext?.context)} ${details?.toolCall?.callId}`,
        },
        calls,
        { scope: "t" },
      ),
    );
    const lenient = tool(
      guardTool(
        {
          name: "book",
          description: "Books.",
          strict: false,
          parameters: {
            type: "object",
            properties: { seat: { type: "string" } },
            required: [],
            additionalProperties: true,
          },
          execute: async (input) => JSON.stringify(input),
        },
        calls,
        { scope: null },
      ),
    );
    const strict = tool(
      guardTool(
        {
          name: "cancel",
          description: "Cancels.",
          parameters: { type: "object", properties: {}, required: [], additionalProperties: false },
          errorFunction: null,
          execute: async (input) => String(input),
        },
        calls,
        { scope: "t", envelope: false },
      ),
    );
    const structured = tool(
      guardTool(
        {
          name: "charge",
          description: "Charges.",
          parameters,
          outputSchema: z.object({ id: z.string() }),
          execute: async ({ to }) => ({ id: to }),
        },
        calls,
        { scope: "t" },
      ),
    );
    const ofTurn = tool(
      guardTool(
        {
          name: "post",
          description: "Posts.",
          parameters,
          execute: async ({ to }, runContext?: RunContext<Turn>) => to + runContext?.context.turn,
        },
        calls,
        { scopeOf: ({ context }: RunContext<Turn>) => context.turn },
      ),
    );
    const agent = new Agent({ name: "a", tools: [plain, lenient, strict, structured] });
    const other = new Agent<Turn>({ name: "b", tools: [ofTurn] });
    expect([...agent.tools, ...other.tools].map(({ name }) => name)).toEqual([
      "send_email",
      "book",
      "cancel",
      "charge",
      "post",
    ]);
  });
});
