import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateText, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { openStore, toolCalls } from "oncekv";
import { guardTools } from "oncekv/adapters/ai-sdk";
import { z } from "zod";

// A model that emits a call twice, a crash, and the same turn once more. Run it: npx tsx examples/adapters/ai-sdk.ts

let effects = 0;
let emitted = 0;
const send_email = tool({
  description: "Sends a mail.",
  inputSchema: z.object({ to: z.string() }),
  execute: async ({ to }) => `mail ${++effects} to ${to}`,
});

/** A model by a script: it emits the call twice in a step, each time with ids of their own, and ends in its third step. */
function model(): MockLanguageModelV3 {
  const count = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0, text: 0, reasoning: 0 };
  const usage = { inputTokens: count, outputTokens: count };
  const call = () => {
    emitted += 1;
    return { type: "tool-call" as const, toolCallId: `call-${emitted}`, toolName: "send_email", input: '{"to":"ann"}' };
  };
  let step = 0;
  return new MockLanguageModelV3({
    doGenerate: async () => {
      step += 1;
      const content = step < 3 ? [call(), call()] : [{ type: "text" as const, text: "done" }];
      const unified = step < 3 ? ("tool-calls" as const) : ("stop" as const);
      return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
    },
  });
}

/** One life of the process: the agent works on the user's turn, and dies before its conversation is kept. */
async function life(dataDir: string): Promise<void> {
  const store = await openStore({ dataDir });
  const calls = toolCalls(store);
  const tools = guardTools({ send_email }, calls, { scope: "turn-1" }); // the one line
  const { steps } = await generateText({ model: model(), tools, prompt: "Mail Ann.", stopWhen: stepCountIs(5) });
  for (const { output } of steps.flatMap(({ toolResults }) => toolResults)) console.log(output);
  await calls.close();
  await store.close();
}

const dataDir = await mkdtemp(join(tmpdir(), "oncekv-ai-sdk-"));
await life(dataDir);
await life(dataDir);
await rm(dataDir, { recursive: true });
console.log(`${emitted} calls emitted, ${effects} effect`);
if (effects !== 1) process.exitCode = 1;
