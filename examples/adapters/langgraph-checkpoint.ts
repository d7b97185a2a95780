import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { tool } from "@langchain/core/tools";
import { BaseCheckpointSaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { openStore, toolCalls } from "oncekv";
import { guardTools } from "oncekv/adapters/langchain";
import { checkpointSaver } from "oncekv/adapters/langgraph-checkpoint";
import { z } from "zod";

// Threads and tool calls in one store: a worker dies after the mail and before the checkpoint, the next one resumes.
// Run it: npx tsx examples/adapters/langgraph-checkpoint.ts

const dataDir = mkdtempSync(join(tmpdir(), "oncekv-langgraph-"));
const call = { name: "send_email", args: { to: "ana@example.com" } };
const done = new AIMessage("It is sent.");
const model = fakeModel().respondWithTools([call, call]).respond(done).respond(done);
const thread = { configurable: { thread_id: "thread-1" } };
let mails = 0;

/** One life of a worker: it opens the store, works on the thread, and is gone. */
async function live(input: { messages: { role: "user"; content: string }[] } | null, dies: boolean): Promise<void> {
  const store = await openStore({ dataDir });
  const calls = toolCalls(store);
  const saver = checkpointSaver(BaseCheckpointSaver, store);
  const sendEmail = tool(async ({ to }) => `mail ${++mails} to ${to}`, {
    name: "send_email",
    schema: z.object({ to: z.string() }),
  });
  const putWrites = saver.putWrites.bind(saver);
  saver.putWrites = async (...write) => {
    if (dies && mails > 0) throw new Error("the worker died");
    await putWrites(...write);
  };
  const agent = createAgent({ model, tools: guardTools([sendEmail], calls), checkpointer: saver });
  const run = agent.invoke(input, thread);
  await run.catch((error: Error) => console.log("worker:", error.message));
  const state = await agent.graph.getState(thread);
  console.log(
    "messages in the thread:",
    state.values["messages"]?.length,
    "- next:",
    state.next.join(", ") || "nothing",
  );
  await calls.close();
  await store.close();
}

await live({ messages: [{ role: "user", content: "Write to Ana." }] }, true);
await live(null, false);
console.log("calls emitted: 2 - mails sent:", mails);
process.exitCode = mails === 1 ? 0 : 1;
rmSync(dataDir, { recursive: true });
