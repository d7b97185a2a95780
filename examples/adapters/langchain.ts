import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { openStore, toolCalls } from "oncekv";
import { guardTools } from "oncekv/adapters/langchain";
import { z } from "zod";

// A model emits a call twice, its worker dies before the step is saved, another one resumes. Run it: npx tsx examples/adapters/langchain.ts

let mails = 0;
let dies = true;
const sendEmail = tool(async ({ to }) => `mail ${++mails} to ${to}`, {
  name: "send_email",
  schema: z.object({ to: z.string() }),
});

/** A checkpointer that outlives its worker, and whose next write the worker does not live to see. */
class Saver extends MemorySaver {
  override async putWrites(...write: Parameters<MemorySaver["putWrites"]>): Promise<void> {
    if (dies && mails > 0) throw new Error("the worker died");
    await super.putWrites(...write);
  }
}

const dataDir = mkdtempSync(join(tmpdir(), "oncekv-langchain-"));
const checkpointer = new Saver();
const call = { name: "send_email", args: { to: "ana@example.com" } };
const model = fakeModel().respondWithTools([call, call]).respondWithTools([call]).respond(new AIMessage("It is sent."));

/** One life of a worker: it opens the store, works on the thread, and is gone. */
async function live(input: { messages: { role: "user"; content: string }[] } | null): Promise<void> {
  const store = await openStore({ dataDir });
  const calls = toolCalls(store);
  const agent = createAgent({ model, tools: guardTools([sendEmail], calls), checkpointer });
  const run = agent.invoke(input, { configurable: { thread_id: "thread-1" } });
  await run.catch((error: Error) => console.log("worker:", error.message));
  await calls.close();
  await store.close();
}

await live({ messages: [{ role: "user", content: "Write to Ana." }] });
dies = false;
await live(null);

const emitted = model.calls.at(-1)?.messages.filter((message) => message.getType() === "tool").length;
console.log("calls emitted:", emitted, "- mails sent:", mails);
process.exitCode = mails === 1 ? 0 : 1;
rmSync(dataDir, { recursive: true });
