import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, type Model, type RunContext, Runner, RunState, setTracingDisabled, tool, Usage } from "@openai/agents";
import { openStore, type ToolCalls, toolCalls } from "oncekv";
import { guardTool } from "oncekv/adapters/openai-agents";
import { z } from "zod";

// A model that emits a call twice, an approval, a crash, and the same resumption once more. Run it: npx tsx examples/adapters/openai-agents.ts

setTracingDisabled(true);
let effects = 0;
let emitted = 0;

/** The one line is `guardTool` around the options. */
function payment(calls: ToolCalls) {
  const parameters = z.object({ order: z.number() });
  const execute = async ({ order }: { order: number }) => `payment ${++effects} for order ${order}`;
  const options = { name: "pay", description: "Pays an order.", parameters, needsApproval: true, execute };
  return tool(guardTool(options, calls, { scopeOf: ({ context }: RunContext<{ turn: string }>) => context.turn }));
}

/** A model by a script: it emits the call twice in its first step, and ends in the next. */
function scripted(first: boolean): Model {
  const call = () => {
    emitted += 1;
    return { type: "function_call" as const, callId: `call-${emitted}`, name: "pay", arguments: '{"order":7}' };
  };
  const text = { type: "output_text" as const, text: "done" };
  const done = { type: "message" as const, role: "assistant" as const, status: "completed" as const, content: [text] };
  const getResponse: Model["getResponse"] = async () => {
    return { usage: new Usage(), output: first ? [call(), call()] : [done] };
  };
  return { getResponse, getStreamedResponse: () => Promise.reject(new Error("not here")) as never };
}

/** One life of the process: it begins the run, or goes on with the state that the last one kept. */
async function life(dataDir: string, kept?: string): Promise<string> {
  const store = await openStore({ dataDir });
  const calls = toolCalls(store);
  const agent = new Agent({ name: "clerk", model: scripted(kept === undefined), tools: [payment(calls)] });
  const state = kept === undefined ? "pay order 7" : await RunState.fromString(agent, kept);
  if (typeof state !== "string") for (const each of state.getInterruptions()) state.approve(each);
  const context = { context: { turn: "turn-1" } };
  const result = await new Runner({ tracingDisabled: true }).run(
    agent,
    state,
    typeof state === "string" ? context : {},
  );
  for (const item of result.newItems) if (item.type === "tool_call_output_item") console.log(item.output);
  await calls.close();
  await store.close();
  return result.state.toString();
}

const dataDir = await mkdtemp(join(tmpdir(), "oncekv-openai-agents-"));
const kept = await life(dataDir); // waits for a person
await life(dataDir, kept); // pays, and dies before it has kept that
await life(dataDir, kept);
await rm(dataDir, { recursive: true });
console.log(`${emitted} calls emitted and run twice, ${effects} effect`);
if (effects !== 1) process.exitCode = 1;
